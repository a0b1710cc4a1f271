"""What was said and done in a session: parts of messages, kept as entries in a record of our own.

Rule: a part becomes an entry once it is whole; a call is told twice, when it begins and when it is over.
"""

from __future__ import annotations

from collections.abc import Mapping

from yourcall.agents.kit import prompts
from yourcall.agents.kit.wire import fields_of
from yourcall.agents.opencode.wire import SAFE_ID, CallState, Part, PastMessage
from yourcall.core import line_diff
from yourcall.model.conversation import (
    Action,
    ActionKind,
    AnyEntry,
    AssistantText,
    Thinking,
    UserMessage,
)
from yourcall.model.sessions import Session

LONGEST = 20_000
OVER = ("completed", "error")
KINDS: dict[str, ActionKind] = {
    "bash": "command",
    "edit": "file_change",
    "write": "file_change",
    "apply_patch": "file_change",
    "multiedit": "file_change",
    "webfetch": "web",
    "websearch": "web",
    "todowrite": "note",
    "question": "question",
}


def conversation_of(session: Session, subagent: str) -> str:
    """The record; a sub-agent has one of its own beside it, named by its id."""
    if not subagent or not session.transcript:
        return session.transcript
    id = subagent.rsplit(" ", 1)[-1]
    return f"{session.transcript.rpartition('/')[0]}/{id}.jsonl" if SAFE_ID.fullmatch(id) else ""


def entries(role: str, part: Part, at: float) -> list[AnyEntry]:
    """What a part tells that is whole by now."""
    match part.type:
        case "text" if part.text.strip() and role == "user":
            return [UserMessage(text=part.text[:LONGEST], at=at)]
        case "text" if part.text.strip():
            return [AssistantText(text=part.text.strip()[:LONGEST], at=at)]
        case "reasoning" if part.text.strip():
            return [Thinking(text=part.text.strip()[:LONGEST], at=at)]
        case "tool" if part.callID:
            return [_over(part, at) if part.state.status in OVER else _begun(part, at)]
        case _:
            return []


def past(messages: list[PastMessage]) -> tuple[list[AnyEntry], set[str]]:
    """All entries of a conversation so far, and the parts in it that are told."""
    found: list[AnyEntry] = []
    names: set[str] = set()
    for message in messages:
        for part in message.parts:
            names |= marks(part)
            if part.type == "tool" and part.state.status in OVER and part.callID:
                found.append(_begun(part, message.at))
            found += entries(message.role, part, message.at)
    return found, names


def marks(part: Part) -> set[str]:
    """By what it is known that a part was told. A call that is over has begun, too."""
    if part.type != "tool":
        return {part.id}
    return {f"{part.id} begun"} | ({f"{part.id} over"} if part.state.status in OVER else set())


def _begun(part: Part, at: float) -> Action:
    state = part.state
    fields = fields_of(state.input)

    def text(*names: str) -> str:
        return next((value for name in names if isinstance(value := fields.get(name), str) and value), "")

    file = text("filePath", "path")
    what = text("command", "filePath", "url", "pattern", "query", "description", "path", "name")
    return Action(
        kind=KINDS.get(part.tool, "tool"),
        phase="started",
        call_id=part.callID,
        tool=part.tool[:200],
        title=prompts.line(what, part.tool),
        detail=text("description")[:LONGEST] if part.tool in ("bash", "task") else "",
        diff=(state.diff or _diff(file, fields))[:LONGEST],
        paths=(file,) if file else (),
        child=_child(state),
        at=at,
    )


def _diff(file: str, fields: Mapping[str, object]) -> str:
    """What a change was to be, where only its input tells."""
    old, new = fields.get("oldString", ""), fields.get("newString", fields.get("content"))
    if not file or not isinstance(old, str) or not isinstance(new, str):
        return ""
    return "\n".join(line_diff.of_texts(file, old, new))


def _over(part: Part, at: float) -> Action:
    state = part.state
    return Action(
        kind=KINDS.get(part.tool, "tool"),
        phase="completed",
        call_id=part.callID,
        detail=(state.error if state.status == "error" else state.output)[:LONGEST],
        diff=state.diff[:LONGEST],
        is_error=state.status == "error",
        child=_child(state),
        at=at,
    )


def _child(state: CallState) -> str:
    return state.child if state.child and SAFE_ID.fullmatch(state.child) else ""
