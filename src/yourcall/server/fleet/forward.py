"""Passes a request on to the machine that it is about: by the prompt or session that its address names, or by
`host`.

Rule: what only looks is asked by this hub; all else goes on only with a device's signature, which the other
machine verifies. A caller that cannot sign is told so, and nothing is sent."""

from __future__ import annotations

from typing import Any, cast
from urllib.parse import quote, urlencode

import msgspec
from msgspec import Raw
from starlette.requests import Request

from yourcall.model.prompts import Refused
from yourcall.server.auth import Caller, Refusal
from yourcall.server.devices import Devices
from yourcall.server.fleet.port import Fleet, FleetDoor, Found, Kind, Remote
from yourcall.server.fleet.wire import HostRef
from yourcall.server.peers import author_of
from yourcall.server.route import LARGEST_BODY, Call, Reply, Route

# In the request of a browser: who signs, and what (see `web/src/lib/acts.ts`).
HEADER = "Yourcall-Act"
RUN_HEADER, TIME_HEADER = "Yourcall-Act-Run", "Yourcall-Act-Time"

# What another machine does or shows; the rest (devices, channels, pairing, shutting down) is for its own desk.
_THERE = (
    "/api/prompts", "/api/sessions", "/api/startable", "/api/rules", "/api/pause", "/api/resume", "/api/search",
    "/api/stats", "/api/log", "/api/status", "/api/uploads",
)  # fmt: skip

NOT_LET_IN = (
    "This device is not let in to the fleet yet. On the machine with its authority, run:"
    " yourcall fleet devices allow"
)
_LISTS = ("/api/prompts", "/api/sessions")

NOT_SIGNED = (
    "This is for another machine, which does only what a device has signed. Use the phone app, or a machine of the"
    " fleet that may answer."
)


def goes_there(route: Route) -> bool:
    """May this route be asked of another machine at all?"""
    return route.key == "device" and any(
        route.path == start or route.path.startswith((f"{start}/", f"{start}?")) for start in _THERE
    )


def only_looks(route: Route) -> bool:
    return route.scope == "read"


def seen_by(door: FleetDoor | None, devices: Devices, caller: Caller) -> Fleet | None:
    """The fleet as this caller sees it: a person who is limited to some projects sees this machine only."""
    device = devices.by_id(caller.device_id) if door is not None and caller.device_id else None
    if door is None or (device is not None and devices.is_limited(device)):
        return None
    return door.now


async def forward(call: Call, route: Route) -> Reply | Refusal | None:
    """The reply of another machine; None: it is about this one."""
    fleet = call.fleet
    if fleet is None or not goes_there(route):
        return None
    found = _where(fleet, call, route)
    if found is None or isinstance(found, Refusal):
        return found
    host = fleet.ref(found.host)
    if host is None:
        return Refusal(404, "There is no such machine in the fleet. See: yourcall hosts")
    if only_looks(route):
        return await _looked(fleet, call, route, found, host)
    return await _acted(fleet, call, route, found, host)


def _where(fleet: Fleet, call: Call, route: Route) -> Found | Refusal | None:
    named = call.request.query_params.get("host", "")
    host = fleet.host(named) if named else ""
    if isinstance(host, Refused):
        return Refusal(404, host.reason)
    if named and host == fleet.me.id:
        return None
    if route.method == "GET" and route.path in _LISTS and not {"all", "ended"} & call.request.query_params.keys():
        return None  # the rows of all machines are here
    kind: Kind | None = (
        "prompts" if route.path.startswith("/api/prompts/") else
        "sessions" if route.path.startswith("/api/sessions/") else None
    )  # fmt: skip
    if kind is None or "id" not in call.request.path_params:
        return Found(host, "") if host else None
    name = call.part("id")
    rows = call.desk.store
    own = rows.prompt(name) if kind == "prompts" else rows.session(name)
    if own is not None and not host:
        return None
    found = [each for each in fleet.find(kind, name) if not host or each.host == host]
    if not found:
        return Found(host, name) if host else None
    if not host and (len(found) > 1 or (found[0].id != name and _begins_here(call, kind, name))):
        ids = ", ".join(dict.fromkeys(each.id for each in found[:5]))
        return Refusal(404, f"Several {kind} start with {name[:40]!r}; give more letters, or its machine: {ids}")
    return found[0]


def _begins_here(call: Call, kind: Kind, name: str) -> bool:
    rows = call.desk.store
    if kind == "prompts":
        return bool(rows.matching(name))
    return any(each.id.startswith(name) for each in rows.live()[1])


async def _looked(fleet: Fleet, call: Call, route: Route, found: Found, host: HostRef) -> Reply | Refusal:
    body = await _body(call.request)
    if isinstance(body, Refusal):
        return body
    told = await fleet.look(found.host, _target(call.request, route, found), route.method, body)
    if told.away and found.id and route.path in ("/api/prompts/{id}", "/api/sessions/{id}"):
        known = await fleet.last_known("prompts", found.host, found.id)
        if known is not None:
            return Reply(known)
    return _reply(told, host, route)


async def _acted(fleet: Fleet, call: Call, route: Route, found: Found, host: HostRef) -> Reply | Refusal:
    body = await _body(call.request)
    if isinstance(body, Refusal):
        return body
    header, caller = call.request.headers.get(HEADER, ""), call.caller
    if caller.via == "socket" and not caller.device_id:
        author = await author_of(call.ties, caller, "do anything on another machine")
        if isinstance(author, Refused):
            return Refusal(403, f"{author.reason}.", {"Connection": "close"})
        if author.supervisor:
            return Refusal(403, "A supervisor agent answers on its own machine only.")
        prompt = found.id if route.path.startswith("/api/prompts/") else ""
        target = _target(call.request, route, found)
        told = await fleet.desk(found.host, target, route.method, body, prompt)
    elif header and caller.signed:
        device = call.devices.by_id(caller.device_id)
        key = device.public_key if device is not None else ""
        told = await fleet.signed(found.host, _as_sent(call.request), route.method, body, header, key)
    else:
        return Refusal(403, NOT_LET_IN if caller.signed else NOT_SIGNED)
    if isinstance(told, Refused):
        return Refusal(403, told.reason)
    return _reply(told, host, route)


def _as_sent(request: Request) -> str:
    """The address letter by letter: that is what was signed."""
    query: bytes = request.scope.get("query_string", b"")
    return (request.scope["raw_path"] + (b"?" + query if query else b"")).decode("latin-1")


def _target(request: Request, route: Route, found: Found) -> str:
    """The address with the whole id, and without the machine's name."""
    parts = [
        quote(found.id if name == "{id}" else request.path_params[name[1:-1]], safe="")
        if name[:1] == "{"
        else name
        for name in route.path.split("/")
    ]
    rest = [(name, value) for name, value in request.query_params.multi_items() if name != "host"]
    return "/".join(parts) + (f"?{urlencode(rest)}" if rest else "")


async def _body(request: Request) -> bytes | Refusal:
    data = bytearray()
    async for chunk in request.stream():
        data += chunk
        if len(data) > LARGEST_BODY:
            words = f"At most {LARGEST_BODY:,} bytes go to another machine."
            return Refusal(413, words, {"Connection": "close"})
    return bytes(data)


def _reply(told: Remote, host: HostRef, route: Route) -> Reply | Refusal:
    if told.stale is not None:
        run, now = told.stale
        return Refusal(403, _words(told.body), {RUN_HEADER: run, TIME_HEADER: str(now)})
    if told.away or told.doubt:
        result, words = ("unsure", told.doubt) if told.doubt else ("bounced", told.away)
        if route.path == "/api/prompts/{id}/answer":
            return Reply({"result": result, "detail": words, "by": "", "at": 0.0, "prompt": None}, 409)
        if route.path.startswith("/api/sessions/{id}/") and not only_looks(route):
            word = "refused" if told.away else "unsure"
            return Reply({"result": word, "detail": words}, 422 if told.away else 409)
        return Refusal(503, f"{words}")
    try:
        value = msgspec.json.decode(told.body)
    except ValueError:
        return Refusal(502, f"{host.name} replied something that is not JSON.")
    return Reply(Raw(told.body) if not _place(value, host) else value, told.status)


def _words(body: bytes) -> str:
    try:
        said = msgspec.json.decode(body)
    except ValueError:
        return "It has to be signed again."
    return str(cast("dict[str, Any]", said).get("error", "")) if isinstance(said, dict) else ""


def _place(value: object, host: HostRef) -> bool:
    """Say of a prompt or a session whose it is; True if there was one."""
    if not isinstance(value, dict):
        return False
    found = cast("dict[str, Any]", value)
    inner: object = found.get("prompt")
    if isinstance(inner, dict):
        return _place(cast("dict[str, object]", inner), host)
    if ("questions" in found or "links" in found) and "id" in found:
        found["host"], found["machine"] = msgspec.to_builtins(host), host.name
        return True
    return False
