"""A session's own terminal over HTTP, as it looks now; with `seen`, as soon as it looks different.

Rule: only to be looked at. Keys have their own way, which looks before it presses; a revoked device sees no more.
"""

from __future__ import annotations

import asyncio

from yourcall.model.prompts import Refused
from yourcall.server.api.conversation import find_run
from yourcall.server.auth import Refusal
from yourcall.server.route import Call, Reply
from yourcall.server.wire import ScreenView

# Shorter than any proxy's patience; the app asks again at once.
PATIENCE_S = 20.0


async def screen(call: Call) -> Reply | Refusal:
    session = find_run(call.desk.store, call.part("id"))
    if isinstance(session, Refusal):
        return session
    if call.mirror is None or session.state == "ended":
        return Refusal(404, "There is no terminal to look at: this session is over, or runs without one.")
    seen = call.request.query_params.get("seen", "")[:100]
    with call.devices.present(call.caller.device_id) as cut:
        looking = asyncio.ensure_future(call.mirror.frame(session, seen, PATIENCE_S))
        revoked = asyncio.ensure_future(cut.wait())
        try:
            await asyncio.wait({looking, revoked}, return_when=asyncio.FIRST_COMPLETED)
            if cut.is_set() and not call.devices.revoked(call.caller.device_id):
                return Refusal(409, "What this device may do has changed. Ask again.")
            if not looking.done() or cut.is_set():
                return Refusal(401, "This device was revoked.")
            frame = looking.result()
        finally:
            looking.cancel()
            revoked.cancel()
            await asyncio.gather(looking, revoked, return_exceptions=True)
    if isinstance(frame, Refused):
        return Refusal(404, frame.reason)
    return Reply(ScreenView(frame.tag, frame.columns, frame.rows, frame.screen, frame.cursor_x, frame.cursor_y))
