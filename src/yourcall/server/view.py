"""From rows to what goes over the wire.

Rule: nothing is decided here and nothing is hidden; a stored body that cannot be read shows as null, never as an
error.
"""

from __future__ import annotations

import msgspec
from msgspec import Raw, Struct

from yourcall.core.safety import chosen
from yourcall.model import Moment, Prompt, Session
from yourcall.server.needs import Bodies, Change
from yourcall.server.project import branch, machine
from yourcall.server.wire import (
    LogLine,
    MomentView,
    PromptNews,
    PromptStory,
    PromptView,
    SessionNews,
    SessionView,
    ToolView,
)


class _Request(Struct):
    tool_input: Raw = Raw(b"null")  # not `Raw | None`: msgspec then takes nothing but null


def prompt_view(prompt: Prompt, bodies: Bodies) -> PromptView:
    return PromptView(
        id=prompt.id,
        kind=prompt.kind,
        state=prompt.state,
        agent=prompt.agent,
        session_id=prompt.session_id,
        cwd=prompt.cwd,
        title=prompt.title,
        body=prompt.body,
        tool=None if prompt.tool is None else ToolView(prompt.tool.name, tool_input(bodies.body(prompt.request))),
        questions=prompt.questions,
        opened_at=prompt.opened_at,
        held=prompt.held,
        hold=prompt.hold,
        subagent=prompt.subagent,
        permission_mode=prompt.permission_mode,
        answered_by=_decider(prompt) or None,
        outcome=prompt.outcome,
        closed_at=prompt.closed_at,
        machine=machine(),
        branch=branch(prompt.cwd),
    )


def story(prompt: Prompt, bodies: Bodies) -> PromptStory:
    seen = prompt_view(prompt, bodies)
    shown = {name: getattr(seen, name) for name in PromptView.__struct_fields__}
    return PromptStory(**shown, history=tuple(MomentView(m.at, m.state, m.by, m.detail) for m in prompt.history))


def session_view(session: Session) -> SessionView:
    return SessionView(
        id=session.id,
        agent=session.agent,
        cwd=session.cwd,
        state=session.state,
        mode=session.mode,
        permission_mode=session.permission_mode,
        links=session.links,
        pid=session.pid,
        version=session.version,
        note=session.note,
        started_at=session.started_at,
        seen_at=session.seen_at,
        goes_on_as=session.goes_on_as,
        cost_usd=session.cost_usd,
        machine=machine(),
        branch=branch(session.cwd),
    )


def news(change: Change, bodies: Bodies) -> PromptNews | SessionNews | None:
    if change.prompt is not None:
        return PromptNews(change.seq, change.at, story(change.prompt, bodies))
    if change.session is not None:
        return SessionNews(change.seq, change.at, session_view(change.session))
    return None


def log_line(prompt: Prompt) -> LogLine:
    """One line for a prompt that is no longer open."""
    last = _last(prompt)
    answer = prompt.answer if _ours(prompt) else None
    first = next((m for m in prompt.history if answer is not None and m.answer_id == answer.id), None)
    answered_at = first.at if first else prompt.closed_at or (last.at if last else prompt.opened_at)
    return LogLine(
        id=prompt.id,
        agent=prompt.agent,
        session_id=prompt.session_id,
        cwd=prompt.cwd,
        kind=prompt.kind,
        title=prompt.title,
        opened_at=prompt.opened_at,
        answered_at=answered_at,
        waited=round(max(0.0, answered_at - prompt.opened_at), 3),
        by=_decider(prompt),
        via=answer.via if answer else "",
        answer=", ".join(option.label for option in chosen(prompt, answer)) if answer else "",
        text="\n".join(answer.texts.values()) if answer else "",
        state=prompt.state,
        outcome=prompt.outcome,
        detail=last.detail if last else "",
    )


def tool_input(body: bytes | None) -> Raw | None:
    """The input exactly as the agent wrote it, if the body can be read at all."""
    if body is None:
        return None
    try:
        found = bytes(msgspec.json.decode(body, type=_Request).tool_input)
        # A Raw is not looked into when it is decoded: bytes that are no text would break a whole reply.
        found.decode()
    except (ValueError, RecursionError):
        return None
    return Raw(found)  # a copy: lets go of the body around it


def _ours(prompt: Prompt) -> bool:
    """Did an answer that came through us stand, as far as is known? When the desk won, it did not."""
    return prompt.answer is not None and prompt.state not in ("desk", "ended")


def _decider(prompt: Prompt) -> str:
    if prompt.answer is not None and _ours(prompt):
        return prompt.answer.by
    match prompt.state:
        case "desk":
            return "desk"
        case "ended":
            return "session"
        case _:
            return ""


def _last(prompt: Prompt) -> Moment | None:
    """The last thing that happened; an answer that came too late changed nothing."""
    return next((m for m in reversed(prompt.history) if not m.detail.startswith("too late:")), None)
