"""The app: the table of routes, the feed and the page, behind the gate.

Rule: everything is wired here and nothing is decided; what an app may do differs only by `local`, which is set
for the user's own Unix socket and never for a network.
"""

from __future__ import annotations

import asyncio
import gzip
from collections.abc import Awaitable, Callable
from functools import cache
from pathlib import Path

from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route as StarletteRoute
from starlette.routing import WebSocketRoute
from starlette.types import ASGIApp
from starlette.websockets import WebSocket

from yourcall.model.people import AnswerPolicy
from yourcall.server import gestures, peers
from yourcall.server.api.conversation import find_run
from yourcall.server.auth import CALLER, Caller, Gate, Refusal, json_response, not_allowed, refuse
from yourcall.server.contracts.interactive import feed
from yourcall.server.contracts.interactive.convert import Responses
from yourcall.server.contracts.rpc.connection import Tools
from yourcall.server.contracts.rpc.socket import rpc
from yourcall.server.devices import Devices
from yourcall.server.fleet.forward import forward, seen_by
from yourcall.server.fleet.port import FleetDoor
from yourcall.server.live import live
from yourcall.server.ports import (
    Changes,
    Conversations,
    ConversationSearch,
    GitActions,
    Lockdown,
    Mirror,
    Notifications,
    Orders,
    Prompts,
    Reviews,
    RuleChanges,
    ScriptQuestions,
    Search,
    Sender,
    Starting,
    Ties,
    Uploads,
)
from yourcall.server.route import Call, Route
from yourcall.server.routes import INTERACTIVE, LIVE, ROUTES, RPC, RPC_TOO
from yourcall.server.scopes import Scope
from yourcall.server.step_up import StepUp
from yourcall.server.views import LARGE

# A reply that fits in one packet is not made smaller.
SMALLEST_PACKED = 1400

# The app as tools/build_app.py makes it.
BUILT = Path(__file__).parent / "assets" / "app"
UNBUILT = "The phone app isn't built. In yourcall's source folder, run `make web`, then start yourcall again.\n"

# Said by us: the machine's own table knows some of these, or none.
KINDS = {
    ".css": "text/css",
    ".html": "text/html",
    ".js": "text/javascript",
    ".png": "image/png",
    ".svg": "image/svg+xml",
    ".txt": "text/plain",
    ".webmanifest": "application/manifest+json",
}


Endpoint = Callable[[Request], Awaitable[Response]]


def _nothing() -> None:
    """An app that was not told how to stop the program does not stop it."""


def make_app(
    desk: Prompts,
    devices: Devices,
    hosts: Callable[[], frozenset[str]],
    *,
    local: bool,
    stop: Callable[[], None] = _nothing,
    conversations: Conversations | None = None,
    voice: Sender | None = None,
    starting: Starting | None = None,
    told: Notifications | None = None,
    asks: ScriptQuestions | None = None,
    mirror: Mirror | None = None,
    uploads: Uploads | None = None,
    rules: RuleChanges | None = None,
    rpc_tools: Tools | None = None,
    ties: Ties | None = None,
    changes: Changes | None = None,
    search: Search | None = None,
    talk_search: ConversationSearch | None = None,
    lockdown: Lockdown | None = None,
    orders: Orders | None = None,
    step_up: StepUp | None = None,
    policy: Callable[[], AnswerPolicy] = AnswerPolicy,
    fleet: FleetDoor | None = None,
    inside: bool = False,
    reviews: Reviews | None = None,
    git: GitActions | None = None,
) -> ASGIApp:
    """`devices` must be the same object for both apps: a code is made on one and used on the other. `inside`:
    without the gate, for requests whose caller was verified already."""

    def endpoint(route: Route) -> Endpoint:
        async def run(request: Request) -> Response:
            no = _not_allowed(route, request) or _locked_out(lockdown, request.scope[CALLER], route)
            if no is not None:
                return no.response()
            given = (conversations, voice, starting, told, asks, mirror, uploads, rules, ties, changes, search)
            gesture = await gestures.brought(step_up, request)
            if isinstance(gesture, Refusal):
                return gesture.response()
            there = seen_by(fleet, devices, request.scope[CALLER])
            more = (talk_search, lockdown, orders, step_up, gesture, there, fleet, reviews, git)
            call = Call(desk, devices, stop, request, *given, *more)
            done = await forward(call, route) if there is not None else None
            done = done or await peers.refusal(ties, call.caller, route.method, route.path)
            done = done or await _steered(call, route)
            done = done or await gestures.wanted(step_up, policy(), request, call.caller, route, gesture)
            done = done or await route.run(call)
            if isinstance(done, Refusal):
                return done.response()
            if isinstance(done.value, Response):
                return done.value
            response = json_response(done.status, done.value, done.headers)
            wanted = not local and "gzip" in request.headers.get("accept-encoding", "")
            return await _packed(response) if wanted and len(response.body) > SMALLEST_PACKED else response

        return run

    offered = [route for route in ROUTES if local or route.key != "local"]
    pages = {} if local else page()
    app = Starlette(
        routes=[
            *(StarletteRoute(route.path, endpoint(route), methods=[route.method]) for route in offered),
            *(StarletteRoute(path, serve, methods=["GET"]) for path, serve in pages.items()),
            WebSocketRoute(LIVE, _scoped("read", live(desk, devices, conversations, rules, orders, fleet))),
            WebSocketRoute(INTERACTIVE, _scoped("read", feed.feed(desk, devices, ties), lockdown)),
            *(
                WebSocketRoute(path, _scoped("read", _unlimited(devices, rpc(rpc_tools, devices)), lockdown))
                for path in (RPC, RPC_TOO)
                if rpc_tools is not None
            ),
        ],
        exception_handlers={HTTPException: _no_route, Exception: _our_fault},
    )
    setattr(app.state, feed.BEGUN, Responses())
    # A redirect would repeat whatever address was asked for; a wrong one is simply not there.
    app.router.redirect_slashes = False
    if inside:
        return app
    open_paths = {(route.method, route.path) for route in offered if route.key == "nobody"}
    open_paths |= {("GET", path) for path in pages}
    # On the other two, more can be done than looked: those are for tokens.
    return Gate(app, devices, hosts, frozenset(open_paths), local=local, feeds=frozenset({LIVE}))


async def _packed(response: Response) -> Response:
    """The same reply, compressed: a phone's line is slower than this machine."""
    if len(response.body) > LARGE:
        body = await asyncio.to_thread(gzip.compress, response.body, 5, mtime=0)
    else:
        body = gzip.compress(response.body, 5, mtime=0)
    headers = {name: value for name, value in response.headers.items() if name != "content-length"}
    headers |= {"Content-Encoding": "gzip", "Vary": "Accept-Encoding"}
    return Response(body, response.status_code, headers)


def _not_allowed(route: Route, request: Request) -> Refusal | None:
    caller: Caller = request.scope[CALLER]
    itself = route.own and caller.device_id != "" and request.path_params.get("id") == caller.device_id
    # A row without a scope, by mistake, is one for the owner only.
    return None if route.key == "nobody" or itself else not_allowed(caller, route.scope or "admin")


# Kept apart from a 403: whoever gets it need not ask for a scope.
_LOCKED = Refusal(423, "yourcall is locked. To unlock it, at the machine: yourcall unlock")


def _locked_out(lockdown: Lockdown | None, caller: Caller, route: Route | None = None) -> Refusal | None:
    """While yourcall is locked, the machine's own commands and the kept device may look; nobody else comes in.

    The device is refused by its id here, so it is out before anybody has come to revoke it.
    """
    locked = lockdown.now if lockdown is not None else None
    if locked is None:
        return None
    looks = route is not None and (route.method == "GET" or route.while_locked)
    return None if looks and (caller.via == "socket" or caller.device_id == locked.keep != "") else _LOCKED


def _unlimited(
    devices: Devices, endpoint: Callable[[WebSocket], Awaitable[None]]
) -> Callable[[WebSocket], Awaitable[None]]:
    """Not for persons who are limited to some projects: what is done there is not looked at project by project."""

    async def run(socket: WebSocket) -> None:
        device = devices.by_id(socket.scope[CALLER].device_id)
        if device is not None and devices.is_limited(device):
            no = Refusal(403, "This is for persons who may answer everywhere; use the HTTP API.")
            await refuse(no, socket.scope, socket.receive, socket.send)
            return
        await endpoint(socket)

    return run


async def _steered(call: Call, route: Route) -> Refusal | None:
    """A person steers in their own projects; and who told a session what to do is kept."""
    if route.scope != "steer" or not route.path.startswith("/api/sessions/{id}"):
        return None
    session = find_run(call.desk.store, call.part("id"))
    if isinstance(session, Refusal):
        return None  # the route itself says so
    if call.caller.act is not None:
        return None  # a device of the fleet: the authority said what it may do
    if not call.devices.may_there(call.caller.device_id, session.cwd, "steer"):
        return Refusal(403, f"You may not steer sessions in {session.cwd}. An admin changes that: yourcall people")
    if route.method == "POST":
        await call.devices.note_wish(call.caller.device_id, session.id)
    return None


def _scoped(
    scope: Scope, endpoint: Callable[[WebSocket], Awaitable[None]], lockdown: Lockdown | None = None
) -> Callable[[WebSocket], Awaitable[None]]:
    """`lockdown`: nobody opens it while that is on, for it changes things."""

    async def run(socket: WebSocket) -> None:
        caller: Caller = socket.scope[CALLER]
        no = not_allowed(caller, scope) or _locked_out(lockdown, caller)
        if no is not None:
            await refuse(no, socket.scope, socket.receive, socket.send)
            return
        await endpoint(socket)

    return run


def page(folder: Path = BUILT) -> dict[str, Endpoint]:
    """The app by the paths it is served at; where it was not built, a sentence that says how."""
    return {path: _page(file) for path, file in page_files(folder).items()} or {"/": _unbuilt}


@cache
def page_files(folder: Path = BUILT) -> dict[str, Path]:
    """The files of the app by their paths. Looked up, never joined: no path leads elsewhere."""
    if not (folder / "index.html").is_file():
        return {}
    paths = [file for file in folder.rglob("*") if file.suffix in KINDS]
    files = {f"/{file.relative_to(folder).as_posix()}": file for file in paths}
    return {"/": files.pop("/index.html"), **files}


async def _unbuilt(_request: Request) -> Response:
    return Response(UNBUILT, 503, {"Cache-Control": "no-cache"}, media_type="text/plain")


def _page(file: Path) -> Endpoint:
    # Read now, a few hundred kB in all: an upgrade under a running daemon must not mix two versions of the app.
    packed = file.with_name(f"{file.name}.gz")
    plain, small = file.read_bytes(), packed.read_bytes() if packed.is_file() else None
    # A name with a hash in it never means anything else.
    forever = file.parent == BUILT / "assets"
    headers = {"Cache-Control": "public, max-age=31536000, immutable" if forever else "no-cache"}
    headers["Vary"] = "Accept-Encoding"

    async def serve(request: Request) -> Response:
        if small is not None and "gzip" in request.headers.get("accept-encoding", ""):
            return Response(small, headers={**headers, "Content-Encoding": "gzip"}, media_type=KINDS[file.suffix])
        return Response(plain, headers=headers, media_type=KINDS[file.suffix])

    return serve


async def _no_route(_request: Request, error: Exception) -> Response:
    status = error.status_code if isinstance(error, HTTPException) else 500
    headers = dict(error.headers or {}) if isinstance(error, HTTPException) else {}
    match status:
        case 404:
            return Refusal(404, "There is nothing here. What there is: GET /api/openapi.json").response()
        case 405:
            return Refusal(405, f"This takes only: {headers.get('Allow', '')}", headers).response()
        case _:
            return Refusal(status, "This request cannot be read.", headers).response()


async def _our_fault(_request: Request, _error: Exception) -> Response:
    # Starlette raises the error again once this is sent, and the server logs it; the client learns nothing of it.
    return Refusal(500, "yourcall could not do this; its log says why (yourcall doctor shows where).").response()
