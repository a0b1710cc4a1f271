"""Pairing, devices and shutting down over HTTP.

Rule: a token leaves us once, in the reply that made it; a code is only ever made at the user's own machine.
"""

from __future__ import annotations

from starlette.requests import cookie_parser

from yourcall.model.prompts import Refused
from yourcall.server.auth import COOKIE, Refusal
from yourcall.server.pairing import Slow, Wrong
from yourcall.server.peers import author_of
from yourcall.server.ports import Device
from yourcall.server.route import Call, Reply, body
from yourcall.server.scopes import FOR_PHONE, Scope, in_order
from yourcall.server.signatures import TICKET_S, read_key
from yourcall.server.wire import (
    DeviceRequest,
    DeviceView,
    Done,
    NewDevice,
    NewDeviceRequest,
    PairingCode,
    PairRequest,
    ScopesRequest,
    Ticket,
)

NO_KEY = (
    "A browser pairs with a key of its own, which it only makes on a page that came by https:// or from this very "
    "machine (http://127.0.0.1). How to get there: docs/how-to/reach-it-from-the-phone.md"
)

# Who pairs is nobody yet; the code was made at the user's own machine.
WITH_CODE = "a pairing code"

_DONE_WITHOUT_US = {
    "pause": "pause rules",
    "resume": "let rules decide again",
    "lock": "lock yourcall",
    "unlock": "unlock yourcall",
    "stop": "stop yourcall",
    "channels": "change how people are notified",
    "rules": "change rules",
    "reach": "change how phones reach this machine",
    "fleet": "change the fleet",
}


async def pair(call: Call) -> Reply | Refusal:
    asked = await body(call.request, PairRequest)
    if isinstance(asked, Refusal):
        return asked
    if asked.key and read_key(asked.key) is None:
        return Refusal(400, "The browser's key cannot be read: a P-256 point of 65 bytes, in base64url.")
    if not asked.key and "origin" in call.request.headers:
        # A token in a page's hands would be what the cookie was.
        return Refusal(400, NO_KEY)
    match call.devices.pairing.use(asked.code, _peer(call)):
        case Slow(seconds=seconds):
            wait = {"Retry-After": str(seconds)}
            return Refusal(429, f"Too many attempts. Try again in {seconds} seconds.", wait)
        case Wrong(reason=reason):
            return Refusal(403, reason)
        case None:
            pass
    if asked.key:
        device, token = await call.devices.add_browser(asked.name, FOR_PHONE, asked.key, by=WITH_CODE), ""
    else:
        device, token = await call.devices.add(asked.name, FOR_PHONE, by=WITH_CODE, what="paired")
    return Reply(_new(call, device, token), 201, await _without_cookie(call))


async def _without_cookie(call: Call) -> dict[str, str]:
    """A browser that was paired by a cookie is another device now: the old one goes, and so does the cookie."""
    said = cookie_parser(call.request.headers.get("cookie", ""))
    if COOKIE not in said:
        return {}
    old = call.devices.known(said[COOKIE])
    if old is not None:
        await call.devices.revoke(old.id, "yourcall")
    return {"Set-Cookie": f"{COOKIE}=; Path=/; Max-Age=0; HttpOnly; SameSite=Strict"}


async def ticket(call: Call) -> Reply | Refusal:
    if call.devices.browser(call.caller.device_id) is None:
        return Refusal(422, "Only a paired browser needs a ticket; a token opens the feed by itself.")
    return Reply(Ticket(call.devices.tickets.new(call.caller.device_id), TICKET_S), 201)


async def list_devices(call: Call) -> Reply | Refusal:
    return Reply([view(device, call) for device in call.devices.all()])


async def add_device(call: Call) -> Reply | Refusal:
    asked = await body(call.request, NewDeviceRequest)
    if isinstance(asked, Refusal):
        return asked
    device, token = await call.devices.add(asked.name, asked.scopes, by=call.caller.author)
    return Reply(_new(call, device, token), 201)


async def scope_device(call: Call) -> Reply | Refusal:
    asked = await body(call.request, ScopesRequest)
    if isinstance(asked, Refusal):
        return asked
    if not await call.devices.scope(call.part("id"), asked.scopes, call.caller.author):
        return Refusal(404, "There is no such device, or it is revoked. See: yourcall devices")
    found = next(device for device in call.devices.all() if device.id == call.part("id"))
    return Reply(view(found, call))


async def rename_device(call: Call) -> Reply | Refusal:
    asked = await body(call.request, DeviceRequest)
    if isinstance(asked, Refusal):
        return asked
    if await call.devices.rename(call.part("id"), asked.name, call.caller.author) is None:
        return Refusal(404, "There is no such device, or it is revoked. See: yourcall devices")
    found = next(device for device in call.devices.all() if device.id == call.part("id"))
    return Reply(view(found, call))


async def revoke_device(call: Call) -> Reply | Refusal:
    if await call.devices.revoke(call.part("id"), call.caller.author):
        return Reply(Done())
    return Refusal(404, "There is no such device, or it is revoked already. See: yourcall devices")


async def new_code(call: Call) -> Reply | Refusal:
    code = call.devices.pairing.new()
    return Reply(PairingCode(code.text, code.expires_at), 201)


async def may(call: Call) -> Reply | Refusal:
    """For commands that work on files, and so without us: an agent that runs one is told no all the same."""
    what = _DONE_WITHOUT_US.get(call.part("what"))
    if what is None:
        return Refusal(404, f"This is one of: {', '.join(_DONE_WITHOUT_US)}.")
    author = await author_of(call.ties, call.caller, what)
    return Refusal(403, f"{author.reason}.") if isinstance(author, Refused) else Reply(Done())


async def shut_down(call: Call) -> Reply | Refusal:
    call.stop()
    return Reply(Done(), 202)


def _new(call: Call, device: Device, token: str) -> NewDevice:
    signatures = call.devices.signatures
    return NewDevice(device.id, device.name, token, _scopes(device), signatures.run, signatures.now)


def _scopes(device: Device) -> tuple[Scope, ...]:
    return in_order(device.scopes.split(","))


def _peer(call: Call) -> str:
    client = call.request.client
    return client.host if client is not None else ""


def view(device: Device, call: Call) -> DeviceView:
    return DeviceView(
        id=device.id,
        name=device.name,
        created_at=device.created_at,
        seen_at=device.seen_at,
        revoked_at=device.revoked_at,
        current=device.id == call.caller.device_id,
        scopes=_scopes(device),
        key="browser" if device.public_key else "void" if device.void else "token",
        passkeys=device.id == call.caller.device_id and call.step_up is not None and bool(call.step_up.passkeys()),
    )
