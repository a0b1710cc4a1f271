"""Pairing, devices and shutting down over HTTP.

Rule: a token leaves us once, in the reply that made it; a code is only ever made at the user's own machine.
"""

from __future__ import annotations

from yourcall.server.auth import COOKIE, Refusal
from yourcall.server.needs import Device
from yourcall.server.pairing import Slow, Wrong
from yourcall.server.route import Call, Reply, body
from yourcall.server.wire import DeviceRequest, DeviceView, Done, NewDevice, PairingCode, PairRequest

ONE_YEAR = 365 * 24 * 3600


async def pair(call: Call) -> Reply | Refusal:
    asked = await body(call.request, PairRequest)
    if isinstance(asked, Refusal):
        return asked
    match call.devices.pairing.use(asked.code):
        case Slow(seconds=seconds):
            wait = {"Retry-After": str(seconds)}
            return Refusal(429, f"Too many attempts. Try again in {seconds} seconds.", wait)
        case Wrong(reason=reason):
            return Refusal(403, reason)
        case None:
            device, token = await call.devices.add(asked.name)
    cookie = f"{COOKIE}={token}; Path=/; Max-Age={ONE_YEAR}; HttpOnly; SameSite=Strict"
    # The gate has checked that this page is ours; behind a proxy only the page knows that it came by https.
    if call.request.headers.get("origin", call.request.url.scheme).startswith("https"):
        cookie += "; Secure"
    return Reply(NewDevice(device.id, device.name, token), 201, {"Set-Cookie": cookie})


async def list_devices(call: Call) -> Reply | Refusal:
    return Reply([_view(device, call) for device in call.devices.all()])


async def add_device(call: Call) -> Reply | Refusal:
    asked = await body(call.request, DeviceRequest)
    if isinstance(asked, Refusal):
        return asked
    device, token = await call.devices.add(asked.name)
    return Reply(NewDevice(device.id, device.name, token), 201)


async def rename_device(call: Call) -> Reply | Refusal:
    asked = await body(call.request, DeviceRequest)
    if isinstance(asked, Refusal):
        return asked
    if await call.devices.rename(call.part("id"), asked.name) is None:
        return Refusal(404, "There is no such device, or it is revoked. See: yourcall devices")
    found = next(device for device in call.devices.all() if device.id == call.part("id"))
    return Reply(_view(found, call))


async def revoke_device(call: Call) -> Reply | Refusal:
    if await call.devices.revoke(call.part("id")):
        return Reply(Done())
    return Refusal(404, "There is no such device, or it is revoked already. See: yourcall devices")


async def new_code(call: Call) -> Reply | Refusal:
    code = call.devices.pairing.new()
    return Reply(PairingCode(code.text, code.expires_at), 201)


async def shut_down(call: Call) -> Reply | Refusal:
    call.stop()
    return Reply(Done(), 202)


def _view(device: Device, call: Call) -> DeviceView:
    return DeviceView(
        id=device.id,
        name=device.name,
        created_at=device.created_at,
        seen_at=device.seen_at,
        revoked_at=device.revoked_at,
        current=device.id == call.caller.device_id,
    )
