"""A turn of Gemini CLI that was cancelled at a dialog or during a command: no hook tells of it, one line on the
screen does.

Rule: only below the last thing that the person said, and only while nothing works or asks. What the model writes
is indented, so it cannot say it.
"""

from __future__ import annotations

import re

from yourcall.agents.gemini.hooks import NEXT
from yourcall.agents.kit.text import clean
from yourcall.agents.screen_spec import Offer, Snapshot
from yourcall.model.prompts import Question

_RULE = re.compile(r"─{8,}$|▀{8,}$")
_SAID = re.compile(r" > \S")
_CANCELLED = re.compile(r"ℹ Request cancelled\.\s*$")

READY = Offer(
    "ready",
    "Ready for the next instruction",
    "The turn was stopped.",
    (Question(NEXT, "What next?", free_text=True),),
)


def stopped(shot: Snapshot) -> Offer | None:
    if shot.reading.state != "idle":
        return None
    lines = clean(shot.text)
    rule = next((n for n in range(len(lines) - 1, -1, -1) if _RULE.match(lines[n])), 0)
    last = next((line for line in reversed(lines[:rule]) if _SAID.match(line) or _CANCELLED.match(line)), "")
    return READY if _CANCELLED.match(last) else None
