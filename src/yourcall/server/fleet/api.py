"""The fleet over HTTP: who is in it, and what is done about that at a desk.

Rule: whatever changes who belongs exists on the user's own socket only, and needs the authority on this
machine."""

from __future__ import annotations

from starlette.responses import PlainTextResponse

from yourcall.model.prompts import Refused
from yourcall.server.auth import Refusal
from yourcall.server.fleet.port import Fleet
from yourcall.server.fleet.wire import AllowRequest, FleetView, InviteRequest, LeftView
from yourcall.server.route import Call, Reply, body
from yourcall.server.wire import DeviceRequest, Done

_NONE = Refusal(409, "This machine is in no fleet. Make one with `yourcall fleet create`, or join one.")


def _fleet(call: Call) -> Fleet | Refusal:
    return call.fleet if call.fleet is not None else _NONE


async def show_fleet(call: Call) -> Reply | Refusal:
    if call.fleet is None:
        return Reply(FleetView(""))
    device = call.devices.by_id(call.caller.device_id) if call.caller.device_id else None
    return Reply(await call.fleet.view(device.public_key if device is not None else ""))


async def list_hosts(call: Call) -> Reply | Refusal:
    return Reply(list(await call.fleet.hosts()) if call.fleet is not None else [])


async def begin_fleet(call: Call) -> Reply | Refusal:
    wrong = await call.fleet_door.begin() if call.fleet_door is not None else Refused("There is no fleet here.")
    return Refusal(422, wrong.reason) if wrong is not None else Reply(Done())


async def leave_fleet(call: Call) -> Reply | Refusal:
    return Reply(LeftView(await call.fleet_door.end() if call.fleet_door is not None else False))


async def invite_host(call: Call) -> Reply | Refusal:
    asked = await body(call.request, InviteRequest)
    fleet = _fleet(call)
    if isinstance(asked, Refusal) or isinstance(fleet, Refusal):
        return asked if isinstance(asked, Refusal) else _NONE
    made = fleet.invite(asked.roles)
    return Refusal(422, made.reason) if isinstance(made, Refused) else Reply(made, 201)


async def rename_host(call: Call) -> Reply | Refusal:
    asked = await body(call.request, DeviceRequest)
    fleet = _fleet(call)
    if isinstance(asked, Refusal) or isinstance(fleet, Refusal):
        return asked if isinstance(asked, Refusal) else _NONE
    return _done(await fleet.rename(call.part("id"), asked.name))


async def remove_host(call: Call) -> Reply | Refusal:
    fleet = _fleet(call)
    return fleet if isinstance(fleet, Refusal) else _done(await fleet.remove(call.part("id")))


async def fleet_devices(call: Call) -> Reply | Refusal:
    fleet = _fleet(call)
    return fleet if isinstance(fleet, Refusal) else Reply(list(fleet.devices()))


async def allow_device(call: Call) -> Reply | Refusal:
    asked = await body(call.request, AllowRequest)
    fleet = _fleet(call)
    if isinstance(asked, Refusal) or isinstance(fleet, Refusal):
        return asked if isinstance(asked, Refusal) else _NONE
    made = await fleet.allow(asked.device)
    return Refusal(422, made.reason) if isinstance(made, Refused) else Reply(made, 201)


async def disallow_device(call: Call) -> Reply | Refusal:
    fleet = _fleet(call)
    return fleet if isinstance(fleet, Refusal) else _done(await fleet.disallow(call.part("id")))


async def show_metrics(call: Call) -> Reply | Refusal:
    return Reply(PlainTextResponse(call.fleet.metrics() if call.fleet is not None else ""))


def _done(wrong: Refused | None) -> Reply | Refusal:
    return Refusal(422, wrong.reason) if wrong is not None else Reply(Done())
