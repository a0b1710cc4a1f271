"""What happened since a moment: who answered what, what was refused, and which settings were changed.

Rule: read from the file alone, so it works while the daemon is down, hangs, or is not trusted.
"""

from __future__ import annotations

import sqlite3
from contextlib import closing
from pathlib import Path

from msgspec import Struct

from yourcall.core.safety import chosen
from yourcall.model.events import AnswerGiven, AttemptRefused, SettingsChanged
from yourcall.model.prompts import Prompt
from yourcall.store.facts import EVENT, PROMPT, SETTING, SETTINGS_KIND
from yourcall.store.problem import explained

# Nobody reads more than this in an emergency; the whole record is in `yourcall log export`.
MOST = 500
# The newest first, so that what is left out is the oldest.
_FACTS = "SELECT kind, fact FROM log WHERE at >= ? AND kind IN (?, ?, ?) ORDER BY at DESC LIMIT ?"  # each is rare
_NAME = "SELECT name FROM devices WHERE id = ?"
_ROW = "SELECT row FROM prompts WHERE id = ?"


class Happening(Struct, frozen=True):
    """`what` it is about: a prompt's title, a device, a rule. `how` its author is known, if it is an answer."""

    at: float
    what: str
    about: str
    by: str
    how: str = ""
    prompt_id: str = ""


def happened(path: Path, since: float) -> tuple[list[Happening], bool]:
    """The oldest first; and whether that is all."""
    kinds = (AnswerGiven.__name__, AttemptRefused.__name__, SETTINGS_KIND)
    try:
        with closing(sqlite3.connect(f"file:{path}?mode=ro", uri=True, timeout=5.0)) as db:
            rows = db.execute(_FACTS, (since, *kinds, MOST + 1)).fetchall()
            lines = [_line(db, kind, fact) for kind, fact in rows[:MOST]]
    except sqlite3.Error as error:
        raise explained(path, error) from error
    return lines[::-1], len(rows) <= MOST


def _line(db: sqlite3.Connection, kind: str, fact: bytes) -> Happening:
    if kind == SETTINGS_KIND:
        setting: SettingsChanged = SETTING.decode(fact)
        name = db.execute(_NAME, (setting.about,)).fetchone() if setting.area == "devices" else None
        about = f"{setting.area}: {name[0] if name else setting.about}"
        about += f" ({setting.detail})" if setting.detail else ""
        return Happening(setting.at, setting.what, about, setting.by)
    event = EVENT.decode(fact)
    if isinstance(event, AnswerGiven):
        prompt, answer = _prompt(db, event.prompt_id), event.answer
        text = ", ".join(option.label for option in chosen(prompt, answer)) if prompt else ""
        how = answer.author_certainty or answer.via
        title = prompt.title if prompt else event.prompt_id
        return Happening(event.at, text or "answered", title, answer.by, how, event.prompt_id)
    assert isinstance(event, AttemptRefused)
    prompt = _prompt(db, event.prompt_id) if event.prompt_id else None
    about = f"{event.what}{f': {prompt.title}' if prompt else ''}"
    return Happening(event.at, "refused", about, "agent process", event.why, event.prompt_id)


def _prompt(db: sqlite3.Connection, prompt_id: str) -> Prompt | None:
    value = db.execute(_ROW, (prompt_id,)).fetchone()
    return PROMPT.decode(value[0]) if value else None
