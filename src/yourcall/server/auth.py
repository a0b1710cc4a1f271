"""The gate in front of every route: who comes in, from which page, by which name of ours.

A script comes with a token, a browser signs each request (`signatures.py`). A cookie lets nobody in: a browser
sends it to every port of the host, so others have it as well.

Rule: closed unless said otherwise. A new route, asset or path is behind the gate without anybody thinking of it;
only what is in `open_paths` passes without a key. Refusals say what to do and never what was presented.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from urllib.parse import unquote_plus

import msgspec
from msgspec import Struct
from msgspec.structs import replace
from starlette.datastructures import Headers, MutableHeaders
from starlette.requests import cookie_parser
from starlette.responses import Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from yourcall.model.acts import SignedAct
from yourcall.server import scopes, signatures
from yourcall.server.devices import PREFIX, Devices
from yourcall.server.ports import Device
from yourcall.server.scopes import Scope as ScopeName
from yourcall.server.wire import Problem
from yourcall.system.peer import Peer

# What browsers were let in by before they had keys. It is only looked at to find those.
COOKIE = "yourcall"

# Where a request's Caller is kept for the routes behind the gate.
CALLER = "yourcall.caller"

# The name by which a request asked for us, in the reply to one that should have been a WebSocket.
ASKED_AS = "Yourcall-Asked-As"
# Where the listener keeps how it is told that the sender of a request is known, and by which name.
KNOWN = "yourcall.known"
# Where a connection keeps who is at its other end.
PEER = "yourcall.system.peer"

SECURITY_HEADERS = {
    "Content-Security-Policy": "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; "
    "img-src 'self' data:; manifest-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'",
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "no-referrer",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Cross-Origin-Opener-Policy": "same-origin",
}

_READING = frozenset({"GET", "HEAD"})


class Caller(Struct, frozen=True):
    """Whoever got through the gate. `device_id` is empty for the user's own command line. `peer`: the other end
    of the connection, to look at when something is to be changed. `signed`: with a browser's own key. `act`: what
    a device of the fleet has signed, as this machine verified it."""

    by: str
    via: str
    device_id: str = ""
    peer: Peer | None = None
    scopes: tuple[ScopeName, ...] = ()
    signed: bool = False
    act: SignedAct | None = None

    def may(self, scope: ScopeName) -> bool:
        return scope in self.scopes

    @property
    def author(self) -> str:
        """For what is written down: a name can be given to another device later, an id cannot."""
        return f"{self.by} ({self.device_id})" if self.device_id else self.by


CLI = Caller(by="cli", via="socket", scopes=scopes.ALL)
NOBODY = Caller(by="", via="http")


class Refusal(Struct, frozen=True):
    status: int
    reason: str
    headers: Mapping[str, str] = {}

    def response(self) -> Response:
        return json_response(self.status, Problem(self.reason), self.headers)


def json_response(status: int, value: object, headers: Mapping[str, str] | None = None) -> Response:
    return Response(msgspec.json.encode(value), status, dict(headers or {}), "application/json")


def not_allowed(caller: Caller, needed: ScopeName) -> Refusal | None:
    """The no to a device that was not given this scope."""
    return None if caller.may(needed) else Refusal(403, scopes.refusal(caller.by, caller.scopes, needed))


class Gate:
    """`hosts` are the names this server answers to (`127.0.0.1:7788`, `desk.example.net`), in lower case.

    `feeds` are the WebSockets that a browser may open with a ticket: none on which anything can be changed.
    """

    def __init__(
        self,
        app: ASGIApp,
        devices: Devices,
        hosts: Callable[[], frozenset[str]],
        open_paths: frozenset[tuple[str, str]],
        *,
        local: bool,
        feeds: frozenset[str] = frozenset(),
    ) -> None:
        self._app = app
        self._devices = devices
        self._hosts = hosts
        self._open = open_paths
        self._local = local
        self._feeds = feeds

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] not in ("http", "websocket"):
            await self._app(scope, receive, send)
            return
        send = _guarded(scope, send)
        headers = Headers(scope=scope)
        passed = _local_caller(headers) if self._local else await self._caller(scope, headers)
        if _token_in_url(scope):
            passed = Refusal(400, "A token does not belong in an address; send it as: Authorization: Bearer TOKEN")
        if isinstance(passed, _Signed):
            body = await _read(receive, headers)
            if isinstance(body, bytes):
                receive = _again(body, receive)
            passed = _as_signed(passed, body)
        if isinstance(passed, Refusal):
            await refuse(passed, scope, receive, send)
            return
        scope[CALLER] = replace(passed, peer=scope.get("state", {}).get(PEER))
        if passed is not NOBODY and KNOWN in scope:
            scope[KNOWN](passed.device_id)
        await self._app(scope, receive, send)

    async def _caller(self, scope: Scope, headers: Headers) -> Caller | _Signed | Refusal:
        hosts = self._hosts()
        wrong = _wrong_host(headers, hosts) or _wrong_origin(scope, headers, hosts)
        if wrong is not None:
            return wrong
        if scope["type"] == "http" and scope["path"] in self._feeds:
            # Said before anybody is asked who they are: `yourcall reach` sees by it what a proxy passes on. The
            # name is one of ours, for any other was refused above.
            name = headers["host"].lower()
            return Refusal(426, "Open this as a WebSocket.", {"Upgrade": "websocket", ASKED_AS: name})
        reading = scope["type"] == "http" and scope["method"] in _READING
        if scope["type"] == "http" and (("GET" if reading else scope["method"]), scope["path"]) in self._open:
            return NOBODY
        signature = headers.getlist(signatures.HEADER)
        if signature:
            return self._signed(scope, signature) if scope["type"] == "http" else _UNKNOWN
        ticket = signatures.ticket_in(scope.get("subprotocols", []))
        if ticket is not None:
            return self._with_ticket(scope, headers, ticket)
        key = signatures.key_in(scope.get("subprotocols", [])) if "origin" not in headers else None
        bearer = headers.get("authorization")
        if bearer is None and key is None:
            return await self._with_cookie(headers)
        if key is not None:
            scope[TICKETED] = True
        device = self._devices.known(_bearer(bearer) if bearer is not None else key or "")
        if device is None:
            return _UNKNOWN
        return _VOID if device.void else self._caller_of(device)

    def _signed(self, scope: Scope, texts: list[str]) -> _Signed | Refusal:
        """A browser's own request; its body is not known yet."""
        read = signatures.read_header(texts[0]) if len(texts) == 1 else None
        device = self._devices.browser(read.device) if read is not None else None
        if read is None or device is None:
            return _UNKNOWN
        target = _target(scope)
        match self._devices.signatures.check(device.public_key, scope["method"], target, read):
            case None:
                self._devices.came_by(device)
                return _Signed(replace(self._caller_of(device), signed=True), read)
            case signatures.Stale(run=run, now=now):
                again = {signatures.RUN_HEADER: run, signatures.TIME_HEADER: str(now)}
                return Refusal(
                    403, "This was signed too long ago, or by a clock that is wrong. Sign it again.", again
                )
            case signatures.Unsound(reason=reason):
                # Not 401: the device is known, and need not be paired again.
                return Refusal(403, reason)
            case signatures.TooMany():
                return Refusal(429, "Too many requests of this device within a minute.", {"Retry-After": "60"})

    def _with_ticket(self, scope: Scope, headers: Headers, ticket: str) -> Caller | Refusal:
        """A browser's live feed. Only a page of ours gets here with a ticket, and a page says where it is from."""
        device_id = self._devices.tickets.use(ticket)
        device = self._devices.browser(device_id) if device_id else None
        if device is None:
            return _UNKNOWN
        if scope["path"] not in self._feeds or "origin" not in headers:
            return Refusal(403, "A ticket only opens the live feed, and only for our own page.")
        self._devices.came_by(device)
        scope[TICKETED] = True
        return self._caller_of(device)

    def _caller_of(self, device: Device) -> Caller:
        return Caller(device.name, "http", device.id, scopes=self._devices.scopes_of(device))

    async def _with_cookie(self, headers: Headers) -> Refusal:
        """Nobody comes in by a cookie. One that was given out earlier is void from now on, whoever sends it."""
        token = cookie_parser(headers.get("cookie", "")).get(COOKIE, "")
        device = self._devices.known(token) if token else None
        if device is None:
            return _UNKNOWN
        await self._devices.void(device)
        return _VOID


class _Signed(Struct, frozen=True):
    """A caller, if the body is the one that was signed."""

    caller: Caller
    signature: signatures.Signature


# Set on a connection that brought its ticket or its key as the name of a protocol.
TICKETED = "yourcall.ticketed"

_ASK = {"WWW-Authenticate": "Bearer"}
_UNKNOWN = Refusal(401, "Pair this device first, or send: Authorization: Bearer TOKEN", _ASK)
_VOID = Refusal(
    401,
    "This browser was paired when yourcall still used a cookie, which a browser sends to every port of a host. "
    "That cookie no longer works. Pair this browser again: at your desk, run yourcall devices pair",
    _ASK,
)


def _target(scope: Scope) -> str:
    """The path and the query, letter by letter as they came."""
    query: bytes = scope.get("query_string", b"")
    return (scope["raw_path"] + (b"?" + query if query else b"")).decode("latin-1")


def _as_signed(signed: _Signed, body: bytes | Refusal) -> Caller | Refusal:
    if isinstance(body, Refusal):
        return body
    if not signatures.same_body(signed.signature, body):
        return Refusal(403, "The body is not the one that was signed.")
    return signed.caller


async def _read(receive: Receive, headers: Headers) -> bytes | Refusal:
    """All of a signed request's body: nothing of it is used before all of it is known to be what was signed."""
    most = signatures.LARGEST_BODY
    too_large = Refusal(413, f"A request may have {most >> 20} MB at most.", {"Connection": "close"})
    said = headers.get("content-length", "")
    if said.isdecimal() and int(said[:20]) > most:
        return too_large
    data = bytearray()
    while True:
        message = await receive()
        if message["type"] == "http.disconnect":
            return Refusal(400, "The connection ended in the middle of the body.")
        data += message.get("body", b"")
        if len(data) > most:
            return too_large
        if not message.get("more_body", False):
            return bytes(data)


def _again(body: bytes, receive: Receive) -> Receive:
    """Give the body, which was read, once more; then whatever else comes."""
    left: list[Message] = [{"type": "http.request", "body": body, "more_body": False}]

    async def again() -> Message:
        return left.pop() if left else await receive()

    return again


def _local_caller(headers: Headers) -> Caller | Refusal:
    # Only a browser sends an Origin, and no browser of the user's has business on this socket.
    return Refusal(403, "This socket is not for web pages.") if "origin" in headers else CLI


def _wrong_host(headers: Headers, hosts: frozenset[str]) -> Refusal | None:
    """Another name for this machine may be a page that had its own name pointed here (DNS rebinding)."""
    said = headers.getlist("host")
    if len(said) != 1:
        return Refusal(400, "Send one Host header.")
    if said[0].lower() not in hosts:
        return Refusal(421, "This is not a name of this server. If it should be, start it with: --public-url URL")
    return None


def _wrong_origin(scope: Scope, headers: Headers, hosts: frozenset[str]) -> Refusal | None:
    """A page that is not ours does not even get to try. No Origin is judged later, where the key is known."""
    said = headers.getlist("origin")
    foreign = len(said) > 1
    for origin in said:
        scheme, _, host = origin.lower().partition("://")
        foreign = foreign or scheme not in ("http", "https") or host not in hosts
    if scope["type"] == "http" and scope["method"] not in _READING:
        # The browser's own word also tells http from https, and one port from another behind the same name.
        foreign = foreign or headers.get("sec-fetch-site", "same-origin") not in ("same-origin", "none")
    return Refusal(403, "This request comes from a page that is not ours.") if foreign else None


def _bearer(header: str) -> str:
    scheme, _, token = header.partition(" ")
    return token.strip() if scheme.lower() == "bearer" else ""


def _token_in_url(scope: Scope) -> bool:
    """Addresses end up in histories and logs; a token that was sent in one is not to be relied on."""
    return PREFIX in unquote_plus(scope.get("query_string", b"").decode("latin-1"))


async def refuse(refusal: Refusal, scope: Scope, receive: Receive, send: Send) -> None:
    """Say no, on HTTP and before a WebSocket opens alike."""
    if scope["type"] == "websocket" and "websocket.http.response" not in scope.get("extensions", {}):
        await send({"type": "websocket.close", "code": 1008, "reason": refusal.reason[:120]})
        return
    response = refusal.response()
    # Not read, so not to be mistaken for the next request.
    response.headers["Connection"] = "close"
    await response(scope, receive, send)


def _guarded(scope: Scope, send: Send) -> Send:
    """Add to everything that leaves what a browser must know about it."""

    async def guarded(message: Message) -> None:
        if message["type"] in ("http.response.start", "websocket.http.response.start"):
            headers = MutableHeaders(scope=message)
            for name, value in SECURITY_HEADERS.items():
                headers[name] = value
            headers.setdefault("Cache-Control", "no-store")
        if message["type"] == "websocket.accept" and scope.get(TICKETED):
            message = {**message, "subprotocol": signatures.PROTOCOL}  # of what was offered, one has to be chosen
        await send(message)

    return guarded
