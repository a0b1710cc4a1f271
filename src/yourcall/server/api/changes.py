"""What a session changed, over HTTP: the files, one file's change, comments on its lines, and what git is to do.

Rule: the list is the same for everybody who may read, and git is only looked at for it. What changes something is
a prompt, or an instruction, like any other.
"""

from __future__ import annotations

from yourcall.core import line_comments
from yourcall.model.changes import Against
from yourcall.model.prompts import Refused
from yourcall.server.api.conversation import find_run, find_session
from yourcall.server.api.queue import queue_view
from yourcall.server.auth import Refusal
from yourcall.server.peers import author_of
from yourcall.server.route import Call, Reply, body
from yourcall.server.views import story
from yourcall.server.wire import CommentsRequest, GitRequest

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
    changes = await call.changes.files(session, against)
    return Refusal(409, changes.reason) if isinstance(changes, Refused) else Reply(changes)


async def show_file(call: Call) -> Reply | Refusal:
    against = _against(call)
    if isinstance(against, Refusal):
        return against
    session = find_session(call.desk.store, call.part("id"))
    if isinstance(session, Refusal):
        return session
    if call.changes is None:
        return Refusal(404, "Changes are not looked up here.")
    patch = await call.changes.patch(session, against or "head", call.part("file"))
    return Refusal(404, patch.reason) if isinstance(patch, Refused) else Reply(patch)


async def ask_git(call: Call) -> Reply | Refusal:
    """A prompt for it, answered like any other."""
    asked = await body(call.request, GitRequest)
    if isinstance(asked, Refusal):
        return asked
    session = find_session(call.desk.store, call.part("id"))
    if isinstance(session, Refusal):
        return session
    if call.git is None:
        return Refusal(404, "Nothing is done with git here.")
    done = await call.git.ask(
        session, asked.action, call.caller.by, files=asked.files, message=asked.message, branch=asked.branch
    )
    if isinstance(done, Refused):
        return Refusal(422, done.reason)
    await call.devices.note_wish(call.caller.device_id, done.session_id)
    return Reply(story(done, call.desk.store), 201)


async def comment(call: Call) -> Reply | Refusal:
    """Comments on lines, as the next instruction."""
    asked = await body(call.request, CommentsRequest)
    if isinstance(asked, Refusal):
        return asked
    session = find_run(call.desk.store, call.part("id"))
    if isinstance(session, Refusal):
        return session
    if call.orders is None:
        return Refusal(404, "There are no queues here.")
    author = await author_of(call.ties, call.caller, "steer sessions")
    if isinstance(author, Refused):
        return Refusal(403, author.reason)
    text = line_comments.instruction(
        [line_comments.Comment(each.path, each.line, each.text, each.code, each.old) for each in asked.comments]
    )
    caller = call.caller
    done = await call.orders.add(
        session, text, caller.by, caller.via, device=caller.device_id, certainty=author.certainty
    )
    return Refusal(422, done.reason) if isinstance(done, Refused) else Reply(queue_view(call.orders, done), 201)


def _against(call: Call) -> Against | Refusal | None:
    given = call.request.query_params.get("against", "")
    if given and given not in _AGAINST:
        return Refusal(400, f"`against` must be one of: {', '.join(_AGAINST)}.")
    return given or None
