"""From something told without an id to the one prompt it is about.

Rule: the oldest open prompt alike is meant; with none, nothing happened that we need to know.
"""

from __future__ import annotations

import unicodedata
from typing import Literal

from yourcall.agents.sightings import Ending
from yourcall.core.identity import unsettled
from yourcall.core.state import State
from yourcall.model.events import AnyEvent, CallSettled, PromptNudged, PromptWithdrawn
from yourcall.model.prompts import Kind, Prompt


def ended(state: State, ending: Ending, at: float) -> list[AnyEvent]:
    """What an ending means for the prompts of its session. Without an answer, all alike are no longer asked; one
    that is answered was answered by these words, or at the desk."""
    later = [p for p in _open(state, ending.session_id) if not ending.turn_id or p.turn_id != ending.turn_id]
    alike = [p for p in later if p.fingerprint.startswith(ending.alike)]
    if ending.outcome is None:
        prompts = [p for p in alike if p.answer is not None and p.state in ("answering", "sent", "accepted")]
        over: list[AnyEvent] = [PromptWithdrawn(at, p.id, ending.detail) for p in alike if p.state == "open"]
        return over + [
            CallSettled(at, p.id, "allowed", _source(p, ending), ending.detail) for p in prompts if ending.said
        ]
    if not alike:
        return []
    return [CallSettled(at, alike[0].id, ending.outcome, _source(alike[0], ending), ending.detail)]


def _source(prompt: Prompt, ending: Ending) -> Literal["held", "desk", "unknown"]:
    """Whose words they are, if any were told."""
    if not ending.said:
        return "unknown"
    ours = prompt.answer is not None and _letters(ending.said) in map(_letters, prompt.answer.texts.values())
    return "held" if ours else "desk"


def _letters(text: str) -> str:
    """What arrives of a text however it is typed: blanks, line ends and invisible characters may not."""
    return "".join(c for c in text if not c.isspace() and unicodedata.category(c) != "Cf")


def nudged(state: State, session_id: str, kind: Kind, at: float) -> list[AnyEvent]:
    """The agent's own reminder, for the one prompt of this kind that waits."""
    waiting = [p for p in _open(state, session_id) if p.kind == kind and p.state == "open"]
    return [PromptNudged(at, waiting[0].id)] if len(waiting) == 1 else []


def _open(state: State, session_id: str) -> list[Prompt]:
    prompts = (p for p in state.of_session(session_id) if unsettled(p))
    return sorted(prompts, key=lambda p: (p.opened_at, p.id))
