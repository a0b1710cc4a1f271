"""The record over HTTP: who changed which setting, and the links of the chain that seals all of it."""

from __future__ import annotations

from starlette.requests import Request

from yourcall.server.auth import Refusal
from yourcall.server.route import Call, Reply, rows
from yourcall.server.views import head_view
from yourcall.server.wire import SettingsLine


async def settings_log(call: Call) -> Reply | Refusal:
    limit, before = rows(call.request, 50), _whole(call.request, "before_number")
    if isinstance(limit, Refusal):
        return limit
    if isinstance(before, Refusal):
        return before
    return Reply(
        [
            SettingsLine(number, each.at, each.area, each.what, each.about, each.by, each.detail)
            for number, each in call.desk.store.settings_log(before, limit)
        ]
    )


async def head(call: Call) -> Reply | Refusal:
    """With `place`, the link there; what a device noted must be it."""
    place = _whole(call.request, "place")
    if isinstance(place, Refusal):
        return place
    store = call.desk.store
    found = head_view(store.head() if place is None else store.head_at(place))
    return Reply(found) if found is not None else Refusal(404, "The record does not go that far.")


def _whole(request: Request, name: str) -> int | Refusal | None:
    said = request.query_params.get(name)
    if said is None:
        return None
    # SQLite counts to 2**63; eighteen digits stay below it.
    if said.isascii() and said.isdecimal() and len(said) <= 18:
        return int(said)
    return Refusal(400, f"`{name}` must be a whole number.")
