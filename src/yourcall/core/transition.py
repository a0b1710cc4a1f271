"""One step of a prompt along the table of its life, with the line it leaves in the history.

Rule: nobody else sets a prompt's state, and no state changes without a line that says when, by whom and why.
"""

from __future__ import annotations

from msgspec.structs import replace

from yourcall.core.lifecycle import CLOSED, Signal, following
from yourcall.core.state import State, Step, no_longer_waiting, waiting
from yourcall.model.events import AnyCommand, Release
from yourcall.model.prompts import Moment, Prompt
from yourcall.model.sessions import SessionState

NOTHING = Step()

# Each late answer is a line in the prompt's history; a client gone mad must not grow it for ever.
MOST_MOMENTS = 64


def move(
    state: State,
    prompt: Prompt,
    signal: Signal,
    at: float,
    by: str,
    detail: str,
    session: SessionState | None = None,
) -> Step:
    """Follow the table; write the history; let go of the holder where nothing is left to hold."""
    after = following(prompt.state, signal)
    if after is None:
        return NOTHING
    answer_id = prompt.answer.id if prompt.answer else ""
    moment = Moment(at, after, by, detail, answer_id)
    moved = replace(prompt, state=after, history=(*prompt.history, moment))
    commands: tuple[AnyCommand, ...] = ()
    if after == "open":
        moved = replace(moved, answer=None, outcome=None, closed_at=None)
    elif after in CLOSED or signal == "session_ended":
        moved = replace(moved, closed_at=at, answerable=False)
        commands = (Release(prompt.id),) if prompt.answerable else ()
    elif after in ("sent", "accepted"):
        moved = replace(moved, answerable=False)  # the holder has written its one answer and is gone
    if signal in ("session_ended", "unanswered", "dismissed"):
        return Step(prompts=(moved,), commands=commands)
    if after == "open":
        return Step(prompts=(moved,), sessions=waiting(state, moved.session_id), commands=commands)
    to = session or (None if after not in CLOSED else "idle" if moved.outcome == "stopped" else "working")
    rows = no_longer_waiting(state, moved, to) if to else ()
    return Step(prompts=(moved,), sessions=rows, commands=commands)


def noted(prompt: Prompt, moment: Moment) -> Prompt:
    """The prompt with one more line in its history, or the changed prompt alone when there are too many."""
    if len(prompt.history) >= MOST_MOMENTS:
        return prompt
    return replace(prompt, history=(*prompt.history, moment))
