"""What was said and done in a session over ACP: told by its updates, kept as entries in a record of our own.

Rule: an agent's chunks become one entry when the message is whole; a call is told twice, when it is known what it
will do and when it is over. No agent is asked for a file of its own.
"""

from __future__ import annotations

import msgspec
from msgspec import Raw
from msgspec.structs import replace

from yourcall.agents.acp import wording
from yourcall.agents.acp.table import Row
from yourcall.agents.acp.wire import Call, Step
from yourcall.agents.kit import prompts
from yourcall.agents.kit.wire import fields_of, text_of
from yourcall.agents.session_spec import Speaking
from yourcall.model.conversation import Action, ActionKind, AnyEntry, AssistantText, Notice, Thinking, UserMessage
from yourcall.model.sessions import Session

LONGEST = 20_000
MOST_SPOKEN = 200_000
MOST_CALLS = 500  # calls that never end must not pile up in a session that runs for days
MOST_TEXTS = 20
NULL = Raw(b"null")
OVER = frozenset({"completed", "failed"})

KINDS: dict[str, ActionKind] = {
    "execute": "command",
    "edit": "file_change",
    "delete": "file_change",
    "move": "file_change",
    "fetch": "web",
    "think": "note",
}
MARKS = {"completed": "[x]", "in_progress": "[>]"}


def conversation_of(session: Session, subagent: str) -> str:
    return "" if subagent else session.transcript


class Transcript:
    """The conversation so far, as far as it is still needed: what is being said, and the calls that run."""

    def __init__(self) -> None:
        self.speaking = Speaking()
        self.last = ""  # the last whole message of this turn
        self.calls: dict[str, Call] = {}
        self.texts: dict[str, str] = {}  # path -> what was last written there
        self._begun: set[str] = set()
        self._role: str = ""
        self._message: str = ""
        self._heard: str = ""

    def chunk(self, role: str, message: str, text: str, at: float) -> list[AnyEntry]:
        """A piece of a message, by `user`, `agent` or `thought`."""
        if not text:
            return []
        anew = role != self._role or (message and message != self._message)
        before = self.whole(at) if anew else []
        self._role, self._message = role, message or self._message
        now = self.speaking
        if role == "agent":
            self.speaking = Speaking((now.text + text)[:MOST_SPOKEN], now.thinking)
        elif role == "thought":
            self.speaking = Speaking(now.text, (now.thinking + text)[:MOST_SPOKEN])
        else:
            self._heard = (self._heard + text)[:MOST_SPOKEN]
        return before

    def whole(self, at: float) -> list[AnyEntry]:
        """The message that was being said is over."""
        entries: list[AnyEntry] = []
        if self._heard.strip():
            entries.append(UserMessage(text=self._heard[:LONGEST], at=at))
        if self.speaking.thinking.strip():
            entries.append(Thinking(text=self.speaking.thinking.strip()[:LONGEST], at=at))
        if self.speaking.text.strip():
            self.last = self.speaking.text.strip()
            entries.append(AssistantText(text=self.last[:LONGEST], at=at))
        self.speaking, self._role, self._message, self._heard = Speaking(), "", "", ""
        return entries

    def told(self, update: Call) -> Call:
        """All that is known of a call by now."""
        before = self.calls.pop(update.toolCallId, Call(update.toolCallId))
        told = {name: value for name in Call.__struct_fields__ if (value := getattr(update, name)) is not None}
        if not fields_of(update.rawInput):
            told.pop("rawInput")
        if update.rawOutput == NULL:
            told.pop("rawOutput")
        call = self.calls[update.toolCallId] = replace(before, **told)
        while len(self.calls) > MOST_CALLS:
            self._begun.discard(dropped := next(iter(self.calls)))
            del self.calls[dropped]
        for part in wording.changes(call):
            self.texts.pop(part.path, None)
            self.texts[part.path] = part.newText or ""
        while len(self.texts) > MOST_TEXTS:
            del self.texts[next(iter(self.texts))]
        return call

    def call(self, update: Call, row: Row, at: float, *, asked: bool = False) -> list[AnyEntry]:
        """What is new about a call. `asked`: somebody is asked for it, so it is known what it will do."""
        call = self.told(update)
        entries = self.whole(at)
        over = call.status in OVER
        # Agents announce a call before they know more of it than its name.
        filled = update.status is None and bool(fields_of(update.rawInput))
        if (asked or over or filled or call.status == "in_progress") and call.toolCallId not in self._begun:
            self._begun.add(call.toolCallId)
            entries.append(_started(call, row, at))
        if over:
            # What it showed before it ran is not what came of it.
            entries.append(_completed(replace(update, kind=call.kind, locations=call.locations), at))
            self._begun.discard(call.toolCallId)
            del self.calls[call.toolCallId]
        return entries

    def refused(self, call_id: str, at: float) -> list[AnyEntry]:
        """A call that was refused, and of which the agent said nothing more."""
        call = self.calls.pop(call_id, None)
        if call is None or call_id not in self._begun:
            return []
        self._begun.discard(call_id)
        told = replace(call, status="failed", content=None, rawOutput=NULL)
        return [replace(_completed(told, at), detail="refused")]

    def plan(self, steps: list[Step], at: float) -> list[AnyEntry]:
        rows = [f"{MARKS.get(step.status, '[ ]')} {step.content}" for step in steps]
        return [*self.whole(at), Notice(text="\n".join(["Plan:", *rows])[:LONGEST], at=at)] if rows else []


def _started(call: Call, row: Row, at: float) -> Action:
    command, why = wording.command_of(call, row.command), wording.reason_of(call, row.reason)
    tool, _ = wording.tool_of(call, command, why, row.tool_ends)
    changes = wording.changes(call)
    return Action(
        kind=KINDS.get(call.kind or "", "tool"),
        phase="started",
        call_id=call.toolCallId,
        tool=tool[:200],
        title=prompts.line(command or call.title or "", tool),
        detail="" if changes else why[:LONGEST],
        diff=wording.diff(changes)[:LONGEST],
        paths=wording.paths(call),
        at=at,
    )


def _completed(call: Call, at: float) -> Action:
    out = wording.said(call) or _output(call)
    return Action(
        kind=KINDS.get(call.kind or "", "tool"),
        phase="completed",
        call_id=call.toolCallId,
        detail=out[:LONGEST],
        diff=wording.diff(wording.changes(call))[:LONGEST],
        paths=wording.paths(call),
        is_error=call.status == "failed",
        at=at,
    )


def _output(call: Call) -> str:
    """What came of it, where only the raw output tells: a text, or a field of it that is one."""
    fields = fields_of(call.rawOutput)
    named = (text_of(fields, name) for name in ("output", "formatted_output", "stdout", "error"))
    try:
        whole = msgspec.json.decode(call.rawOutput, type=str)
    except (ValueError, RecursionError):
        whole = ""
    return whole or next((text for text in named if text), "")
