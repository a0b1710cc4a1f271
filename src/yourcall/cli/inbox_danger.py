"""Why a yes to a prompt must be said twice in the inbox, and which of its options are the buttons.

Rule: what is dangerous is said in one place for every front end, `core/danger.py`.
"""

from __future__ import annotations

from typing import Any, cast

from yourcall.cli.views import Option, Prompt, Question
from yourcall.core.danger import command_in
from yourcall.core.danger import danger as danger_of

REFUSES = frozenset({"deny", "stop"})
ALLOWS = frozenset({"allow_once", "allow_session", "allow_always"})


def fields_of(prompt: Prompt) -> dict[str, Any] | None:
    given = prompt.tool.input if prompt.tool is not None else None
    return cast("dict[str, Any]", given) if isinstance(given, dict) else None


def command_of(prompt: Prompt) -> str:
    """The command a tool would run, as a shell would be given it; empty for a tool that runs none."""
    fields = fields_of(prompt) if prompt.kind == "permission" else None
    return command_in(fields or {})


def danger(prompt: Prompt) -> str:
    """Why this is dangerous, in a sentence; empty if nothing speaks for it."""
    return danger_of(prompt.kind, prompt.tool.name if prompt.tool else None, fields_of(prompt), prompt.hold)


def needs_word(option: Option, risk: str) -> bool:
    """A yes that lasts, or one to something dangerous, is said twice; a no never is."""
    return option.effect == "allow_always" or (bool(risk) and option.effect not in REFUSES)


def decision(prompt: Prompt) -> Question | None:
    """The question whose options are the buttons: yes, no, submit; the others are fields to fill in."""
    return next((q for q in prompt.questions if any(o.effect != "choose" for o in q.options)), None)
