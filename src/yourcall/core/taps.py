"""Single-use answers: what one button of a notification may say, and to which offer.

Rule: a token answers one prompt with one option, once, and only as long as the questions are the very ones it was
made for. What grants more than this once is never behind a token.
"""

from __future__ import annotations

from hashlib import sha256

import msgspec

from yourcall.model import Effect, Option, Prompt, Question

PREFIX = "yt_"

# A wider grant, or an end of the whole turn, is for somebody who sees everything.
_PLAIN: frozenset[Effect] = frozenset({"allow_once", "deny", "choose"})

# What these ask is not understood well enough, or weighs too much, for a button under a cut-off text.
_NEVER = frozenset({"trust", "startup", "unknown", "elicitation", "loop"})


def offered(prompt: Prompt) -> list[tuple[Question, Option]]:
    """The options that may stand on buttons; none if a single tap cannot answer the whole prompt."""
    if prompt.kind in _NEVER or not prompt.held or len(prompt.questions) != 1 or prompt.questions[0].multi_select:
        return []
    question = prompt.questions[0]
    # Where a yes has to be said twice, one tap cannot say it; a no it can.
    plain = _PLAIN - {"allow_once"} if prompt.hold else _PLAIN
    return [(question, option) for option in question.options if option.effect in plain]


def offer_of(prompt: Prompt) -> str:
    return sha256(msgspec.json.encode(prompt.questions)).hexdigest()


def hash_of(token: str) -> str:
    return sha256(token.encode("utf-8", "replace")).hexdigest()
