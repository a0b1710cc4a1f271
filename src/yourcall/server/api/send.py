"""Speaking to a session over HTTP: a message, a key, an interrupt; and a pane to be looked after.

Rule: passes on what was asked and replies with what became of it; nothing is typed that the voice refuses.
"""

from __future__ import annotations

from collections.abc import Mapping

from yourcall.model.prompts import Refused, Verdict
from yourcall.model.sessions import Session
from yourcall.server.api.conversation import find_run
from yourcall.server.auth import Refusal
from yourcall.server.ports import Sender
from yourcall.server.route import Call, Reply, body
from yourcall.server.views import session_view
from yourcall.server.wire import KeyRequest, PaneRequest, SendRequest, SpokenReply

_STATUS: Mapping[str, int] = {"unsure": 409, "refused": 422}
_DUMB = Refusal(404, "Nothing can be typed from here.")


async def send(call: Call) -> Reply | Refusal:
    asked = await body(call.request, SendRequest)
    if isinstance(asked, Refusal):
        return asked
    match = _session(call)
    if isinstance(match, Refusal):
        return match
    voice, session = match
    return said(await voice.send(session, asked.text, asked.as_command))


async def key(call: Call) -> Reply | Refusal:
    asked = await body(call.request, KeyRequest)
    if isinstance(asked, Refusal):
        return asked
    match = _session(call)
    if isinstance(match, Refusal):
        return match
    voice, session = match
    return said(await voice.press(session, asked.key))


async def interrupt(call: Call) -> Reply | Refusal:
    match = _session(call)
    if isinstance(match, Refusal):
        return match
    voice, session = match
    return said(await voice.interrupt(session))


async def watch_pane(call: Call) -> Reply | Refusal:
    asked = await body(call.request, PaneRequest)
    if isinstance(asked, Refusal):
        return asked
    if call.voice is None:
        return _DUMB
    session = await call.voice.watch(asked.server, asked.pane, asked.agent)
    if isinstance(session, Refused):
        return said(Verdict("refused", session.reason))
    return Reply(session_view(session), 201)


def _session(call: Call) -> tuple[Sender, Session] | Refusal:
    session = find_run(call.desk.store, call.part("id"))
    if isinstance(session, Refusal):
        return session
    if call.voice is None:
        return _DUMB
    if session.state == "ended":
        return Refusal(404, "This session has ended. To see the ones that are running: yourcall sessions")
    return call.voice, session


def said(verdict: Verdict) -> Reply:
    return Reply(SpokenReply(verdict.result, verdict.detail), _STATUS.get(verdict.result, 200))
