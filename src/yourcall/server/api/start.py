"""Starting sessions over HTTP, and steering those that were started: the next turn, mode, model, stop.

Rule: passes on what was asked, and by whom; what may be asked from afar is decided where sessions are started.
"""

from __future__ import annotations

import secrets
from typing import Literal

from yourcall.agents.session_spec import StartOptions
from yourcall.model.prompts import Answer, Prompt, Refused, Verdict
from yourcall.model.sessions import Session
from yourcall.server.api import send as speaking
from yourcall.server.api.conversation import find_run
from yourcall.server.api.send import said
from yourcall.server.auth import Caller, Refusal
from yourcall.server.peers import author_of
from yourcall.server.ports import Prompts, Sender, Starting
from yourcall.server.route import Call, Reply, body
from yourcall.server.wire import (
    ModelRequest,
    ModeRequest,
    NewSession,
    SendRequest,
    SpeakingView,
    SpokenReply,
    StartableView,
    StartRequest,
)

LINKS = frozenset({"stdio", "socket", "plugin"})  # where words go by a protocol, not by keys

# It was written to the session's own pipe; its echo comes within a second.
TAKEN_S = 5.0
_CANNOT = Refusal(404, "No session can be started from here.")


async def startable(call: Call) -> Reply | Refusal:
    if call.starting is None:
        return _CANNOT
    return Reply([StartableView(agent) for agent in await call.starting.offers()])


async def start_session(call: Call) -> Reply | Refusal:
    asked = await body(call.request, StartRequest)
    if isinstance(asked, Refusal):
        return asked
    if call.starting is None:
        return _CANNOT
    cwd = asked.cwd
    if not cwd and asked.resume:
        before = call.desk.store.session(asked.resume)
        cwd = before.cwd if before else ""
    if not call.devices.may_there(call.caller.device_id, cwd, "steer"):
        return Refusal(403, f"You may not start sessions in {cwd}. An admin changes that: yourcall people")
    options = StartOptions(
        cwd, asked.prompt, asked.permission_mode, asked.model, asked.resume, command=asked.command
    )
    begun = await call.starting.start(asked.agent, options, remote=_remote(call))
    if isinstance(begun, Refused):
        return Reply(SpokenReply("refused", begun.reason), 422)
    await call.devices.note_wish(call.caller.device_id, begun)
    return Reply(NewSession(begun), 201)


async def send(call: Call) -> Reply | Refusal:
    """The next instruction, or a follow-up. In a session of ours it answers what waits, in the giver's name."""
    session = find_run(call.desk.store, call.part("id"))
    if isinstance(session, Refusal):
        return session
    if not any(link.kind in LINKS for link in session.links):
        return await speaking.send(call)
    asked = await body(call.request, SendRequest)
    if isinstance(asked, Refusal):
        return asked
    if call.voice is None:
        return _CANNOT
    author = await author_of(call.ties, call.caller, "steer sessions")
    if isinstance(author, Refused):
        return said(Verdict("refused", author.reason))
    sure = author.certainty
    return said(await give(call.desk, call.voice, call.caller, session, asked.text, asked.as_command, sure))


async def give(
    desk: Prompts,
    voice: Sender,
    caller: Caller,
    session: Session,
    text: str,
    as_command: bool = False,
    certainty: str = "",
) -> Verdict:
    """Tell a session something: what waits for the next instruction is answered by it, in the giver's name."""
    waiting = None if as_command else _waiting(desk, session)
    if waiting is None:
        return await voice.send(session, text, as_command)
    texts = {question.id: text for question in waiting.questions}
    answer = Answer(
        secrets.token_hex(12),
        caller.by,
        caller.via,
        texts=texts,
        device=caller.device_id,
        author_certainty=certainty,
    )
    verdict, _ = await desk.answer(waiting.id, answer, TAKEN_S)
    if verdict.result == "bounced" or (verdict.result, verdict.by) == ("too_late", "agent"):
        # The pause was over (it was cleared, or woke by itself) and nothing was written: said as to one at work.
        return await voice.send(session, text, False)
    return verdict


async def turn(call: Call) -> Reply | Refusal:
    return await send(call)


async def set_mode(call: Call) -> Reply | Refusal:
    asked = await body(call.request, ModeRequest)
    return asked if isinstance(asked, Refusal) else await _change(call, "mode", asked.permission_mode)


async def set_model(call: Call) -> Reply | Refusal:
    asked = await body(call.request, ModelRequest)
    return asked if isinstance(asked, Refusal) else await _change(call, "model", asked.model)


async def _change(call: Call, what: Literal["mode", "model"], value: str) -> Reply | Refusal:
    match = _session(call)
    if isinstance(match, Refusal):
        return match
    starting, session = match
    return said(await starting.change(session, what, value, remote=_remote(call)))


async def stop_session(call: Call) -> Reply | Refusal:
    session = find_run(call.desk.store, call.part("id"))
    if isinstance(session, Refusal):
        return session
    return _CANNOT if call.voice is None else said(await call.voice.stop(session))


async def saying(call: Call) -> Reply | Refusal:
    match = _session(call)
    if isinstance(match, Refusal):
        return match
    now = match[0].speaking(match[1])
    if now is None:
        return said(Verdict("refused", "This session was not started by yourcall: see its conversation."))
    return Reply(SpeakingView(now.text, now.thinking))


def _remote(call: Call) -> bool:
    return bool(call.caller.device_id) or call.caller.via != "socket"


def _session(call: Call) -> tuple[Starting, Session] | Refusal:
    session = find_run(call.desk.store, call.part("id"))
    if isinstance(session, Refusal):
        return session
    return _CANNOT if call.starting is None else (call.starting, session)


def _waiting(desk: Prompts, session: Session) -> Prompt | None:
    """What waits for the next instruction in a session of ours."""
    ours = (p for p in desk.store.live()[0] if p.session_id == session.id and p.link in LINKS)
    return next((p for p in ours if p.kind in ("ready", "problem") and p.state == "open"), None)
