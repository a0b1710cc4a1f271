"""The routes of the fleet: a part of the table in `server/routes.py`."""

from __future__ import annotations

from yourcall.server.fleet import api
from yourcall.server.fleet.wire import (
    AllowRequest,
    FleetDevice,
    FleetView,
    HostView,
    InvitationView,
    InviteRequest,
    LeftView,
)
from yourcall.server.route import Route
from yourcall.server.wire import DeviceRequest, Done

FLEET_ROUTES: tuple[Route, ...] = (
    Route(
        "GET",
        "/api/fleet",
        api.show_fleet,
        "The fleet that this machine is in, its machines, and whether NATS is reached.",
        {200: FleetView},
        scope="read",
    ),
    Route(
        "GET",
        "/api/hosts",
        api.list_hosts,
        "The machines of the fleet; each is asked now whether it is there. Empty where there is no fleet.",
        {200: list[HostView]},
        scope="read",
    ),
    Route(
        "POST",
        "/api/hosts/{id}",
        api.rename_host,
        "Give a machine another name. Needs the authority here. 422: refused, and why.",
        {200: Done},
        takes=DeviceRequest,
        refuses=(400, 409, 413, 422),
        key="local",
        scope="admin",
    ),
    Route(
        "DELETE",
        "/api/hosts/{id}",
        api.remove_host,
        "Remove a machine from the fleet, by its id or name: at once, and for those that are away as soon as they "
        "come back. Needs the authority here.",
        {200: Done},
        refuses=(409, 422),
        key="local",
        scope="admin",
    ),
    Route(
        "POST",
        "/api/fleet",
        api.begin_fleet,
        "Read anew which fleet this machine is in: after `fleet create` or `fleet join`.",
        {200: Done},
        refuses=(422,),
        key="local",
        scope="admin",
    ),
    Route(
        "DELETE",
        "/api/fleet",
        api.leave_fleet,
        "Leave the fleet: this machine is alone from now on.",
        {200: LeftView},
        key="local",
        scope="admin",
    ),
    Route(
        "POST",
        "/api/fleet/invitations",
        api.invite_host,
        "A code that lets one machine in, once and within five minutes. 422: refused, and why.",
        {201: InvitationView},
        takes=InviteRequest,
        refuses=(400, 409, 413, 422),
        key="local",
        scope="admin",
    ),
    Route(
        "GET",
        "/api/fleet/devices",
        api.fleet_devices,
        "The devices that may sign for the fleet, and those that are paired here and may not.",
        {200: list[FleetDevice]},
        refuses=(409,),
        key="local",
        scope="admin",
    ),
    Route(
        "POST",
        "/api/fleet/devices",
        api.allow_device,
        "Let a device that is paired here sign for the fleet. Needs the authority here.",
        {201: FleetDevice},
        takes=AllowRequest,
        refuses=(400, 409, 413, 422),
        key="local",
        scope="admin",
    ),
    Route(
        "DELETE",
        "/api/fleet/devices/{id}",
        api.disallow_device,
        "A device signs no more for the fleet.",
        {200: Done},
        refuses=(409, 422),
        key="local",
        scope="admin",
    ),
)
