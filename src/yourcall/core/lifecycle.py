"""How a prompt lives and ends: the one table that owns every transition.

    open        the agent waits, and somebody may answer
    answering   an answer was taken and recorded; it has not left us yet
    sent        it was handed to the agent; no sign so far that the agent took it
    accepted    the agent's dialog closed after our answer; its own record does not name the winner yet
    confirmed   the agent's own record says that our answer decided: it moved on
    desk        answered at the agent's own dialog (or by another program of the user's), not by us
    ended       the session is over, and no answer was seen
    unsure      it cannot be known how this ended; a later proof may still tell

Rules, each a consequence of how the real programs behave (docs/reference/agents/):
  * A closed dialog says *that* a prompt ended, never *who* ended it. With nothing sent it was the desk; with
    an answer on its way it was probably ours, so we say *accepted* and wait for the record.
  * Only the agent's own record confirms. When it names the desk although we sent something, we were too late.
  * An answer that was not written, or that the agent read and ignored, comes back: the prompt is open again
    (bounced). One that it has not read yet is *sent*, however long that takes: it may still count.
  * While an answer is on its way to the holder (answering), only the holder can say that it was not written: it
    says so, or that the dialog closed before it wrote, or that it comes back with empty hands. A look from
    outside must not open the prompt again, or a second answer could be carried after the first; and a record
    that agrees with the answer is not yet proof of it (the desk may have said the same): it is told again.
  * A session that ends with an answer on its way leaves us unsure: it may or may not have been taken.
  * Unsure is not the end: proof, the dialog seen open, or the holder's late word brings back the truth.
  * A person may take a prompt off the list, whatever became of it, except while an answer is on its way out. That
    answers nothing: the agent's own dialog stands as it stood.
  * The end of a session is not the last word either: its record may be read later, and may name the desk.
Anything not in the table changes nothing.
"""

from __future__ import annotations

from typing import Literal, get_args

from yourcall.model.prompts import PromptState

Signal = Literal[
    "answer_taken",
    "written",
    "not_written",
    "dialog_closed",
    "still_open",
    "proof_ours",
    "proof_desk",
    "session_ended",
    "unanswered",
    "withdrawn",
    "dismissed",
    "trace_lost",
]

TRANSITIONS: dict[tuple[PromptState, Signal], PromptState] = {
    ("open", "answer_taken"): "answering",
    ("open", "dialog_closed"): "desk",
    ("open", "proof_desk"): "desk",
    ("open", "session_ended"): "ended",
    ("open", "withdrawn"): "ended",
    ("open", "dismissed"): "ended",
    ("open", "trace_lost"): "unsure",
    ("answering", "written"): "sent",
    ("answering", "not_written"): "open",
    ("answering", "dialog_closed"): "desk",
    ("answering", "proof_desk"): "desk",
    ("answering", "session_ended"): "unsure",
    ("answering", "trace_lost"): "unsure",
    ("sent", "dialog_closed"): "accepted",
    ("sent", "still_open"): "open",
    ("sent", "proof_ours"): "confirmed",
    ("sent", "proof_desk"): "desk",
    ("sent", "session_ended"): "unsure",
    ("sent", "dismissed"): "ended",
    ("sent", "trace_lost"): "unsure",
    ("accepted", "proof_ours"): "confirmed",
    ("accepted", "proof_desk"): "desk",
    ("accepted", "session_ended"): "unsure",
    ("accepted", "dismissed"): "ended",
    ("accepted", "trace_lost"): "unsure",
    ("unsure", "written"): "sent",
    ("unsure", "not_written"): "open",
    ("unsure", "still_open"): "open",
    ("unsure", "unanswered"): "ended",
    ("unsure", "dismissed"): "ended",
    ("unsure", "proof_ours"): "confirmed",
    ("unsure", "proof_desk"): "desk",
    ("ended", "proof_desk"): "desk",
}

STATES: tuple[PromptState, ...] = get_args(PromptState)

# An answer is on its way: a second one must wait for what becomes of the first.
IN_FLIGHT: frozenset[PromptState] = frozenset({"answering", "sent", "accepted"})

# Nothing a person does can change these; `unsure` is not among them, it still wants to be looked at.
CLOSED: frozenset[PromptState] = frozenset({"confirmed", "desk", "ended"})


def following(state: PromptState, signal: Signal) -> PromptState | None:
    """The state a signal leads to, or None where it changes nothing."""
    return TRANSITIONS.get((state, signal))


def diagram() -> str:
    """The table as a Mermaid state diagram; the one in the docs is this text."""
    rows = ["stateDiagram-v2", "    [*] --> open"]
    rows += [f"    {state} --> {after}: {signal}" for (state, signal), after in TRANSITIONS.items()]
    rows += [f"    {state} --> [*]" for state in STATES if state in CLOSED]
    return "\n".join(rows) + "\n"
