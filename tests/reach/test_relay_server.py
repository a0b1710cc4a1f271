"""The relay among strangers: whose name is whose, what a phone and a machine get, and what nobody gets."""

from __future__ import annotations

import asyncio
import os
import socket
import ssl
from collections.abc import Awaitable, Callable
from contextlib import AsyncExitStack, suppress
from pathlib import Path
from typing import Any

import pytest
import uvloop
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from test_hello import client_hello

from kit.poll import PATIENCE_S
from yourcall.model.prompts import Refused
from yourcall.reach import certificates
from yourcall.reach.relay import book, machine, messages, server
from yourcall.reach.relay.messages import Invitation
from yourcall.reach.relay.server import Relay
from yourcall.reach.way import Relay as Address

NAME = "desk.example.net"
HELLO, WELCOME = b"what only the two of us know: 7pHq", b"and the answer to it: kT4z"


async def becomes(probe: Callable[[], object]) -> None:
    async with asyncio.timeout(PATIENCE_S):
        while not probe():  # noqa: ASYNC110 - of whatever it may be, there is no event
            await asyncio.sleep(0.005)


class Echo(asyncio.Protocol):
    """What a machine serves: it says a welcome and then everything back."""

    def connection_made(self, transport: Any) -> None:
        self.transport = transport
        transport.write(WELCOME)

    def data_received(self, data: bytes) -> None:
        self.transport.write(data)


class Desk:
    """A machine with a key of its own, and a certificate for its name."""

    def __init__(self, world: World, key: Ed25519PrivateKey | None = None) -> None:
        self.key = key or Ed25519PrivateKey.generate()
        self.world = world
        self.problems: list[str] = []
        self.tasks: list[asyncio.Task[None]] = []
        self.protocol: Callable[[], asyncio.Protocol] = Echo
        self.fetched = 0

    async def enter(self, invitation: Invitation) -> None:
        await machine.enter(self.world.address, invitation.name, self.key, invitation.secret)

    def stay(self, name: str = NAME) -> None:
        stays = machine.Stays(self.world.address, name, self.key, self.arrive, self.problems.append)
        self.tasks.append(asyncio.create_task(stays.run()))

    async def arrive(self, token: bytes, is_acme: bool) -> None:
        self.fetched += 1
        await machine.fetch(self.world.address, token, self.protocol(), self.world.machine_tls)

    async def leave(self) -> None:
        for task in self.tasks:
            task.cancel()
        await asyncio.gather(*self.tasks, return_exceptions=True)


class World:
    """A relay, and what the tests do around it: `async with World(folder) as world`."""

    def __init__(self, folder: Path) -> None:
        self.home = folder / "relay-home"
        self.files = certificates.make(folder, (NAME, "other.example.net"))
        self.machine_tls = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        self.machine_tls.load_cert_chain(self.files.certificate, self.files.key)
        self.phone_tls = ssl.create_default_context(cafile=str(self.files.authority))
        self._open = AsyncExitStack()

    async def __aenter__(self) -> World:
        self.relay = Relay(self.home)
        sock = socket.create_server(("127.0.0.1", 0), backlog=1000)
        self.port = sock.getsockname()[1]
        self.address = Address("127.0.0.1", self.port, book.own_pin(self.home))
        self.serving = asyncio.create_task(self.relay.serve(sock))
        return self

    async def __aexit__(self, *_: object) -> None:
        await self._open.aclose()
        self.serving.cancel()
        await asyncio.gather(self.serving, return_exceptions=True)
        assert not self.relay._machines
        assert not self.relay._called_for

    def invite(self, name: str = NAME, lasting: float = 60.0) -> Invitation:
        made = book.invite(self.home, name, "127.0.0.1", self.port, lasting)
        assert isinstance(made, Invitation), made
        return made

    async def desk(self, name: str = NAME) -> Desk:
        """A machine that was let in, and is there."""
        made = Desk(self)
        await made.enter(self.invite(name))
        made.stay(name)
        self._open.push_async_callback(made.leave)
        await becomes(lambda: name in self.relay._machines)
        return made

    async def phone(
        self, name: str = NAME, source: str = "127.0.0.1", port: int = 0
    ) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
        made = await asyncio.open_connection(
            "127.0.0.1", port or self.port, ssl=self.phone_tls, server_hostname=name, local_addr=(source, 0)
        )
        self._open.callback(lambda: made[1].transport.abort())
        return made

    async def stranger(self, data: bytes = b"", source: str = "127.0.0.1") -> asyncio.StreamReader:
        """Somebody who sends this, and stays."""
        reader, writer = await asyncio.open_connection("127.0.0.1", self.port, local_addr=(source, 0))
        self._open.callback(lambda: writer.transport.abort())
        writer.write(data)
        return reader


def play(folder: Path, scene: Callable[[World], Awaitable[None]]) -> None:
    async def whole() -> None:
        async with asyncio.timeout(PATIENCE_S), World(folder) as world:
            await scene(world)

    with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:  # as relays and daemons do
        runner.run(whole())


async def ended(reader: asyncio.StreamReader) -> bytes:
    """What came until the end."""
    data = b""
    with suppress(ConnectionError):
        while piece := await reader.read(65536):
            data += piece
    return data


async def talks(phone: tuple[asyncio.StreamReader, asyncio.StreamWriter]) -> bool:
    reader, writer = phone
    writer.write(HELLO)
    return await reader.readexactly(len(WELCOME + HELLO)) == WELCOME + HELLO


# -- phones and machines


def test_a_phone_reaches_the_machine_by_its_name_and_gets_every_byte(tmp_path: Path) -> None:
    async def scene(world: World) -> None:
        await world.desk()
        other = await world.desk("other.example.net")
        assert await talks(await world.phone())
        assert other.fetched == 0
        reader, writer = await world.phone()
        assert await reader.readexactly(len(WELCOME)) == WELCOME
        much = os.urandom(3_000_000)

        async def send() -> None:
            writer.write(much)
            await writer.drain()

        sending = asyncio.create_task(send())
        assert await reader.readexactly(len(much)) == much
        await sending

    play(tmp_path, scene)


def test_what_a_machine_says_last_arrives_before_the_end(tmp_path: Path) -> None:
    much = os.urandom(20_000_000)

    class Farewell(asyncio.Protocol):
        def connection_made(self, transport: Any) -> None:
            transport.write(much)
            transport.close()

    async def scene(world: World) -> None:
        desk = await world.desk()
        desk.protocol = Farewell
        reader, _ = await world.phone()
        desk.protocol = Echo
        for _ in range(5):  # it begins to read when much of it is under way
            assert await talks(await world.phone())
        assert await ended(reader) == much

    play(tmp_path, scene)


def test_a_name_that_nobody_has_is_unrecognized(tmp_path: Path) -> None:
    async def scene(world: World) -> None:
        with pytest.raises(ssl.SSLError, match="UNRECOGNIZED_NAME"):
            await world.phone("other.example.net")
        assert await ended(await world.stranger(b"GET / HTTP/1.1\r\n\r\n")) == b""
        assert await ended(await world.stranger(client_hello(None))) == bytes([21, 3, 3, 0, 2, 2, 112])

    play(tmp_path, scene)


def test_a_phone_that_does_not_read_stops_its_machine_and_fills_no_memory(tmp_path: Path) -> None:
    """Buffers are bounded on every part of the way: of 60 MB, a machine gets rid of what the kernel holds."""
    much, piece = 60_000_000, 100_000

    class Talkative(asyncio.Protocol):
        left = much
        paused = asyncio.Event()

        def connection_made(self, transport: Any) -> None:
            self.transport = transport
            self.resume_writing()

        def pause_writing(self) -> None:
            self.paused.set()

        def resume_writing(self) -> None:
            self.paused.clear()
            while Talkative.left and not self.paused.is_set():
                Talkative.left -= piece
                self.transport.write(bytes(piece))

    async def scene(world: World) -> None:
        desk = await world.desk()
        desk.protocol = Talkative
        reader, writer = await world.phone()
        await reader.readexactly(1)
        writer.transport.pause_reading()
        desk.protocol = Echo
        for _ in range(20):  # meanwhile others are served as ever
            await Talkative.paused.wait()
            assert await talks(await world.phone())
        assert much / 2 < Talkative.left < much
        writer.transport.resume_reading()
        await reader.readexactly(much - 1)

    play(tmp_path, scene)


def test_a_machine_that_comes_back_another_way_takes_its_own_place(tmp_path: Path) -> None:
    async def scene(world: World) -> None:
        desk = await world.desk()
        first = world.relay._machines[NAME]
        reader, writer = await machine.register(world.address, NAME, desk.key)
        await first.gone.wait()
        await ended(reader)  # for the one that was there before dials in again
        writer.transport.abort()
        assert await talks(await world.phone())

    play(tmp_path, scene)


def test_a_phone_waits_no_longer_than_it_takes_for_a_machine_that_does_not_come(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(messages, "DIAL_S", 0.3)

    async def scene(world: World) -> None:
        desk = await world.desk()
        calls: list[bytes] = []

        async def never(token: bytes, _is_acme: bool) -> None:
            calls.append(token)

        desk.arrive = never  # type: ignore[method-assign]
        for task in desk.tasks:
            task.cancel()
        desk.stay()
        await becomes(lambda: desk.problems.count("") == 2)
        assert await ended(await world.stranger(client_hello(NAME))) == b""
        assert len(calls) == 1
        # And a token is good for nothing once its phone is gone, or if it was never given.
        for token in (calls[0], bytes(16)):
            with pytest.raises((ConnectionError, ssl.SSLError)):
                await machine.fetch(world.address, token, Echo(), world.machine_tls)

    play(tmp_path, scene)


def test_a_relay_that_calls_without_end_is_answered_for_so_many_phones_at_once(tmp_path: Path) -> None:
    calls: list[bytes] = []
    never = asyncio.Event()

    async def arrive(token: bytes, _is_acme: bool) -> None:
        calls.append(token)
        await never.wait()

    async def scene(world: World) -> None:
        desk = await world.desk()
        desk.arrive = arrive  # type: ignore[method-assign]
        await desk.leave()
        await becomes(lambda: not world.relay._machines)
        desk.stay()
        await becomes(lambda: world.relay._machines)
        stream = world.relay._machines[NAME].stream
        for number in range(5000):
            await stream.write(messages.line(messages.Fetch(number.to_bytes(16))))
        await becomes(lambda: len(calls) == machine.MOST_AT_ONCE)
        desk.problems.clear()
        await stream.write(b"x" * 10_000)  # and no line is too long to be refused
        await becomes(lambda: desk.problems)
        assert len(calls) == machine.MOST_AT_ONCE

    play(tmp_path, scene)


# -- whose name is whose


def test_an_invitation_is_good_once_for_its_name_and_for_a_while(tmp_path: Path) -> None:
    async def scene(world: World) -> None:
        invitation = world.invite()
        again = messages.read_invitation(f"  {invitation.text()[:30]}\n{invitation.text()[30:]} ")
        assert again == invitation  # copied from a narrow terminal
        assert messages.read_invitation(invitation.text()[:-9]) is None
        first, second = Desk(world), Desk(world)
        with pytest.raises(machine.NotAccepted, match="was used, has expired, or is for another name"):
            await first.enter(Invitation(*_fields(invitation, name="other.example.net")))
        with pytest.raises(machine.NotAccepted, match="was used, has expired, or is for another name"):
            await first.enter(Invitation(*_fields(invitation, secret=bytes(20))))
        await first.enter(invitation)
        with pytest.raises(machine.NotAccepted, match="belongs to another machine"):
            await second.enter(invitation)
        with pytest.raises(machine.NotAccepted, match="not invited"):
            await machine.register(world.address, "other.example.net", second.key)
        late = world.invite("other.example.net", lasting=-1.0)
        with pytest.raises(machine.NotAccepted, match="expired"):
            await second.enter(late)
        old = world.invite("other.example.net")
        world.invite("other.example.net")
        with pytest.raises(machine.NotAccepted, match="was used"):
            await second.enter(old)  # a newer one made it void

    play(tmp_path, scene)


def _fields(invitation: Invitation, **other: Any) -> list[Any]:
    return [other.get(name, getattr(invitation, name)) for name in ("host", "port", "pin", "name", "secret")]


def test_a_name_is_taken_over_by_nobody_until_a_person_frees_it(tmp_path: Path) -> None:
    async def scene(world: World) -> None:
        desk = await world.desk()
        taken = book.invite(world.home, NAME, "127.0.0.1", world.port)
        assert isinstance(taken, Refused)
        thief = Desk(world)
        with pytest.raises(machine.NotAccepted, match="belongs to another machine"):
            await machine.register(world.address, NAME, thief.key)
        with pytest.raises(machine.NotAccepted, match="belongs to another machine"):
            await machine.leave(world.address, NAME, thief.key)
        assert await talks(await world.phone())
        phone = await world.phone()
        assert book.revoke(world.home, NAME)
        assert await ended(phone[0]) == WELCOME  # cut off, with its phones
        await becomes(lambda: "not invited, or the name was taken back" in (desk.problems or [""])[-1])
        await thief.enter(world.invite())  # it is free
        with pytest.raises(machine.NotAccepted, match="belongs to another machine"):
            await machine.register(world.address, NAME, desk.key)

    play(tmp_path, scene)


def test_a_machine_gives_its_name_up(tmp_path: Path) -> None:
    async def scene(world: World) -> None:
        desk = await world.desk()
        await machine.leave(world.address, NAME, desk.key)
        await becomes(lambda: NAME not in world.relay._machines)
        assert book.read(world.home).machines == {}

    play(tmp_path, scene)


def test_a_signature_is_good_for_one_challenge_at_one_relay(tmp_path: Path) -> None:
    async def scene(world: World) -> None:
        desk = Desk(world)
        await desk.enter(world.invite())

        async def refused(sign: Callable[[bytes], bytes], name: str = NAME) -> str:
            reader, writer = await asyncio.open_connection(
                "127.0.0.1", world.port, ssl=machine._context(messages.REGISTER), server_hostname="127.0.0.1"
            )
            challenge = messages.msgspec.json.decode(await reader.readline(), type=messages.Greeting).challenge
            public = desk.key.public_key().public_bytes_raw()
            writer.write(messages.line(messages.Register(name, public, sign(challenge))))
            verdict = messages.msgspec.json.decode(await reader.readline(), type=messages.Verdict)
            writer.transport.abort()
            return verdict.refused

        pin, key = world.address.pin, desk.key
        right = messages.signature(key, pin, bytes(32), NAME, leave=False)
        assert await refused(lambda each: messages.signature(key, pin, each, NAME, leave=False)) == ""
        assert await refused(lambda _: right) == "the signature is wrong"  # of another challenge
        assert await refused(lambda each: messages.signature(key, bytes(32), each, NAME, leave=False))
        assert await refused(lambda each: messages.signature(key, pin, each, NAME, leave=True))
        assert await refused(lambda each: messages.signature(key, pin, each, "other.example.net", leave=False))
        assert await refused(lambda each: Ed25519PrivateKey.generate().sign(each)) == "the signature is wrong"
        assert await refused(lambda _: b"") == "the signature is wrong"

    play(tmp_path, scene)


def test_a_machine_says_no_word_to_another_relay(tmp_path: Path) -> None:
    async def scene(world: World) -> None:
        heard: list[bytes] = []
        other = tmp_path / "other"
        impostor = server._context(book.identity(other), messages.REGISTER)

        async def take(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            writer.write(messages.line(messages.Greeting(bytes(32))))
            heard.append(await ended(reader))
            writer.close()

        listening = await asyncio.start_server(take, "127.0.0.1", 0, ssl=impostor)
        port = listening.sockets[0].getsockname()[1]
        where = Address("127.0.0.1", port, world.address.pin)
        with pytest.raises(machine.NotAccepted, match="is not the relay of the invitation"):
            await machine.enter(where, NAME, Ed25519PrivateKey.generate(), b"the secret")
        listening.close()
        await listening.wait_closed()
        assert b"".join(heard) == b""

    play(tmp_path, scene)


def test_a_book_that_cannot_be_read_takes_nobody_s_name(tmp_path: Path) -> None:
    async def scene(world: World) -> None:
        await world.desk()
        (world.home / "relay" / "machines.json").write_text("{half")
        await becomes(lambda: world.relay._version == book.version(world.home))
        assert await talks(await world.phone())

    play(tmp_path, scene)


# -- what strangers may not do


def test_a_crowd_of_half_hellos_keeps_nobody_out(tmp_path: Path) -> None:
    async def scene(world: World) -> None:
        await world.desk()
        most = world.relay._door._most
        half = client_hello(NAME)[:100]
        lone = await world.stranger(half, "127.0.0.9")
        crowd = [await world.stranger(half, "127.0.0.2") for _ in range(most + 40)]
        await becomes(lambda: sum(each.at_eof() for each in crowd) >= 41)
        door = world.relay._door
        assert door._unknown.count + door._known.count <= most
        assert await talks(await world.phone(source="127.0.0.3"))
        assert not lone.at_eof()  # who has one connection keeps it
        assert NAME in world.relay._machines

    play(tmp_path, scene)


def test_who_is_slow_to_say_what_it_wants_is_let_go(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(server, "HELLO_S", 0.3)

    async def scene(world: World) -> None:
        assert await ended(await world.stranger(client_hello(NAME)[:-1])) == b""
        assert await ended(await world.stranger()) == b""
        tls = machine._context(messages.REGISTER)
        reader, writer = await asyncio.open_connection("127.0.0.1", world.port, ssl=tls, server_hostname="x.net")
        assert (await ended(reader)).startswith(b'{"challenge"')  # and then not a word from us
        writer.transport.abort()

    play(tmp_path, scene)


def test_a_line_has_an_end(tmp_path: Path) -> None:
    async def scene(world: World) -> None:
        for protocol, line in (
            (messages.REGISTER, b"{" * 5000),
            (messages.FETCH, b"{" * 5000),
            (messages.FETCH, b'{"token": 7}\n'),
            (messages.REGISTER, b'{"name": "x", "key": "", "signature": "\xff"}\n'),
            (messages.REGISTER, b'{"name": "x", "key": "AA==", "signature": "AA=="}\n{}'),
        ):
            tls = machine._context(protocol)
            reader, writer = await asyncio.open_connection(
                "127.0.0.1", world.port, ssl=tls, server_hostname="x.net"
            )
            writer.write(line)
            assert b"{}" not in (await ended(reader)).replace(b'{"refused":""}', b"{}")
            writer.transport.abort()
        assert not world.relay._machines

    play(tmp_path, scene)


def test_one_address_may_come_so_often_and_others_do_not_suffer(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(server, "BURST", 5.0)
    monkeypatch.setattr(server, "PER_SECOND", 0.001)

    async def scene(world: World) -> None:
        await world.desk()
        for _ in range(5):
            assert await talks(await world.phone(source="127.0.0.4"))
        with pytest.raises((ConnectionError, ssl.SSLError)):
            await world.phone(source="127.0.0.4")
        assert await talks(await world.phone(source="127.0.0.5"))

    play(tmp_path, scene)


def test_a_machine_has_so_many_phones_and_the_greedy_lose_their_oldest(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(server, "OF_ONE_MACHINE", 8)

    async def scene(world: World) -> None:
        await world.desk()
        modest = await world.phone(source="127.0.0.6")
        assert await talks(modest)
        greedy = []
        for _ in range(12):
            phone = await world.phone(source="127.0.0.7")
            assert await talks(phone)
            greedy.append(phone)
        assert await ended(greedy[0][0]) == b""
        modest[1].write(b"still here")
        assert await modest[0].readexactly(10) == b"still here"
        assert world.relay._machines[NAME].count <= 8

    play(tmp_path, scene)


def test_a_connection_in_which_nothing_moves_ends(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(server, "IDLE_S", 0.5)

    async def scene(world: World) -> None:
        await world.desk()
        phone = await world.phone()
        began = asyncio.get_running_loop().time()
        while asyncio.get_running_loop().time() < began + 1.0:  # it moves for twice as long
            phone[1].write(b".")
            assert await phone[0].read(100)
        assert await ended(phone[0]) == b""

    play(tmp_path, scene)


def test_a_machine_that_is_not_heard_any_more_is_gone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(messages, "SILENT_S", 0.5)
    monkeypatch.setattr(messages, "PING_S", 0.1)

    async def scene(world: World) -> None:
        desk = await world.desk()
        first = world.relay._machines[NAME]
        for _ in range(100):
            await asyncio.sleep(0.01)
        assert world.relay._machines[NAME] is first  # it answers each ping
        silent = await machine.register(world.address, NAME, desk.key)
        await becomes(lambda: world.relay._machines.get(NAME) is not first)
        assert b"ping" in await ended(silent[0])
        silent[1].transport.abort()

    play(tmp_path, scene)


def test_addresses_of_one_customer_count_as_one() -> None:
    assert server.network_of("192.0.2.7") == "192.0.2.7"
    assert server.network_of("::ffff:192.0.2.7") == "192.0.2.7"
    assert (
        server.network_of("2001:db8:1:2:3::4") == server.network_of("2001:db8:1:2:ffff::9") == "2001:db8:1:2::/64"
    )
    assert server.network_of("2001:db8:1:3::4") != server.network_of("2001:db8:1:2::4")
    pace = server.Pace()
    for each in range(server.REMEMBERED + 50):
        assert pace.may(str(each), 0.0)
    assert len(pace._left) == server.REMEMBERED
