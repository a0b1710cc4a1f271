"""What a session changed, over HTTP: the files, and one file's change.

Rule: the same for everybody who may read; git is only looked at.
"""

from __future__ import annotations

from yourcall.model.changes import Against
from yourcall.model.prompts import Refused
from yourcall.server.api.conversation import find_session
from yourcall.server.auth import Refusal
from yourcall.server.route import Call, Reply

_AGAINST = ("start", "head", "record")


async def list_files(call: Call) -> Reply | Refusal:
    against = _against(call)
    if isinstance(against, Refusal):
        return against
    session = find_session(call.desk.store, call.part("id"))
    if isinstance(session, Refusal):
        return session
    if call.changes is None:
        return Refusal(404, "Changes are not looked up here.")
    found = await call.changes.files(session, against)
    return Refusal(409, found.reason) if isinstance(found, Refused) else Reply(found)


async def show_file(call: Call) -> Reply | Refusal:
    against = _against(call)
    if isinstance(against, Refusal):
        return against
    session = find_session(call.desk.store, call.part("id"))
    if isinstance(session, Refusal):
        return session
    if call.changes is None:
        return Refusal(404, "Changes are not looked up here.")
    found = await call.changes.patch(session, against or "head", call.part("file"))
    return Refusal(404, found.reason) if isinstance(found, Refused) else Reply(found)


def _against(call: Call) -> Against | Refusal | None:
    given = call.request.query_params.get("against", "")
    if given and given not in _AGAINST:
        return Refusal(400, f"`against` must be one of: {', '.join(_AGAINST)}.")
    return given or None
