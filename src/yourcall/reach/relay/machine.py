"""The machine's side: registered at its relay for as long as the daemon runs, and there when a phone comes.

Rule: the relay is not trusted. It must show the certificate that the invitation named before it hears a word, it
gets no key, and what it asks for is bounded.
"""

from __future__ import annotations

import asyncio
import logging
import random
import ssl
from collections.abc import Awaitable, Callable

import msgspec
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat

from yourcall.reach.relay.messages import (
    DIAL_S,
    FETCH,
    LONGEST_LINE,
    REGISTER,
    SILENT_S,
    Fetch,
    Greeting,
    Ping,
    Register,
    Taken,
    Verdict,
    line,
    pin_of,
    signature,
)
from yourcall.reach.way import Relay
from yourcall.system.tasks import Tasks

log = logging.getLogger(__name__)

MOST_AT_ONCE = 32  # phones that are being fetched
PHONE_S = 20.0  # for a phone to speak TLS with us
FIRST_PAUSE_S, LONGEST_PAUSE_S = 0.5, 30.0  # between two attempts
WELL_S = 60.0  # a connection that lasted so long was a good one

_HEARD = msgspec.json.Decoder(Fetch | Ping)


class NotAccepted(Exception):
    """The relay says no, or is another one; the sentence says why."""


class Stays:
    """The machine's connection to its relay: `await Stays(…).run()`. `arrive` is called for each phone with the
    token that fetches it. `tell` hears what is wrong, or nothing once it is registered."""

    def __init__(
        self,
        relay: Relay,
        name: str,
        key: Ed25519PrivateKey,
        arrive: Callable[[bytes, bool], Awaitable[None]],
        tell: Callable[[str], None],
    ) -> None:
        self._relay, self._name, self._key = relay, name, key
        self._arrive, self._tell = arrive, tell
        self._phones = Tasks()
        self._fetching = 0

    async def run(self) -> None:
        """Until it is cancelled; it comes back whenever the relay does."""
        pause = FIRST_PAUSE_S
        loop = asyncio.get_running_loop()
        try:
            while True:
                began = loop.time()
                try:
                    await self._registered()
                except (OSError, TimeoutError, NotAccepted, msgspec.MsgspecError) as error:
                    self._tell(reason_of(error))
                pause = FIRST_PAUSE_S if loop.time() - began > WELL_S else min(pause * 2, LONGEST_PAUSE_S)
                # Not all machines at the same moment, when their relay is back.
                await asyncio.sleep(pause * random.uniform(0.5, 1.0))  # noqa: S311 - no secret
        finally:
            await self._phones.close()

    async def _registered(self) -> None:
        reader, writer = await register(self._relay, self._name, self._key)
        try:
            self._tell("")
            while True:
                async with asyncio.timeout(SILENT_S):
                    heard = _HEARD.decode(await _line(reader))
                if isinstance(heard, Fetch):
                    self._begin(heard)
                else:
                    writer.write(line(Ping()))
        finally:
            writer.transport.abort()

    def _begin(self, wish: Fetch) -> None:
        if self._fetching < MOST_AT_ONCE:
            self._fetching += 1
            self._phones.spawn(self._one(wish))

    async def _one(self, wish: Fetch) -> None:
        try:
            await self._arrive(wish.token, wish.acme)
        except (OSError, TimeoutError, NotAccepted):
            pass  # a phone that went, or a stranger that speaks no TLS
        except Exception as error:
            log.warning("a phone could not be fetched: %s: %s", type(error).__name__, error)
        finally:
            self._fetching -= 1


async def register(
    relay: Relay, name: str, key: Ed25519PrivateKey
) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
    """Dial out, prove who we are, and be there for phones; or `NotAccepted`, or an OSError."""
    return await _ask(relay, name, key, b"", stay=True, leave=False)


async def enter(relay: Relay, name: str, key: Ed25519PrivateKey, invitation: bytes) -> None:
    """Redeem an invitation; or, without one, ask whether the name is still ours."""
    _, writer = await _ask(relay, name, key, invitation, stay=False, leave=False)
    writer.transport.abort()


async def leave(relay: Relay, name: str, key: Ed25519PrivateKey) -> None:
    """Give the name up."""
    _, writer = await _ask(relay, name, key, b"", stay=False, leave=True)
    writer.transport.abort()


async def _ask(
    relay: Relay, name: str, key: Ed25519PrivateKey, invitation: bytes, *, stay: bool, leave: bool
) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
    async with asyncio.timeout(DIAL_S):
        reader, writer = await asyncio.open_connection(
            relay.host, relay.port, ssl=_context(REGISTER), server_hostname=relay.host, limit=LONGEST_LINE
        )
        try:
            _check(relay, writer.transport)
            challenge = msgspec.json.decode(await _line(reader), type=Greeting).challenge
            public = key.public_key().public_bytes(Encoding.Raw, PublicFormat.Raw)
            signed = signature(key, relay.pin, challenge, name, leave=leave)
            writer.write(line(Register(name, public, signed, invitation, stay, leave)))
            verdict = msgspec.json.decode(await _line(reader), type=Verdict)
            if verdict.refused:
                raise NotAccepted(f"The relay refuses: {verdict.refused[:200]}.")
        except BaseException:
            writer.transport.abort()
            raise
    return reader, writer


async def fetch(relay: Relay, token: bytes, protocol: asyncio.Protocol, context: ssl.SSLContext) -> None:
    """Dial out for a phone, and let it speak TLS through the relay with `protocol` here."""
    loop = asyncio.get_running_loop()
    async with asyncio.timeout(DIAL_S):
        outer, _ = await loop.create_connection(
            asyncio.Protocol, relay.host, relay.port, ssl=_context(FETCH), server_hostname=relay.host
        )
    try:
        _check(relay, outer)
        outer.write(line(Taken(token)))
        entering = _Entering(protocol)
        inner = await loop.start_tls(outer, entering, context, server_side=True, ssl_handshake_timeout=PHONE_S)
        if inner is None or inner.is_closing():  # so says uvloop that it went in the middle of its hello
            raise ConnectionError("the phone is gone")
        entering.enter(inner)
    except BaseException:
        outer.abort()
        raise


def reason_of(error: Exception) -> str:
    """In words for the person."""
    if isinstance(error, NotAccepted):
        return str(error)
    if isinstance(error, TimeoutError):
        return "The relay does not answer."
    if isinstance(error, OSError):
        return f"The relay can't be reached ({error.strerror or error})."
    return "The relay speaks another language: is it of another version?"


class _Entering(asyncio.Protocol):
    """Stands in for a protocol until it knows its transport: a phone may speak before that."""

    def __init__(self, protocol: asyncio.Protocol) -> None:
        self._protocol = protocol
        self._data: list[bytes] = []
        self._lost: list[Exception | None] = []

    def data_received(self, data: bytes) -> None:
        self._data.append(data)

    def connection_lost(self, exc: Exception | None) -> None:
        self._lost.append(exc)

    def enter(self, transport: asyncio.Transport) -> None:
        transport.set_protocol(self._protocol)
        self._protocol.connection_made(transport)
        for data in self._data:
            self._protocol.data_received(data)
        for exc in self._lost:
            self._protocol.connection_lost(exc)


def _context(protocol: str) -> ssl.SSLContext:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.minimum_version = ssl.TLSVersion.TLSv1_3
    context.check_hostname = False
    context.verify_mode = ssl.CERT_NONE  # nobody vouches for a relay; `_check` knows it by its pin
    context.set_alpn_protocols([protocol])
    return context


def _check(relay: Relay, transport: asyncio.BaseTransport) -> None:
    tls = transport.get_extra_info("ssl_object")
    if tls is None or pin_of(tls.getpeercert(binary_form=True) or b"") != relay.pin:
        raise NotAccepted(f"What answers at {relay.host}:{relay.port} is not the relay of the invitation.")


async def _line(reader: asyncio.StreamReader) -> bytes:
    try:
        return await reader.readuntil(b"\n")
    except (asyncio.IncompleteReadError, asyncio.LimitOverrunError) as error:
        raise ConnectionError("The relay hung up") from error
