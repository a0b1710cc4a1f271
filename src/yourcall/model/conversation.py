"""A conversation between a person and an agent, as entries any front end can show: who said what, what was done.

Rule: nothing here knows a particular agent; an entry is what one record of the agent says, in the order of the
record. A tool call is two entries with the same `call_id`: started, then completed.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Literal

from msgspec import Struct
from msgspec.structs import replace

ActionKind = Literal["command", "file_change", "web", "note", "question", "tool"]
Phase = Literal["started", "completed"]
Level = Literal["info", "warning", "error"]


class Entry(Struct, frozen=True, tag_field="type", kw_only=True):
    """`at` is 0 where the record names no time; `offset` is where in the transcript the record begins."""

    at: float = 0.0
    offset: int = 0
    subagent: str = ""


class Tokens(Struct, frozen=True):
    """What one request to the model used."""

    input: int = 0
    output: int = 0
    cache_read: int = 0
    cache_written: int = 0


class UserMessage(Entry, frozen=True, tag="user"):
    """`by` is empty for the person, else what spoke in the person's place (a task that ended, a hook)."""

    text: str
    by: str = ""


class AssistantText(Entry, frozen=True, tag="assistant"):
    """`tokens` stands on the first entry of a request only, so that a sum over entries is right."""

    text: str
    model: str = ""
    tokens: Tokens | None = None


class Thinking(Entry, frozen=True, tag="thinking"):
    """`text` is empty where the agent keeps its thoughts to itself."""

    text: str
    seconds: float = 0.0
    tokens: Tokens | None = None


class Action(Entry, frozen=True, tag="action"):
    """One tool call. `detail`: when started what will be done, when completed what came of it.

    `child` is the id of the subagent that this call started: its conversation is a file of its own.
    """

    kind: ActionKind
    phase: Phase
    call_id: str
    tool: str = ""
    title: str = ""
    detail: str = ""
    diff: str = ""
    paths: tuple[str, ...] = ()
    is_error: bool = False
    child: str = ""
    tokens: Tokens | None = None


class Result(Entry, frozen=True, tag="result"):
    """How a turn, or the whole session, ended. `cost_usd` is always what the session has cost so far."""

    scope: Literal["turn", "session"]
    is_error: bool = False
    text: str = ""
    cost_usd: float | None = None
    seconds: float | None = None
    turns: int | None = None
    tokens: Tokens | None = None


class Compaction(Entry, frozen=True, tag="compaction"):
    """The agent replaced what came before by a summary. The summary itself may be an entry of its own."""

    summary: str = ""
    trigger: str = ""
    tokens_before: int | None = None
    tokens_after: int | None = None


class Notice(Entry, frozen=True, tag="notice"):
    """Something the agent's program says, or did, that is neither the person nor the model."""

    text: str
    level: Level = "info"


STOPPED = "Interrupted by the user."  # the notice of a turn that a person stopped

AnyEntry = UserMessage | AssistantText | Thinking | Action | Result | Compaction | Notice


class Picture(Struct, frozen=True):
    """A picture in a record; `data` is base64, as it stands there."""

    media_type: str
    data: str


class Page(Struct, frozen=True):
    """Some entries of one transcript, oldest first.

    `next_before` leads to the page before this one; None: this one is the first. `end` is where a follower goes
    on. `file` names the file the offsets belong to; `restarted`: it is not the one that was asked for.
    """

    entries: tuple[AnyEntry, ...] = ()
    next_before: int | None = None
    end: int = 0
    file: str = ""
    restarted: bool = False


def joined(started: Action, completed: Action) -> Action:
    """What came of a call, with the words it was announced with; an agent's result seldom repeats them."""
    return replace(
        completed,
        kind=started.kind,
        tool=started.tool,
        title=started.title,
        paths=completed.paths or started.paths,
        diff=completed.diff or ("" if completed.is_error else started.diff),
    )


def told(entries: Iterable[AnyEntry], calls: dict[str, Action]) -> list[AnyEntry]:
    """The entries as they are shown: a completed call with the words of its start, a summary with its compaction,
    and the last of several totals. `calls` are the calls open so far, and is kept up to date."""
    out: list[AnyEntry] = []
    for entry in entries:
        last = out[-1] if out else None
        match entry:
            case Action(phase="started"):
                calls[entry.call_id] = entry
            case Action() if start := calls.pop(entry.call_id, None):
                entry = joined(start, entry)
            case Compaction() if isinstance(last, Compaction) and entry.summary and not last.summary:
                entry = replace(last, summary=entry.summary)
                out.pop()
            case Result(scope="session") if isinstance(last, Result) and last.scope == "session":
                out.pop()
            case _:
                pass
        out.append(entry)
    return out
