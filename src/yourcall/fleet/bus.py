"""The connection to NATS: made, kept, and made again; and what may go wrong with it, as values.

Each connection is a new one: whoever uses the bus is told when it begins and sets up anew what it needs, so
nothing depends on what a client library remembers across a break.

Rule: nothing is queued for a line that is down. Whoever asks hears at once that it is.
"""

from __future__ import annotations

import asyncio
import base64
import contextlib
import logging
import random
import ssl
from collections.abc import AsyncGenerator, Awaitable, Callable, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import nats.errors
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from nats.aio.client import Client
from nats.aio.msg import Msg
from nats.aio.subscription import Subscription

from yourcall.fleet.keys import nkey, nkey_from_seed

log = logging.getLogger(__name__)

CONNECT_S, CLOSE_S = 5.0, 1.0
# A thousand hosts come back within this, not all at once.
FIRST_PAUSE_S, LONGEST_PAUSE_S = 0.3, 8.0
# A line that is dead is noticed after two of them.
PING_S = 15

# What one subscription may hold before we read it: a hub's start brings every row at once.
MOST_PENDING, MOST_PENDING_BYTES = 200_000, 256 << 20

Message = Msg
Heard = Callable[[Message], Awaitable[None]]


class _Quiet(logging.Filter):
    """Said each time a line with TLS ends, and of no use to anybody."""

    def filter(self, record: logging.LogRecord) -> bool:
        return "eof_received" not in str(record.msg)


logging.getLogger("asyncio").addFilter(_Quiet())


class Away(Exception):
    """Nobody takes it there: the host is away, or the line to NATS is down. Nothing was sent."""


class Unanswered(Exception):
    """It was sent, and no reply came in time: it may have been done."""


class Credentials:
    """How a member shows NATS who it is: with its own key, or with a creds file of the user's NATS."""

    def __init__(self, key: Ed25519PrivateKey, creds: Path | None = None) -> None:
        self.jwt = ""
        self._key = key
        if creds is not None:
            self.jwt, self._key = read_creds(creds)

    @property
    def public(self) -> str:
        return nkey(self._key)

    def sign(self, nonce: str) -> bytes:
        return base64.b64encode(self._key.sign(nonce.encode()))


def read_creds(path: Path) -> tuple[str, Ed25519PrivateKey]:
    """A creds file: a user's JWT, and the seed of its key."""
    parts: list[str] = []
    inside = False
    for line in path.read_text().splitlines():
        if line.strip().startswith("-----"):
            inside = "BEGIN" in line
        elif inside and line.strip():
            parts.append(line.strip())
    if len(parts) != 2:
        raise ValueError(f"{path} holds no JWT and seed")
    return parts[0], nkey_from_seed(parts[1])


def tls_context(pem: str) -> ssl.SSLContext:
    """`pem`: the fleet's own authority; it signs nothing but the server, so its name does not matter. Without
    one, the machine's authorities and the name count."""
    if not pem:
        return ssl.create_default_context()
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.check_hostname = False
    context.load_verify_locations(cadata=pem)
    context.minimum_version = ssl.TLSVersion.TLSv1_2
    return context


class Bus:
    def __init__(
        self,
        addresses: Sequence[str],
        credentials: Credentials,
        prefix: str,
        tls: ssl.SSLContext | None,
        name: str,
    ) -> None:
        self._addresses = list(addresses)
        self._credentials = credentials
        self._prefix = prefix
        self._tls = tls
        self._name = name
        self._client: Client | None = None
        self.connects = 0
        self.problem = ""  # why there is no line, in a sentence

    @property
    def up(self) -> bool:
        return self._client is not None and self._client.is_connected

    async def run(self, begin: Callable[[], Awaitable[None]], end: Callable[[], Awaitable[None]]) -> None:
        """Connect, call `begin`, stay until the line breaks, call `end`, and again; until cancelled."""
        pause = FIRST_PAUSE_S
        while True:
            began = asyncio.get_running_loop().time()
            try:
                async with self.connected() as ended:
                    try:
                        self.problem = ""
                        await begin()
                        await ended.wait()
                    finally:
                        await end()
                self.problem = "the line to NATS broke"
            except asyncio.CancelledError:
                raise
            except (OSError, nats.errors.Error, TimeoutError, Away, Unanswered, ValueError, ssl.SSLError) as error:
                self.problem = _why(error)
                log.info("no line to NATS: %s", self.problem)
            lasted = asyncio.get_running_loop().time() - began
            pause = FIRST_PAUSE_S if lasted > LONGEST_PAUSE_S else min(pause * 1.7, LONGEST_PAUSE_S)
            # All of them notice in the same instant that NATS is gone.
            await asyncio.sleep(pause * (0.3 + random.random()))  # noqa: S311 - to spread, not to hide

    @asynccontextmanager
    async def connected(self) -> AsyncGenerator[asyncio.Event]:
        """One connection, to the first address that lets us in. The event is set when it is over."""
        ended = asyncio.Event()
        client = await self._connect(ended)
        try:
            self._client = client
            self.connects += 1
            yield ended
        finally:
            self._client = None
            await _closed(client)

    async def _connect(self, ended: asyncio.Event) -> Client:
        failure: Exception = Away("no address of NATS is known")
        for address in list(self._addresses):
            client = Client()
            try:
                async with asyncio.timeout(2 * CONNECT_S):
                    await self._come_in(client, address, ended)
            except (OSError, nats.errors.Error, TimeoutError, ssl.SSLError) as error:
                failure = error
                await _closed(client)
                continue
            self._addresses.remove(address)  # the one that works is tried first the next time
            self._addresses.insert(0, address)
            return client
        raise failure

    async def _come_in(self, client: Client, address: str, ended: asyncio.Event) -> None:
        setattr(client, "_public_nkey", self._credentials.public)  # noqa: B010 - the library takes a seed only

        async def over() -> None:
            ended.set()

        async def wrong(error: Exception) -> None:
            log.debug("NATS: %s", error)
            if isinstance(error, nats.errors.SlowConsumerError):
                ended.set()  # something was lost: begin anew, with everything

        jwt = self._credentials.jwt
        options: dict[str, Any] = {"user_jwt_cb": lambda: bytearray(jwt.encode())} if jwt else {}
        if self._tls is not None:
            options["tls"] = self._tls
        await client.connect(
            address,
            error_cb=wrong,
            closed_cb=over,
            disconnected_cb=over,
            name=self._name,
            allow_reconnect=False,
            max_reconnect_attempts=1,
            reconnect_time_wait=0,
            connect_timeout=int(CONNECT_S),
            ping_interval=PING_S,
            signature_cb=self._credentials.sign,
            inbox_prefix=self._prefix,
            **options,
        )

    async def publish(self, subject: str, data: bytes, reply: str = "") -> None:
        if self._client is None or not self._client.is_connected:
            raise Away(self.problem or "there is no line to NATS")
        await self._client.publish(subject, data, reply=reply)

    async def flush(self) -> None:
        if self._client is not None:
            await self._client.flush(int(CONNECT_S))

    async def request(
        self, subject: str, data: bytes, patience: float, ttl: int = 0, headers: dict[str, str] | None = None
    ) -> Message:
        """One reply. `ttl`: for what JetStream keeps, for so many seconds. Away: nobody was there to take it.
        Unanswered: somebody was, and did not reply in time."""
        if self._client is None or not self._client.is_connected:
            raise Away(self.problem or "there is no line to NATS")
        try:
            headers = {**(headers or {}), "Nats-TTL": f"{ttl}s"} if ttl else headers
            return await self._client.request(subject, data, timeout=patience, headers=headers)
        except nats.errors.NoRespondersError as error:
            raise Away("nobody answers there") from error
        except nats.errors.TimeoutError as error:
            raise Unanswered(f"no reply within {patience:.0f} s") from error
        except (nats.errors.Error, OSError) as error:
            raise Unanswered(_why(error)) from error

    async def subscribe(self, subject: str, heard: Heard) -> Subscription:
        if self._client is None:
            raise Away(self.problem or "there is no line to NATS")
        return await self._client.subscribe(  # pyright: ignore[reportUnknownMemberType]
            subject, cb=heard, pending_msgs_limit=MOST_PENDING, pending_bytes_limit=MOST_PENDING_BYTES
        )

    def new_inbox(self) -> str:
        assert self._client is not None
        return self._client.new_inbox()


async def _closed(client: Client) -> None:
    """A line whose TLS never came up does not close by itself in every version of Python."""
    with contextlib.suppress(Exception):
        async with asyncio.timeout(CLOSE_S):
            await client.close()


def _why(error: BaseException) -> str:
    words = str(error).strip().removeprefix("nats: ").strip("'")
    if "uthorization" in words:
        return "NATS does not let this machine in: it was removed from the fleet, or its invitation has ended"
    return words or type(error).__name__
