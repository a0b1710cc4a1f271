"""The gate in front of every route: who comes in, from which page, by which name of ours.

Rule: closed unless said otherwise. A new route, asset or path is behind the gate without anybody thinking of it;
only what is in `open_paths` passes without a key. Refusals say what to do and never what was presented.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from urllib.parse import unquote_plus

import msgspec
from msgspec import Struct
from starlette.datastructures import Headers, MutableHeaders
from starlette.requests import cookie_parser
from starlette.responses import Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from yourcall.server.devices import PREFIX, Devices
from yourcall.server.wire import Problem

COOKIE = "yourcall"

# Where a request's Caller is kept for the routes behind the gate.
CALLER = "yourcall.caller"

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
    """Whoever got through the gate. `device_id` is empty for the user's own command line."""

    by: str
    via: str
    device_id: str = ""


CLI = Caller(by="cli", via="socket")
NOBODY = Caller(by="", via="http")


class Refusal(Struct, frozen=True):
    status: int
    reason: str
    headers: Mapping[str, str] = {}

    def response(self) -> Response:
        return json_response(self.status, Problem(self.reason), self.headers)


def json_response(status: int, value: object, headers: Mapping[str, str] | None = None) -> Response:
    return Response(msgspec.json.encode(value), status, dict(headers or {}), "application/json")


class Gate:
    """`hosts` are the names this server answers to (`127.0.0.1:7788`, `desk.example.net`), in lower case."""

    def __init__(
        self,
        app: ASGIApp,
        devices: Devices,
        hosts: Callable[[], frozenset[str]],
        open_paths: frozenset[tuple[str, str]],
        *,
        local: bool,
    ) -> None:
        self._app = app
        self._devices = devices
        self._hosts = hosts
        self._open = open_paths
        self._local = local

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] not in ("http", "websocket"):
            await self._app(scope, receive, send)
            return
        send = _guarded(scope, send)
        headers = Headers(scope=scope)
        passed = _local_caller(headers) if self._local else self._caller(scope, headers)
        if _token_in_url(scope):
            passed = Refusal(400, "A token does not belong in an address; send it as: Authorization: Bearer TOKEN")
        if isinstance(passed, Refusal):
            await refuse(passed, scope, receive, send)
            return
        scope[CALLER] = passed
        await self._app(scope, receive, send)

    def _caller(self, scope: Scope, headers: Headers) -> Caller | Refusal:
        hosts = self._hosts()
        wrong = _wrong_host(headers, hosts) or _wrong_origin(scope, headers, hosts)
        if wrong is not None:
            return wrong
        reading = scope["type"] == "http" and scope["method"] in _READING
        if scope["type"] == "http" and (("GET" if reading else scope["method"]), scope["path"]) in self._open:
            return NOBODY
        bearer = headers.get("authorization")
        token = _bearer(bearer) if bearer is not None else cookie_parser(headers.get("cookie", "")).get(COOKIE, "")
        device = self._devices.known(token) if token else None
        if device is None:
            asked = {"WWW-Authenticate": "Bearer"}
            return Refusal(401, "Pair this device first, or send: Authorization: Bearer TOKEN", asked)
        if bearer is None and not reading and "origin" not in headers:
            return Refusal(
                403, "A cookie is only taken from our own page; a script sends: Authorization: Bearer TOKEN"
            )
        return Caller(by=device.name, via="http", device_id=device.id)


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
        await send(message)

    return guarded
