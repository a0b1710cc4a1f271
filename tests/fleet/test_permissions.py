"""What NATS itself lets each member do: its own subjects, and no other. Every subject is tried by everybody."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable
from pathlib import Path

import nats.errors
import pytest

from kit.fleet import Nats
from kit.poll import PATIENCE_S
from yourcall.fleet.bus import Away, Bus, Credentials, tls_context
from yourcall.fleet.subjects import Subjects, inbox

OWN, OTHER = "own", "other"


def subjects_of(fleet: Subjects, own: str, other: str) -> dict[str, str]:
    """Every kind of subject there is, by what it is to the one who tries."""
    state, control = fleet.state_stream, fleet.control_stream
    found: dict[str, str] = {}
    for who, id in ((OWN, own), (OTHER, other)):
        found |= {
            f"{who} row": fleet.row(id, "run", "p", "x"),
            f"{who} head": fleet.head(id),
            f"{who} beat": fleet.beat(id),
            f"{who} ask": fleet.ask(id),
            f"{who} inbox": f"{inbox(id)}.x",
        }
    return found | {
        "roster": fleet.roster,
        "roll": fleet.roll,
        "lease": fleet.lease,
        "told": fleet.told("x"),
        "authority": fleet.authority,
        "join": fleet.join("x"),
        "another fleet": f"yc.aaaaaaaaaa.row.{own}.run.p.x",
        "inbox of all": "_INBOX.x",
        "get roster": f"$JS.API.DIRECT.GET.{control}.{fleet.roster}",
        "get a row": f"$JS.API.DIRECT.GET.{state}.{fleet.row(other, 'run', 'p', 'x')}",
        "get anything": f"$JS.API.DIRECT.GET.{state}",
        "load rows": f"$JS.API.CONSUMER.CREATE.{state}.name.{fleet.root}.>",
        "load control": f"$JS.API.CONSUMER.CREATE.{control}.name.{fleet.roster}",
        "purge": f"$JS.API.STREAM.PURGE.{state}",
        "delete stream": f"$JS.API.STREAM.DELETE.{state}",
        "delete message": f"$JS.API.STREAM.MSG.DELETE.{state}",
        "update stream": f"$JS.API.STREAM.UPDATE.{control}",
        "system": "$SYS.REQ.SERVER.PING",
    }


# What each may do. All else is refused, whatever is added later.
PUBLISH = {
    "host": {"own row", "own head", "own beat", "other inbox", "authority", "get roster"},
    "hub": {"own ask", "other ask", "roll", "lease", "told", "authority", "get roster", "load rows"},
}
SUBSCRIBE = {
    "host": {"own ask", "own inbox", "roll", "roster"},
    "hub": {
        "own row", "other row", "own head", "other head", "own beat", "other beat", "own inbox", "roster", "lease",
        "told",
    },
}  # fmt: skip


@pytest.mark.parametrize("role", ["host", "hub"])
def test_each_member_has_its_own_subjects_and_no_others(tmp_path: Path, role: str) -> None:
    async def tried() -> None:
        world = Nats(tmp_path)
        own = world.member("own", role)  # pyright: ignore[reportArgumentType]
        # A host replies to hubs, so the other one is a hub for it; a hub's other is a host.
        other = world.member("other", "hub" if role == "host" else "host")
        async with world:
            found = subjects_of(world.subjects, own.id, other.id)
            bus = world.bus("own")
            async with bus.connected():
                client = bus._client
                assert client is not None
                said: list[str] = []

                async def wrong(error: Exception) -> None:
                    said.append(str(error).lower())

                client._error_cb = wrong
                for subject in found.values():
                    await client.publish(subject, b"x")
                for subject in found.values():
                    await client.subscribe(subject, cb=_nothing)
                # The server says it in the order in which it was tried, and this is the last.
                await in_time(lambda: any(f'subscription to "{found["system"].lower()}"' in each for each in said))
            heard = " ".join(said).lower()
            refused = {
                what: {name for name, subject in found.items() if f'for {what} to "{subject.lower()}"' in heard}
                for what in ("publish", "subscription")
            }
            assert found.keys() - refused["publish"] == PUBLISH[role]
            assert found.keys() - refused["subscription"] == SUBSCRIBE[role]

    asyncio.run(tried())


async def in_time(probe: Callable[[], bool]) -> None:
    async with asyncio.timeout(PATIENCE_S):
        while not probe():  # noqa: ASYNC110 - what it waits for is said by a library
            await asyncio.sleep(0.01)


async def _nothing(_message: object) -> None:
    pass


def test_who_is_removed_is_cut_off_at_once_and_does_not_come_back(tmp_path: Path) -> None:
    async def tried() -> None:
        world = Nats(tmp_path)
        gone, stays = world.member("gone", "host"), world.member("stays", "host")
        async with world:
            bus, other = world.bus("gone"), world.bus("stays")
            async with bus.connected() as cut, other.connected() as not_cut:
                began = time.monotonic()
                world.authority.remove((gone.id,))
                world.configure()
                await asyncio.wait_for(cut.wait(), PATIENCE_S)
                assert time.monotonic() - began < 2
                await other.publish(world.subjects.beat(stays.id), b"still here")
                await other.flush()
                assert not not_cut.is_set()
            with pytest.raises(nats.errors.Error, match="Authorization"):
                async with bus.connected():
                    pass

    asyncio.run(tried())


def test_whoever_comes_in_later_needs_no_new_line_of_the_others(tmp_path: Path) -> None:
    """The server reads its configuration anew while a request is under way: its reply arrives."""

    async def tried() -> None:
        world = Nats(tmp_path)
        host, hub = world.member("host", "host"), world.member("hub", "hub")
        async with world:
            there, here = world.bus("host"), world.bus("hub")
            async with there.connected(), here.connected():
                came, go = asyncio.Event(), asyncio.Event()

                async def slow(message: object) -> None:
                    came.set()
                    await go.wait()
                    await there.publish(message.reply, b"done")  # pyright: ignore[reportAttributeAccessIssue]

                await there.subscribe(world.subjects.ask(host.id), slow)
                await there.flush()
                asked = asyncio.create_task(here.request(world.subjects.ask(host.id), b"?", PATIENCE_S))
                await came.wait()
                third = world.member("third", "host")
                async with _at_last(world.bus("third")):
                    go.set()
                    assert (await asked).data == b"done"
                assert third.id != hub.id

    asyncio.run(tried())


def _at_last(bus: Bus):
    from kit.fleet import on_line

    return on_line(bus)


def test_nobody_comes_in_without_a_key_of_the_fleet_or_without_tls(tmp_path: Path) -> None:
    async def tried() -> None:
        world = Nats(tmp_path)
        stranger, member = world.member("stranger", "host"), world.member("member", "host")
        world.authority.remove((stranger.id,))
        async with world:
            for url, tls in ((world.url, tls_context(world.tls)), (world.url.replace("tls:", "nats:"), None)):
                with pytest.raises((nats.errors.Error, OSError)):
                    async with Bus([url], Credentials(stranger.nats), inbox(stranger.id), tls, "x").connected():
                        pass
            other = tmp_path / "other"
            async with Nats(other) as elsewhere:
                with pytest.raises(OSError):  # its certificate is of another authority
                    async with Bus(
                        [elsewhere.url], Credentials(member.nats), inbox(member.id), tls_context(world.tls), "x"
                    ).connected():
                        pass

    asyncio.run(tried())


def test_a_host_that_is_not_there_is_known_at_once(tmp_path: Path) -> None:
    async def tried() -> None:
        world = Nats(tmp_path)
        world.member("hub", "hub")
        async with world:
            bus = world.bus("hub")
            async with bus.connected():
                began = time.monotonic()
                with pytest.raises(Away):
                    await bus.request(world.subjects.ask("a" * 16), b"?", PATIENCE_S)
                assert time.monotonic() - began < 1
            with pytest.raises(Away):
                await bus.request(world.subjects.ask("a" * 16), b"?", PATIENCE_S)

    asyncio.run(tried())
