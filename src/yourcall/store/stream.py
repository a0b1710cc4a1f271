"""The record as others get it: the facts that matter to them, in the order of the chain, each with its link.

Rule: read only, a page at a time. A fact is told as it was written; what may hold a secret is masked by whoever
sends it.
"""

from __future__ import annotations

import sqlite3
from contextlib import closing
from pathlib import Path

from msgspec import Struct
from msgspec.structs import replace

from yourcall.core.safety import ALLOWING, chosen
from yourcall.model.events import (
    AnswerGiven,
    ApprovalGiven,
    AttemptRefused,
    CallSettled,
    PromptDismissed,
    PromptRaised,
    SettingsChanged,
)
from yourcall.model.prompts import Answer, Prompt
from yourcall.store.facts import EVENT, PROMPT, SETTING, SETTINGS_KIND
from yourcall.store.problem import explained

_KINDS = (
    PromptRaised, AnswerGiven, ApprovalGiven, AttemptRefused, CallSettled, PromptDismissed, SettingsChanged,
)  # fmt: skip
_PAGE = (
    "SELECT chain.n, chain.link, log.kind, log.fact FROM chain JOIN log ON log.seq = chain.seq"  # noqa: S608
    f" WHERE chain.n > ? AND chain.gone = 0 AND log.kind IN ({', '.join(repr(k.__name__) for k in _KINDS)})"
    " ORDER BY chain.n LIMIT ?"
)
_HEAD = "SELECT n, link FROM chain ORDER BY n DESC LIMIT 1"
_ROW = "SELECT row FROM prompts WHERE id = ?"


class Line(Struct, frozen=True, omit_defaults=True):
    """One fact. `n` and `link`: its place in the chain, and the hash that seals everything up to it.

    `decision` and `source` are named as in Claude Code's own `tool_decision` events; `source` says by whom.
    """

    n: int
    link: str
    at: float
    event: str
    prompt_id: str = ""
    session_id: str = ""
    agent: str = ""
    cwd: str = ""
    tool_name: str = ""
    title: str = ""
    decision: str = ""
    source: str = ""
    answer: str = ""
    text: str = ""
    by: str = ""
    via: str = ""
    certainty: str = ""
    device: str = ""
    person: str = ""
    passkey: str = ""
    others: tuple[str, ...] = ()
    detail: str = ""


def lines_after(path: Path, n: int, limit: int) -> list[Line]:
    """The next facts of the chain."""
    try:
        with closing(sqlite3.connect(f"file:{path}?mode=ro", uri=True, timeout=5.0)) as db:
            rows = db.execute(_PAGE, (n, limit)).fetchall()
            return [_line(db, *row) for row in rows]
    except sqlite3.Error as error:
        raise explained(path, error) from error


def head_of(path: Path) -> tuple[int, str] | None:
    """The end of the chain: what to note elsewhere."""
    try:
        with closing(sqlite3.connect(f"file:{path}?mode=ro", uri=True, timeout=5.0)) as db:
            value = db.execute(_HEAD).fetchone()
    except sqlite3.Error as error:
        raise explained(path, error) from error
    return None if value is None else (value[0], bytes(value[1]).hex())


def _line(db: sqlite3.Connection, n: int, link: bytes, kind: str, fact: bytes) -> Line:
    where = (n, bytes(link).hex())
    if kind == SETTINGS_KIND:
        s = SETTING.decode(fact)
        return Line(
            *where, s.at, "setting_changed", title=f"{s.area}: {s.about}", answer=s.what, by=s.by, detail=s.detail
        )
    event = EVENT.decode(fact)
    match event:
        case PromptRaised(prompt=prompt):
            return _about(Line(*where, event.at, "prompt_raised"), prompt)
        case AnswerGiven(prompt_id=id, answer=answer):
            return _answered(Line(*where, event.at, "tool_decision", prompt_id=id), _prompt(db, id), answer)
        case ApprovalGiven(prompt_id=id, answer=answer, given=given, of=of):
            line = _answered(Line(*where, event.at, "approval", prompt_id=id), _prompt(db, id), answer)
            return replace(line, decision="", detail=f"{given} of {of}")
        case CallSettled(prompt_id=id, outcome=outcome, source=source, detail=detail):
            line = Line(
                *where, event.at, "tool_settled", prompt_id=id, decision=outcome, source=source, detail=detail
            )
            prompt = _prompt(db, id)
            return line if prompt is None else _about(line, prompt)
        case PromptDismissed(prompt_id=id, by=by):
            return Line(*where, event.at, "prompt_dismissed", prompt_id=id, by=by)
        case AttemptRefused():
            return Line(
                *where, event.at, "attempt_refused", prompt_id=event.prompt_id, session_id=event.session_id,
                by="agent process", answer=event.what, detail=event.why,
            )  # fmt: skip
        case _:
            return Line(*where, event.at, kind)


def _prompt(db: sqlite3.Connection, prompt_id: str) -> Prompt | None:
    value = db.execute(_ROW, (prompt_id,)).fetchone()
    return PROMPT.decode(value[0]) if value else None


def _about(line: Line, prompt: Prompt) -> Line:
    tool = prompt.tool.name if prompt.tool else ""
    return replace(
        line, prompt_id=prompt.id, session_id=prompt.session_id, agent=prompt.agent, cwd=prompt.cwd,
        tool_name=tool, title=prompt.title,
    )  # fmt: skip


def _answered(line: Line, prompt: Prompt | None, answer: Answer) -> Line:
    picked = chosen(prompt, answer) if prompt is not None else []
    yes = any(option.effect in ALLOWING for option in picked)
    no = any(option.effect in ("deny", "stop") for option in picked)
    lasts = any(option.effect in ("allow_always", "allow_session") for option in picked)
    source = (
        "config"
        if answer.via == "rule"
        else "user_permanent"
        if yes and lasts
        else "user_temporary"
        if yes
        else ""
    )
    line = _about(line, prompt) if prompt is not None else line
    return replace(
        line, decision="accept" if yes else "reject" if no else "", source=source or ("user_reject" if no else ""),
        answer=", ".join(option.label for option in picked), text="\n".join(answer.texts.values()), by=answer.by,
        via=answer.via, certainty=answer.author_certainty, device=answer.device, person=answer.person,
        passkey=answer.proof, others=answer.others,
    )  # fmt: skip
