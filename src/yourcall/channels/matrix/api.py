"""A homeserver's client API through matrix-nio: one call, and what its end means.

Rule: nothing is tried again or waited for in here. The token goes to the homeserver alone, in a header; neither it
nor an address reaches a log, an error or a person.
"""

from __future__ import annotations

import logging
import re
from collections.abc import Awaitable
from io import BytesIO
from typing import TYPE_CHECKING, Any, TypeVar
from urllib.parse import quote, urlencode

import msgspec

from yourcall.channels.channel import Failed, Gone, Later, Unclear, World
from yourcall.channels.http import LONGEST_WAIT_S, download
from yourcall.channels.matrix.wire import Synced

if TYPE_CHECKING:
    from nio import AsyncClient

T = TypeVar("T")
Trouble = Later | Unclear | Failed | Gone

# A service that needs longer to answer is down.
REPLY_S = 20.0

# A homeserver holds an empty sync open for so long.
SYNC_S = 30.0

# Hundreds of messages of the largest kind. What is more is asked for in smaller pieces: strangers may invite the
# bot into rooms that are full of them.
LARGEST_SYNC = 16 << 20
MOST_EVENTS = 100

_WRONG_TOKEN = frozenset({"M_UNKNOWN_TOKEN", "M_MISSING_TOKEN", "M_USER_DEACTIVATED"})
WRONG_TOKEN = "the homeserver does not take this token: check it in secrets.toml"  # noqa: S105

ENDLESS = Unclear("it answered without an end")
CLOSING = Later("it is being closed")

_MXC = re.compile(r"mxc://([A-Za-z0-9.:\[\]-]{1,255})/([A-Za-z0-9_=-]{1,255})")

# What is told at a sync: what is said and who is there, and nothing else.
_NONE: dict[str, Any] = {"types": []}


def _filter(limit: int) -> str:
    types = ["m.room.message", "m.reaction", "m.room.member", "m.room.encryption"]
    room = {
        "ephemeral": _NONE,
        "account_data": _NONE,
        "state": {"types": ["m.room.encryption"]},
        "timeline": {"limit": limit, "types": types},
    }
    return msgspec.json.encode({"presence": _NONE, "account_data": _NONE, "room": room}).decode()


class Api:
    def __init__(self, world: World, server: str, user: str, token: str) -> None:
        self._world = world
        self._server = server.rstrip("/")
        self._user = user
        self._token = token
        self._client: AsyncClient | None = None
        self.closed = False
        self._limit = MOST_EVENTS

    @property
    def client(self) -> AsyncClient:
        if self._client is None:
            from nio import AsyncClient, AsyncClientConfig

            log = logging.getLogger("nio")  # it logs what it is sent
            log.setLevel(logging.CRITICAL + 1)
            log.propagate = False
            config = AsyncClientConfig(
                max_limit_exceeded=0, max_timeouts=0, request_timeout=REPLY_S, encryption_enabled=False
            )
            client = AsyncClient(self._server, self._user, config=config)
            client.access_token = self._token
            client.user_id = self._user
            self._client = client
        return self._client

    async def close(self) -> None:
        """Whoever still has something to say must not open it again: nobody would close it."""
        self.closed = True
        client, self._client = self._client, None
        if client is not None:
            await client.close()

    # --- what is read --------------------------------------------------------------------------------------------

    async def sync(self, since: str, wait_s: float) -> Synced | Trouble:
        query = {"filter": _filter(self._limit), "timeout": str(int(wait_s * 1000)), "set_presence": "offline"}
        if since:
            query["since"] = since
        end = await self._ask("GET", f"/_matrix/client/v3/sync?{urlencode(query)}", wait_s + REPLY_S)
        if not isinstance(end, bytes):
            if end == ENDLESS:
                self._limit = max(1, self._limit // 4)
            return end
        self._limit = MOST_EVENTS
        try:
            return msgspec.json.decode(end, type=Synced)
        except (msgspec.DecodeError, RecursionError):
            return Later("it answered something that is no homeserver")

    async def ask(self, path: str) -> dict[str, Any] | Trouble:
        return _object(await self._ask("GET", path, REPLY_S))

    async def do(self, path: str) -> dict[str, Any] | Trouble:
        return _object(await self._ask("POST", path, REPLY_S, "{}"))

    async def _ask(self, method: str, path: str, patience: float, data: str | None = None) -> bytes | Trouble:
        """What nio would take apart is read here: one event of a strange shape must not stop all others."""
        headers = {"Authorization": f"Bearer {self._token}", "Content-Type": "application/json"}

        if self.closed:
            return CLOSING

        async def work() -> tuple[int, bytes, str]:
            reply = await self.client.send(method, path, data, headers, timeout=patience)
            async with reply:
                said = await reply.content.read(LARGEST_SYNC + 1)
                while len(said) <= LARGEST_SYNC and (more := await reply.content.read(LARGEST_SYNC)):
                    said += more
                return reply.status, said, reply.headers.get("Retry-After", "")

        end = await _ended(work())
        if isinstance(end, Later | Unclear | Failed | Gone):
            return end
        status, body, after = end
        if len(body) > LARGEST_SYNC:
            return ENDLESS
        return body if status < 300 else _refused(status, _error(body), after)

    # --- what is sent --------------------------------------------------------------------------------------------

    async def send(self, room: str, kind: str, content: dict[str, Any], number: str) -> str | Trouble:
        """`number`: the same again is the same event, also after a broken line."""
        return CLOSING if self.closed else await self._sent(self.client.room_send(room, kind, content, number))

    async def redact(self, room: str, event: str, number: str) -> str | Trouble:
        return CLOSING if self.closed else await self._sent(self.client.room_redact(room, event, None, number))

    async def upload(self, name: str, content: bytes) -> str | Trouble:
        """Where it is then."""
        from nio import UploadResponse

        if self.closed:
            return CLOSING
        work = self.client.upload(BytesIO(content), "text/plain", name, filesize=len(content))
        end = await _ended(work)
        if isinstance(end, Later | Unclear | Failed | Gone):
            return end
        reply: Any = end[0]
        return reply.content_uri if isinstance(reply, UploadResponse) else _of(reply)

    async def _sent(self, work: Awaitable[Any]) -> str | Trouble:
        end: Any = await _ended(work)
        if isinstance(end, Later | Unclear | Failed | Gone):
            return end
        name = getattr(end, "event_id", None)
        return name if isinstance(name, str) and name else _of(end)

    async def download(self, place: str, most: int) -> bytes | Trouble:
        """A file that somebody sent: by our own homeserver, wherever it is kept."""
        match = _MXC.fullmatch(place)
        if match is None:
            return Failed("it is kept somewhere else")
        path = "/".join(quote(part, safe="") for part in match.groups())
        url = f"{self._server}/_matrix/client/v1/media/download/{path}"
        headers = {"Authorization": f"Bearer {self._token}"}
        return await download(self._world, url, headers=headers, patience=REPLY_S, most=most)


async def _ended(work: Awaitable[T]) -> T | Trouble:
    import aiohttp

    try:
        return await work
    except (aiohttp.ClientConnectorError, aiohttp.ConnectionTimeoutError) as error:
        return Later(f"cannot be reached ({type(error).__name__})")
    except (aiohttp.ClientError, TimeoutError, OSError) as error:
        return Unclear(f"connection lost ({type(error).__name__})")
    except (ValueError, LookupError, TypeError) as error:
        return Unclear(f"it answered something that is no homeserver ({type(error).__name__})")


class _Error(msgspec.Struct, frozen=True):
    errcode: str = ""
    retry_after_ms: float | None = None


def _error(body: bytes) -> _Error:
    try:
        return msgspec.json.decode(body, type=_Error)
    except (msgspec.DecodeError, RecursionError):
        return _Error()


def _of(reply: Any) -> Trouble:
    """An error as nio tells it."""
    transport = getattr(reply, "transport_response", None)
    status = int(getattr(transport, "status", 0) or 0)
    after = str(transport.headers.get("Retry-After", "")) if transport is not None else ""
    word, wait = getattr(reply, "status_code", None), getattr(reply, "retry_after_ms", None)
    return _refused(status, _Error(str(word or ""), wait), after)


def _refused(status: int, error: _Error, after: str) -> Trouble:
    word = error.errcode
    if status == 429 or word == "M_LIMIT_EXCEEDED":
        wait = (error.retry_after_ms or 0) / 1000
        if not wait and after.isascii() and after.isdecimal() and len(after) < 7:
            wait = float(after)
        return Later("it said: too many requests", min(max(wait, 1.0), LONGEST_WAIT_S))
    if word in _WRONG_TOKEN or status == 401:
        return Failed(WRONG_TOKEN)
    if status >= 500:
        return Later(f"it said {status}")
    if word == "M_FORBIDDEN":
        return Gone("this room is closed to the bot")
    return Failed(f"it said {status} {word[:40]}".rstrip())


def _object(end: bytes | Trouble) -> dict[str, Any] | Trouble:
    if not isinstance(end, bytes):
        return end
    try:
        return msgspec.json.decode(end, type=dict[str, Any])
    except (msgspec.DecodeError, RecursionError):
        return Unclear("it answered something that is no homeserver")
