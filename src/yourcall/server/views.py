"""From rows to what goes over the wire.

Rule: nothing is decided here and nothing is hidden; a stored body that cannot be read shows as null, never as an
error.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence

import msgspec
from msgspec import Raw

from yourcall.agents.assess import assessed, input_of
from yourcall.core.prompt_version import version_of
from yourcall.core.queue_order import rank
from yourcall.core.safety import chosen, confirmation
from yourcall.model import prompts
from yourcall.model.prompts import Moment, Prompt, Risk
from yourcall.model.sessions import Session
from yourcall.server.ports import Bodies, Change, Head
from yourcall.server.project import Here, branch, machine
from yourcall.server.wire import (
    HeadView,
    LogLine,
    MomentView,
    Option,
    PromptNews,
    PromptStory,
    PromptView,
    Question,
    SessionNews,
    SessionView,
    ToolView,
)

# Views of more bytes than this are made and encoded on another thread; one of this size takes a few milliseconds.
LARGE = 256 * 1024
# So are more prompts than this: each of them is judged when it is first shown.
MANY = 20

_encode = msgspec.json.Encoder().encode


def prompt_view(prompt: Prompt, bodies: Bodies) -> PromptView:
    body = bodies.body(prompt.request)
    judged = assessed(prompt, body)
    return PromptView(
        id=prompt.id,
        kind=prompt.kind,
        state=prompt.state,
        agent=prompt.agent,
        session_id=prompt.session_id,
        cwd=prompt.cwd,
        title=prompt.title,
        body=prompt.body,
        tool=None if prompt.tool is None else ToolView(prompt.tool.name, tool_input(body)),
        questions=tuple(question_view(question, judged.risk) for question in prompt.questions),
        opened_at=prompt.opened_at,
        held=prompt.answerable,
        hold=prompt.needs_confirmation,
        subagent=prompt.subagent,
        permission_mode=prompt.permission_mode,
        answered_by=_decider(prompt) or None,
        outcome=prompt.outcome,
        closed_at=prompt.closed_at,
        machine=machine(),
        branch=branch(prompt.cwd),
        version=version_of(prompt),
        rank=rank(prompt),
        action=judged.action,
        risk=judged.risk,
        resets_at=prompt.resets_at,
        host=Here.host,
    )


def question_view(question: prompts.Question, risk: Risk) -> Question:
    return Question(
        id=question.id,
        text=question.text,
        options=tuple(option_view(option, risk) for option in question.options),
        multi_select=question.multi_select,
        free_text=question.free_text,
        required=question.required,
        type=question.type,
        minimum=question.minimum,
        maximum=question.maximum,
        header=question.header,
    )


def option_view(option: prompts.Option, risk: Risk) -> Option:
    reason = confirmation(option, risk)
    return Option(
        option.id,
        option.label,
        option.effect,
        option.description,
        option.preview,
        bool(reason),
        reason,
        option.digit,
    )


def story(prompt: Prompt, bodies: Bodies) -> PromptStory:
    seen = prompt_view(prompt, bodies)
    shown = {name: getattr(seen, name) for name in PromptView.__struct_fields__}
    history = tuple(MomentView(m.at, m.state, m.by, m.detail) for m in prompt.history)
    certainty = prompt.answer.author_certainty if prompt.answer is not None and _ours(prompt) else ""
    return PromptStory(**shown, history=history, author_certainty=certainty)


async def encoded(view: Callable[[], object], prompts: Sequence[Prompt], bodies: Bodies) -> Raw:
    """The view of these prompts as JSON; what is large is made off the event loop."""
    size = sum(len(prompt.body) + bodies.body_size(prompt.request) for prompt in prompts)
    if size <= LARGE and len(prompts) <= MANY:
        return Raw(_encode(view()))
    return Raw(await asyncio.to_thread(lambda: _encode(view())))


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
        warning=session.warning,
        host=Here.host,
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
        author_certainty=answer.author_certainty if answer else "",
        device_id=answer.device if answer else "",
    )


def tool_input(body: bytes | None) -> Raw | None:
    """The input exactly as the agent wrote it, if the body can be read at all."""
    data = input_of(body)
    return None if data is None else Raw(data)


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
    """The last thing that happened; an answer that came too late, or was refused, changed nothing."""
    nothing = ("too late:", "refused:")
    return next((m for m in reversed(prompt.history) if not m.detail.startswith(nothing)), None)


def head_view(head: Head | None) -> HeadView | None:
    return None if head is None else HeadView(head.place, head.hash)
