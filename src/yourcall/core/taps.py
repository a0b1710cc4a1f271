"""Single-use answers: what one button of a notification may say, and to which offer.

Rule: a token answers one prompt with one option, once, and only as long as what is asked is the very thing it was
made for. What grants more than this once is never behind a token, and a token for a yes is only made for a notice
that shows the whole (`rules/fully_shown.py`). A token answers only after its notice has stood for a moment.
"""

from __future__ import annotations

from hashlib import sha256

from yourcall.model.prompts import Effect, Option, Prompt, Question

PREFIX = "yt_"

# How long a button must have stood, and how long before it no other may have been pressed. A finger that is still
# tapping on what was there before has moved on by then.
STILL_S = 1.0

# A wider grant, or an end of the whole turn, is for somebody who sees everything.
_PLAIN: frozenset[Effect] = frozenset({"allow_once", "deny", "choose"})

# What these ask is not understood well enough, or weighs too much, for a button under a cut-off text.
_NEVER = frozenset({"trust", "startup", "unknown", "elicitation", "loop"})


def offered(prompt: Prompt) -> list[tuple[Question, Option]]:
    """The options that may stand on buttons; none if a single tap cannot answer the whole prompt."""
    if (
        prompt.kind in _NEVER
        or not prompt.answerable
        or len(prompt.questions) != 1
        or prompt.questions[0].multi_select
    ):
        return []
    question = prompt.questions[0]
    # Where a yes has to be said twice, one tap cannot say it; a no it can.
    plain = _PLAIN - {"allow_once"} if prompt.needs_confirmation else _PLAIN
    return [(question, option) for option in question.options if option.effect in plain]


def hash_of(token: str) -> str:
    return sha256(token.encode("utf-8", "replace")).hexdigest()
