"""Ten thousand messages that nobody should send: a host does nothing, a hub shows nothing, and both go on."""

from __future__ import annotations

import asyncio
import random
import ssl
import time
from collections.abc import Callable, Iterator, Mapping
from typing import Any

import msgspec
import pytest
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from yourcall.fleet import sealing
from yourcall.fleet.acts import Acts
from yourcall.fleet.bus import Bus, Credentials
from yourcall.fleet.certificates import HubKey, Member, Roster, Signed, fleet_id, sign
from yourcall.fleet.copies import Copies
from yourcall.fleet.envelopes import (
    LARGEST_MESSAGE,
    Ask,
    Beat,
    Head,
    Joined,
    JoinRequest,
    Row,
    Told,
    Unread,
    decode,
    envelope,
    wrapped,
)
from yourcall.fleet.host import Host, Wanted
from yourcall.fleet.keys import Keys
from yourcall.fleet.subjects import Subjects
from yourcall.model.prompts import Refused

COUNT = 10_000


class Nothing:
    """A machine on which nothing may be done: it says what was."""

    def __init__(self) -> None:
        self.done: list[Wanted] = []
        self.refusals = 0

    def only_looks(self, method: str, target: str) -> bool:
        return method == "GET" and target == "/api/status"

    def shown(self, prompt_id: str) -> Mapping[str, Any] | None:
        return None

    async def run(self, wanted: Wanted) -> tuple[int, bytes]:
        self.done.append(wanted)
        return 200, b"{}"

    async def refused(self, what: str, why: str, prompt_id: str) -> None:
        self.refusals += 1


class World:
    """A host and a hub of one fleet, and what each really says."""

    def __init__(self) -> None:
        self.authority = Ed25519PrivateKey.generate()
        self.public = self.authority.public_key().public_bytes_raw()
        self.fleet = fleet_id(self.public)
        self.subjects = Subjects(self.fleet)
        self.host_keys, self.hub_keys, self.stranger = Keys.made(), Keys.made(), Keys.made()
        self.member = Member(
            self.fleet, self.host_keys.id, "bert", ("host",), self.host_keys.seal_public,
            self.host_keys.nats_public, 1.0,
        )  # fmt: skip
        self.certificate = sign(self.authority, self.member)
        hub = HubKey(self.hub_keys.id, self.hub_keys.seal_public)
        self.roster = Roster(self.fleet, 1, 1.0, (hub,))
        self.here = Nothing()
        bus = Bus([], Credentials(self.host_keys.nats), "_yc.x", ssl.create_default_context(), "x")
        self.host = Host(
            bus, self.subjects, self.host_keys, self.public, lambda: self.member, lambda: self.roster, self._newer,
            self.here, Acts("run-of-today", time.time), lambda _: Refused("no"),
        )  # fmt: skip
        self.copies = Copies(self.subjects, self.hub_keys, self.public, lambda: frozenset[str]())
        self.key = sealing.shared_key(self.hub_keys.seal, self.host_keys.seal_public, self.fleet)

    async def _newer(self, _serial: int) -> None:
        pass

    def ask(self, value: object) -> bytes:
        about = sealing.context("ask", self.hub_keys.id, self.host_keys.id)
        sealed = sealing.seal(self.key, msgspec.msgpack.encode(value), about)
        return wrapped(self.hub_keys.id, self.hub_keys.seal_public, sealed)

    def kept(self, subject: str, value: object, keys: Keys | None = None) -> bytes:
        keys = keys or self.host_keys
        key = sealing.shared_key(keys.seal, self.hub_keys.seal_public, self.fleet)
        to, body = sealing.seal_for(
            {self.hub_keys.id: key}, msgspec.msgpack.encode(value), sealing.context("kept", subject)
        )
        return wrapped(keys.id, keys.seal_public, body, to)


def values(chance: random.Random) -> object:
    """Anything that MessagePack can say."""
    kinds: list[Callable[[], object]] = [
        lambda: None, lambda: chance.random() < 0.5, lambda: chance.getrandbits(63),
        lambda: -chance.getrandbits(62),
        lambda: chance.random() * 1e300, lambda: float("nan"), lambda: float("inf"), lambda: "",
        lambda: "\x00\u202e" * chance.randrange(50), lambda: "a" * chance.randrange(5000),
        lambda: chance.randbytes(chance.randrange(200)),
        lambda: [values(chance) for _ in range(chance.randrange(4))],
        lambda: {str(values(chance))[:20]: values(chance) for _ in range(chance.randrange(4))},
    ]  # fmt: skip
    return chance.choice(kinds)()


def altered(chance: random.Random, data: bytes) -> bytes:
    """The same with some bits turned, a piece taken out, put in twice, or cut off."""
    out = bytearray(data)
    for _ in range(chance.choice((1, 1, 2, 8))):
        place = chance.randrange(len(out)) if out else 0
        match chance.randrange(5):
            case 0 if out:
                out[place] ^= 1 << chance.randrange(8)
            case 1:
                del out[place : place + chance.randrange(1, 40)]
            case 2:
                out[place:place] = out[place : place + chance.randrange(1, 40)]
            case 3:
                del out[place:]
            case _:
                out[place:place] = chance.randbytes(chance.randrange(1, 20))
    return bytes(out)


def with_other_fields(chance: random.Random, honest: object) -> object:
    """An honest message, sealed as it should be, that says something else in some of its fields."""
    fields = msgspec.to_builtins(honest, builtin_types=(bytes,))
    for name in chance.sample(sorted(fields), chance.randrange(1, 4)):
        if chance.random() < 0.2:
            del fields[name]
        else:
            fields[name] = values(chance)
    return fields


def outside(chance: random.Random, honest: bytes) -> bytes:
    match chance.randrange(4):
        case 0:
            return chance.randbytes(chance.randrange(400))
        case 1:
            return msgspec.msgpack.encode(values(chance))
        case 2:
            fields = msgspec.msgpack.decode(honest)
            fields[chance.choice(sorted(fields))] = values(chance)
            return msgspec.msgpack.encode(fields)
        case _:
            return altered(chance, honest)


def hostile_asks(world: World, chance: random.Random) -> Iterator[bytes]:
    honest = Ask("a" * 16, 1.0, "POST", "/api/pause", 0, b"{}")
    while True:
        yield outside(chance, world.ask(honest))
        yield world.ask(with_other_fields(chance, honest))
        yield world.ask(values(chance))


def test_a_host_does_nothing_of_what_ten_thousand_messages_say() -> None:
    world, chance = World(), random.Random(7)
    honest = world.ask(Ask("a" * 16, 1.0, "GET", "/api/status", 0))

    async def heard() -> None:
        asks = hostile_asks(world, chance)
        for _ in range(COUNT // 2):
            await world.host._reply(next(asks))
        assert [each for each in world.here.done if each.signer is not None] == []
        assert all((each.method, each.target) == ("GET", "/api/status") for each in world.here.done)
        assert world.here.refusals > COUNT // 4
        before = len(world.here.done)
        await world.host._reply(honest)
        assert len(world.here.done) == before + 1, "an honest one is still read"

    asyncio.run(heard())


def test_a_hub_shows_nothing_of_what_ten_thousand_messages_say() -> None:
    world, chance = World(), random.Random(11)
    subjects, host = world.subjects, world.host_keys.id
    head = Head(world.certificate, "run-of-the-host", "run-of-its-acts", "1", 1.0)
    head_subject, beat_subject = subjects.head(host), subjects.beat(host)
    row = Row(1, 1.0, "p1", b'{"id":"p1"}')
    row_subject = subjects.row(host, "run-of-the-host", "p", "p1")
    world.copies.take_head(head_subject, world.kept(head_subject, head))
    world.copies.take_row(row_subject, world.kept(row_subject, row))
    known = world.copies.hosts[host]
    (copy,) = known.rows.values()
    stranger = world.stranger
    strange = Head(sign(Ed25519PrivateKey.generate(), world.member), "r" * 16, "r" * 16, "1", 1.0)
    honest: list[tuple[str, object, Callable[[str, bytes], None]]] = [
        (head_subject, head, lambda s, d: world.copies.take_head(s, d)),
        (row_subject, row, world.copies.take_row),
        (beat_subject, Beat("run-of-the-host", "run-of-its-acts", 1.0), world.copies.take_beat),
    ]
    for _ in range(COUNT // 8):
        for subject, value, take in honest:
            take(subject, outside(chance, world.kept(subject, value)))
            # Honest, but of somebody else: the stranger's key, or meant for another place.
            take(subject, world.kept(subject, value, stranger))
        other = subjects.head(stranger.id)
        world.copies.take_head(other, world.kept(other, strange, stranger))
        world.copies.take_row(row_subject, world.kept(subjects.row(host, "run-of-the-host", "p", "p2"), row))
    assert set(world.copies.hosts) == {host}
    assert list(world.copies.hosts[host].rows.values()) == [copy]
    assert known.member == world.member
    again = Row(2, 2.0, "p1", b'{"id":"p1","n":2}')
    world.copies.take_row(row_subject, world.kept(row_subject, again))
    assert next(iter(known.rows.values())).number == 2, "an honest one is still read"


def test_a_host_that_floods_a_hub_has_a_limit_of_its_own() -> None:
    world = World()
    host = world.host_keys.id
    subject = world.subjects.head(host)
    head = Head(world.certificate, "run-of-the-host", "run-of-its-acts", "1", 1.0)
    world.copies.take_head(subject, world.kept(subject, head))
    large = b'{"x":"' + b"y" * 32_000 + b'"}'
    for number in range(1, 700):
        place = world.subjects.row(host, "run-of-the-host", "p", f"p{number}")
        world.copies.take_row(place, world.kept(place, Row(number, 1.0, f"p{number}", large)))
    held = sum(len(copy.view) for copy in world.copies.hosts[host].rows.values())
    assert held == world.copies.hosts[host].held <= 16 << 20


@pytest.mark.parametrize("kind", [Ask, Told, Row, Head, Beat, Joined, JoinRequest, Signed])
def test_what_is_not_a_message_is_one_error_and_no_other(kind: type[Any]) -> None:
    chance = random.Random(3)
    for _ in range(COUNT // 20):
        try:
            decode(msgspec.msgpack.encode(values(chance)), kind)
        except Unread:
            continue
    with pytest.raises(Unread):
        decode(b"\xc1", kind)
    with pytest.raises(Unread):
        decode(bytes(LARGEST_MESSAGE + 1), kind)
    with pytest.raises(Unread):
        decode(b"\x81" * 100_000, kind)


def test_a_message_of_a_newer_version_is_read_if_it_can_be_and_named_if_not() -> None:
    newer = {"v": 9, "needs": 1, "by": "x", "key": b"", "to": {}, "body": b"x", "something": "new"}
    assert envelope(msgspec.msgpack.encode(newer)).v == 9
    with pytest.raises(Unread, match="upgrade"):
        envelope(msgspec.msgpack.encode({**newer, "needs": 9}))
    ask = {**msgspec.to_builtins(Ask("a" * 16, 1.0, "GET", "/", 0), builtin_types=(bytes,)), "new": {"x": 1}}
    assert decode(encode_builtins(ask), Ask).target == "/"


def encode_builtins(value: object) -> bytes:
    return msgspec.msgpack.encode(value)
