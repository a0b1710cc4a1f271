"""The emergency lock over HTTP.

Rule: whoever may pause rules may lock; only at the machine itself is it unlocked.
"""

from __future__ import annotations

import asyncio
import time

from yourcall.server.auth import Refusal
from yourcall.server.ports import Lockdown
from yourcall.server.route import Call, Reply, body, number
from yourcall.server.wire import Done, HappenedView, LockRequest, LockView

DAY_S = 86_400.0
_NONE = Refusal(404, "This yourcall has no lock.")


async def lock(call: Call) -> Reply | Refusal:
    asked = await body(call.request, LockRequest)
    if isinstance(asked, Refusal):
        return asked
    if call.lockdown is None:
        return _NONE
    await call.lockdown.lock(call.caller.author, call.caller.device_id if asked.keep else "")
    return Reply(await _view(call.lockdown, asked.since))


async def show(call: Call) -> Reply | Refusal:
    since = number(call.request, "since")
    if isinstance(since, Refusal):
        return since
    return Reply(await _view(call.lockdown, since)) if call.lockdown is not None else _NONE


async def unlock(call: Call) -> Reply | Refusal:
    if call.lockdown is None:
        return _NONE
    call.lockdown.unlock(call.caller.author)
    return Reply(Done())


async def _view(lockdown: Lockdown, since: float | None) -> LockView:
    locked, since = lockdown.now, time.time() - DAY_S if since is None else since
    lines, whole = await asyncio.to_thread(lockdown.happened, since)
    views = tuple(HappenedView(o.at, o.what, o.about, o.by, o.how, o.prompt_id) for o in lines)
    return LockView(
        locked is not None, locked.at if locked else 0.0, locked.by if locked else "", since, views, whole
    )
