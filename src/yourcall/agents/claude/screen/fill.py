"""The steps of an answer that takes several keys, each from a fresh look at Claude's screen.

Rule: after a key nothing more is pressed before its effect is seen, twice alike: a screen is drawn in pieces.
"""

from __future__ import annotations

from collections.abc import Generator

from yourcall.agents.claude.screen.form import button, fields
from yourcall.agents.claude.screen.walk import next_step
from yourcall.agents.screen_spec import Paste, Press, Snapshot
from yourcall.model.prompts import Answer, Prompt, Refused

SETTLED_LOOKS = 15
MOST_LOOKS = 300  # at a key without effect, a hundredth of a second apart: Claude needs a tenth, under load one


Steps = Generator[Press | Paste | None, Snapshot, Snapshot | Refused]


def fill(prompt: Prompt, answer: Answer) -> Generator[Press | Paste | None, Snapshot, Refused | None]:
    """The first `yield` only asks for a screen."""
    now = yield None
    pasted = ""
    while True:
        step = next_step(prompt, answer, now)
        if isinstance(step, Refused):
            yield from _take_back(pasted, now)
            return step
        before = _state(now)
        if isinstance(step, Press) and step.decides and not (yield from _stands(before)):
            now = yield None
            continue
        after = yield from _done(step, now)
        if isinstance(after, Refused):
            return after
        now, pasted = after, step.text if isinstance(step, Paste) else ""


def _done(step: Press | Paste, now: Snapshot) -> Steps:
    """The screen with the effect of this step, once it stands."""
    before = _state(now)
    now = yield step
    for _ in range(MOST_LOOKS):
        again = yield None
        if _state(now) == _state(again) != before:
            return again
        now = again
    return Refused("A key had no effect; nothing was sent. See to it at the desk.")


def _take_back(pasted: str, now: Snapshot) -> Generator[Press | Paste | None, Snapshot, None]:
    """What we have just written and Claude does not take does not stay behind; each key is seen to work."""
    for _ in pasted:
        after = yield from _done(Press("backspace", decides=False), now)
        if isinstance(after, Refused) or after.reading.kind != now.reading.kind:
            return
        now = after


def _stands(before: object) -> Generator[None, Snapshot, bool]:
    """Does the page stay as it is for a moment? Claude swallows a key that comes right after it was drawn."""
    for _ in range(SETTLED_LOOKS):
        if _state((yield None)) != before:
            return False
    return True


def _state(shot: Snapshot) -> object:
    """All of the dialog that a key can change; a clock or a spinner above it may change by itself."""
    form = (fields(shot.text), button(shot.text)) if shot.reading.kind == "elicitation" else ()
    return shot.reading, form
