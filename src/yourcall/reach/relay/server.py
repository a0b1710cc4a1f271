"""The relay: takes connections, reads which name each asks for, and joins it to the machine that has that name.

Rule: it passes on bytes that it can't read, for TLS ends on the machine. Whatever a stranger may do is bounded:
how long, how much and how many; of several who come, the one with most connections makes room.
"""

from __future__ import annotations

import asyncio
import contextlib
import ipaddress
import logging
import os
import signal
import socket
import ssl
import time
from collections import OrderedDict
from collections.abc import Callable
from pathlib import Path

import msgspec
import uvloop

from yourcall.reach.relay import book, messages
from yourcall.reach.relay.hello import LARGEST_COMING, Hello, Incomplete, Malformed
from yourcall.reach.relay.hello import read as read_hello
from yourcall.reach.relay.tls_stream import PIECE, TlsStream
from yourcall.system.connections import BACKLOG, Crowd, Guest, allow_many_files, share
from yourcall.system.tasks import Tasks

log = logging.getLogger(__name__)

HELLO_S = 10.0  # to say what one wants; a phone on a bad line has by then
LAST_WORD_S = 10.0  # for the one side, once the other has closed
IDLE_S = 900.0  # without a byte in either direction; the app's live feed sends one each 20 seconds
LOOK_S = 1.0  # whether a person has taken a name back
AT_THE_DOOR = 256  # connections that have not been let in yet
INSIDE = 2048  # of phones, to all machines together
OF_ONE_MACHINE = 128
# Of one address (of one /64 in IPv6): so many at once after a rest, and then so many a second.
BURST, PER_SECOND = 60.0, 10.0
REMEMBERED = 10_000  # addresses

# What TLS says to whoever asks for a name that nobody has: a fatal alert, "unrecognized_name".
_NO_SUCH_NAME = bytes([21, 3, 3, 0, 2, 2, 112])


class Phone:
    """A connection of a phone's. `first`: what was read of it."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter, first: bytes) -> None:
        self.reader, self.writer, self.first = reader, writer, first

    def abort(self) -> None:
        self.writer.transport.abort()


class Machine:
    """A machine that has dialled in, with the phones that it has and those that it was told of."""

    def __init__(self, name: str, key: bytes, stream: TlsStream, address: str) -> None:
        self.name, self.key, self.stream, self.address = name, key, stream, address
        self.since = time.time()
        self.phones = Crowd(share(OF_ONE_MACHINE, 8))
        self.waiting: set[asyncio.Future[TlsStream]] = set()
        self.count = 0
        self.gone = asyncio.Event()

    def leave(self) -> None:
        """With all its phones."""
        self.gone.set()
        self.stream.abort()
        for future in self.waiting:
            if not future.done():
                future.set_exception(ConnectionError("the machine is gone"))


class Clock:
    """Ends a connection in which nothing has moved for long."""

    def __init__(self, end: Callable[[], None]) -> None:
        self._loop = asyncio.get_running_loop()
        self._end = end
        self._moved = self._loop.time()
        self._timer = self._loop.call_later(IDLE_S, self._look)

    def moved(self) -> None:
        self._moved = self._loop.time()

    def stop(self) -> None:
        self._timer.cancel()

    def _look(self) -> None:
        left = self._moved + IDLE_S - self._loop.time()
        if left <= 0:
            self._end()
        else:
            self._timer = self._loop.call_later(left, self._look)


class Relay:
    def __init__(self, home: Path) -> None:
        self._home = home
        file = book.identity(home)
        self._pin = book.own_pin(home)
        self._contexts = {name: _context(file, name) for name in (messages.REGISTER, messages.FETCH)}
        self._door = Crowd(share(AT_THE_DOOR, 8))
        self._inside = Crowd(share(INSIDE, 3))
        self._pace = Pace()
        self._machines: dict[str, Machine] = {}
        self._called_for: dict[bytes, asyncio.Future[TlsStream]] = {}
        self._book, self._version = book.read(home), book.version(home)
        self._written: book.State | None = None
        self._tasks = Tasks()

    async def serve(self, sock: socket.socket) -> None:
        """Until it is cancelled."""
        server = await asyncio.start_server(self._take, sock=sock, limit=PIECE, backlog=BACKLOG)
        looking = self._tasks.spawn(self._look())
        try:
            await looking
        finally:
            server.close()
            for machine in list(self._machines.values()):
                machine.leave()
            await self._tasks.close()
            book.state_file(self._home).unlink(missing_ok=True)

    # -- the door

    def _take(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._tasks.spawn(self._arrive(reader, writer))

    async def _arrive(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        peer = writer.get_extra_info("peername")
        guest = self._door.enter(network_of(peer[0] if peer else ""), writer.transport.abort)
        was_handed_on = False
        try:
            was_handed_on = await self._let_in(reader, writer, guest)
        except (OSError, TimeoutError, msgspec.MsgspecError):
            pass  # theirs; it ends here
        except Exception as error:  # a fault of ours must not end the relay
            log.error("a connection broke on a fault of the relay's: %s: %s", type(error).__name__, error)
        finally:
            self._door.leave(guest)
            if not was_handed_on:
                writer.transport.abort()

    async def _let_in(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter, guest: Guest) -> bool:
        """True if the connection is another task's from here on."""
        data, hello = b"", Incomplete(1)
        async with asyncio.timeout(HELLO_S):
            while isinstance(hello, Incomplete):
                piece = await reader.read(LARGEST_COMING - len(data))
                if not piece:
                    return False
                data += piece
                if len(data) >= hello.needed:
                    hello = read_hello(data)
        if isinstance(hello, Malformed):
            return False
        fetches = messages.FETCH.encode() in hello.protocols
        is_known = fetches and any(each.address == guest.peer for each in self._machines.values())
        if not is_known and not self._pace.may(guest.peer, asyncio.get_running_loop().time()):
            return False
        if fetches:
            return await self._fetched(TlsStream(reader, writer, self._contexts[messages.FETCH], data))
        if messages.REGISTER.encode() in hello.protocols:
            await self._register(TlsStream(reader, writer, self._contexts[messages.REGISTER], data), guest)
        else:
            await self._join(Phone(reader, writer, data), hello, guest)
        return False

    # -- machines

    async def _register(self, stream: TlsStream, guest: Guest) -> None:
        async with asyncio.timeout(HELLO_S):
            await stream.handshake()
            challenge = os.urandom(32)
            await stream.write(messages.line(messages.Greeting(challenge)))
            wish = msgspec.json.decode(await stream.line(messages.LONGEST_LINE), type=messages.Register)
            refused = await self._refusal(wish, challenge)
            await stream.write(messages.line(messages.Verdict(refused)))
            if refused or wish.leave or not wish.stay:
                await stream.end()
                return
        machine = Machine(wish.name, wish.key, stream, guest.peer)
        before = self._machines.get(wish.name)
        if before is not None:
            before.leave()  # the same key: the machine came back another way
        self._machines[wish.name] = machine
        self._door.leave(guest)
        log.info("%s is here", wish.name)
        try:
            await self._stay(machine)
        finally:
            machine.leave()
            if self._machines.get(wish.name) is machine:
                del self._machines[wish.name]
                log.info("%s is gone", wish.name)

    async def _refusal(self, register: messages.Register, challenge: bytes) -> str:
        """Why not; empty if the name is this machine's, or if it has left."""
        if not messages.is_signed(register, self._pin, challenge):
            return "the signature is wrong"
        self._read_book()
        owner = self._book.machines.get(register.name)
        if owner is not None and owner.key != register.key:
            return "the name belongs to another machine"
        if register.leave:
            await asyncio.to_thread(book.revoke, self._home, register.name, register.key)
        elif owner is None and register.invitation:
            refused = await asyncio.to_thread(
                book.redeem, self._home, register.name, register.key, register.invitation
            )
            if refused:
                return refused.reason
        elif owner is None:
            return "this machine was not invited, or the name was taken back"
        self._read_book()
        return ""

    async def _stay(self, machine: Machine) -> None:
        """As long as it can be heard."""
        pinging = self._tasks.spawn(self._ping(machine))
        try:
            while True:
                async with asyncio.timeout(messages.SILENT_S):
                    if not await machine.stream.read():
                        return
        finally:
            pinging.cancel()

    async def _ping(self, machine: Machine) -> None:
        with contextlib.suppress(OSError, TimeoutError):
            while True:
                await asyncio.sleep(messages.PING_S)
                async with asyncio.timeout(messages.SILENT_S):
                    await machine.stream.write(messages.line(messages.Ping()))

    # -- phones

    async def _join(self, phone: Phone, hello: Hello, guest: Guest) -> None:
        machine = self._machines.get(hello.name)
        if machine is None:
            async with asyncio.timeout(HELLO_S):
                phone.writer.write(_NO_SUCH_NAME)
                phone.writer.close()
                await phone.writer.wait_closed()
            return
        here = machine.phones.enter(guest.peer, phone.abort)
        try:
            async with asyncio.timeout(messages.DIAL_S):
                stream = await self._called(machine, is_acme=messages.ACME in hello.protocols)
            try:
                self._door.leave(guest)
                machine.phones.know(here)
                await self._pass_on(machine, phone, stream)
            finally:
                stream.abort()
        finally:
            machine.phones.leave(here)

    async def _called(self, machine: Machine, *, is_acme: bool) -> TlsStream:
        """Have the machine dial in for a phone; the connection that it dials."""
        token = os.urandom(16)
        future: asyncio.Future[TlsStream] = asyncio.get_running_loop().create_future()
        self._called_for[token] = future
        machine.waiting.add(future)
        try:
            await machine.stream.write(messages.line(messages.Fetch(token, is_acme)))
            return await future
        except BaseException:
            if future.done() and not future.cancelled() and future.exception() is None:
                future.result().abort()  # it came when we had just gone
            raise
        finally:
            del self._called_for[token]
            machine.waiting.discard(future)

    async def _fetched(self, stream: TlsStream) -> bool:
        """A machine dials in for a phone. From here on, the connection is that phone's."""
        async with asyncio.timeout(HELLO_S):
            await stream.handshake()
            token = msgspec.json.decode(await stream.line(messages.LONGEST_LINE), type=messages.Taken).token
        future = self._called_for.get(token)
        if future is None or future.done():
            return False
        future.set_result(stream)
        return True

    async def _pass_on(self, machine: Machine, phone: Phone, stream: TlsStream) -> None:
        guest = self._inside.enter(machine.name, phone.abort)
        self._inside.know(guest)
        machine.count += 1
        clock = Clock(phone.abort)
        works = [
            self._tasks.spawn(_to_machine(phone, stream, clock)),
            self._tasks.spawn(_to_phone(stream, phone, clock)),
        ]
        gone = self._tasks.spawn(machine.gone.wait())
        try:
            await asyncio.wait((*works, gone), return_when=asyncio.FIRST_COMPLETED)
            if not gone.done():  # one side has said its last word: the other one may finish its own
                await asyncio.wait(works, timeout=LAST_WORD_S)
        finally:
            for each in (*works, gone):
                each.cancel()
            clock.stop()
            machine.count -= 1
            self._inside.leave(guest)

    # -- the book, and what stands where `relay status` reads it

    async def _look(self) -> None:
        while True:
            self._read_book()
            state = book.State(
                os.getpid(), {name: book.Here(each.since, each.count) for name, each in self._machines.items()}
            )
            if state != self._written:
                self._written = state
                try:
                    await asyncio.to_thread(book.write_state, self._home, state)
                except OSError as error:  # such as a full disk; nothing depends on it
                    log.warning("the relay's state can't be written: %s", error)
            await asyncio.sleep(LOOK_S)

    def _read_book(self) -> None:
        """Take it as it is now; whoever has lost a name leaves at once. One that can't be read changes nothing."""
        version = book.version(self._home)
        if version == self._version:
            return
        self._version = version
        try:
            self._book = book.read(self._home)
        except (OSError, msgspec.MsgspecError) as error:
            log.error("the relay's machines can't be read, so they stay as they were: %s", error)
        for name, machine in list(self._machines.items()):
            owner = self._book.machines.get(name)
            if owner is None or owner.key != machine.key:
                machine.leave()


class Pace:
    """How often each address may come."""

    def __init__(self) -> None:
        self._left: OrderedDict[str, tuple[float, float]] = OrderedDict()

    def may(self, address: str, now: float) -> bool:
        left, at = self._left.pop(address, (BURST, now))
        left = min(BURST, left + (now - at) * PER_SECOND)
        self._left[address] = (max(left - 1.0, 0.0), now)
        if len(self._left) > REMEMBERED:
            self._left.popitem(last=False)  # whoever came longest ago has rested most
        return left >= 1.0


async def _to_machine(phone: Phone, stream: TlsStream, clock: Clock) -> None:
    with contextlib.suppress(OSError):
        data, is_taken = phone.first, True
        while data:
            if is_taken:
                try:
                    await stream.write(data)
                    clock.moved()
                except OSError:
                    is_taken = False  # read on: to close on what was not read is to break off what was not sent
            data = await phone.reader.read(PIECE)
        await stream.end()


async def _to_phone(stream: TlsStream, phone: Phone, clock: Clock) -> None:
    with contextlib.suppress(OSError):
        while data := await stream.read():
            phone.writer.write(data)
            await phone.writer.drain()
            clock.moved()
        phone.writer.write_eof()


def run(home: Path, bind: str, port: int, announce: Callable[[int], None]) -> None:
    """Until SIGTERM or SIGINT. `announce` is told the port once it listens. OSError: it can't listen there."""
    with book.running(home):
        allow_many_files()
        with _listening(bind, port) as sock, asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
            announce(sock.getsockname()[1])
            runner.run(_until_told(Relay(home), sock))


async def _until_told(relay: Relay, sock: socket.socket) -> None:
    serving = asyncio.ensure_future(relay.serve(sock))
    for number in (signal.SIGTERM, signal.SIGINT):
        asyncio.get_running_loop().add_signal_handler(number, serving.cancel)
    with contextlib.suppress(asyncio.CancelledError):
        await serving


def _listening(bind: str, port: int) -> socket.socket:
    """On this address; on every one of IPv4 and IPv6, if it is empty."""
    if bind:
        family = socket.AF_INET6 if ":" in bind else socket.AF_INET
        return socket.create_server((bind, port), family=family, backlog=BACKLOG)
    if socket.has_dualstack_ipv6():
        with contextlib.suppress(OSError):
            return socket.create_server(("", port), family=socket.AF_INET6, dualstack_ipv6=True, backlog=BACKLOG)
    return socket.create_server(("", port), backlog=BACKLOG)


def network_of(address: str) -> str:
    """Who somebody is for the bounds: an address of IPv4; of IPv6 the network that one customer has."""
    try:
        plain = ipaddress.ip_address(address.partition("%")[0])
    except ValueError:
        return ""
    if isinstance(plain, ipaddress.IPv4Address):
        return str(plain)
    return str(plain.ipv4_mapped or ipaddress.ip_network((int(plain) >> 64 << 64, 64)))


def _context(file: Path, protocol: str) -> ssl.SSLContext:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.minimum_version = ssl.TLSVersion.TLSv1_3
    context.num_tickets = 0  # nobody resumes
    context.set_alpn_protocols([protocol])
    context.load_cert_chain(file)
    return context
