"""What became of an answer: the word of whoever carried it, the signs on the agent's side, and the proof.

Rule: a sign tells that the prompt ended, a record tells how; only a record that shows what we asked for, or that
names our hook, is ever taken for our answer's doing.
"""

from __future__ import annotations

from msgspec.structs import replace

from yourcall.core import safety
from yourcall.core.identity import decided, desk_word, handed, over, since
from yourcall.core.safety import too_late
from yourcall.core.state import State, Step
from yourcall.core.transition import NOTHING, move, noted
from yourcall.model.events import CallSettled, DialogClosed
from yourcall.model.prompts import Answer, Moment, Prompt, Verdict

THEN = {
    "busy": "the dialog closed and the agent goes on",
    "idle": "the dialog closed and the turn stopped",
    "over": "the dialog closed, and the turn is over",
}


def written(state: State, prompt: Prompt, at: float, answer_id: str) -> Step:
    if prompt.answer is None or prompt.answer.id != answer_id:
        given_up = any(m.answer_id == answer_id and m.state == "answering" for m in prompt.history)
        if not given_up or prompt.state not in ("open", "answering"):
            return NOTHING
        # It came back to us once, and was written after all: whatever happens now may be its doing.
        why = "an answer that had come back was written after all"
        return move(state, replace(prompt, answerable=False), "trace_lost", at, "yourcall", why)
    by = prompt.answer.by
    if prompt.state == "unsure" and over(prompt):
        return NOTHING
    if prompt.state == "unsure" and decided(prompt):
        return move(state, prompt, "proof_ours", at, "agent", f"handed to the agent; it was {prompt.outcome}")
    return move(state, prompt, "written", at, by, "handed to the agent")


def not_written(state: State, prompt: Prompt, at: float, why: str) -> Step:
    """The holder's word that nothing of ours reached the agent."""
    if handed(prompt):
        return NOTHING
    by = prompt.answer.by if prompt.answer else "yourcall"
    if prompt.state == "unsure" and decided(prompt):
        return move(state, prompt, "proof_desk", at, "desk", f"it was {prompt.outcome}; no answer was written")
    if prompt.state == "unsure" and over(prompt) and not prompt.answerable:
        return move(state, prompt, "unanswered", at, "session", "the session ended before an answer was written")
    return move(state, prompt, "not_written", at, by, why)


def dialog_closed(state: State, prompt: Prompt, event: DialogClosed) -> Step:
    session = "working" if event.to == "busy" else "idle"
    if prompt.state == "sent":
        return move(state, prompt, "dialog_closed", event.at, "agent", THEN[event.to], session)
    stopped = event.to == "idle"
    ended = replace(prompt, outcome="stopped") if stopped else prompt
    text = f"{desk_word(ended.outcome)} at the desk"
    return move(state, ended, "dialog_closed", event.at, "desk", text, session)


def still_open(state: State, prompt: Prompt, at: float) -> Step:
    # Not news: seen before the answer was written, or in the file that a dead session left behind, or about a
    # request whose holder has the answer in hand and must speak first, or one whose end is on record.
    unheard = prompt.answerable and prompt.answer is not None
    if at < since(prompt) or over(prompt) or unheard or decided(prompt):
        return NOTHING
    why = "bounced: the agent did not take the answer; its dialog is still open"
    if prompt.answer is None:
        why = "the dialog is still open"
    return move(state, prompt, "still_open", at, "agent", why)


def settled(state: State, prompt: Prompt, event: CallSettled) -> Step:
    text = event.detail or event.outcome
    by = _taken_late(prompt, event) if event.source == "held" else "desk"
    known = replace(prompt, outcome=event.outcome)
    if prompt.state == "desk":
        if decided(prompt) or prompt.outcome == event.outcome:
            return NOTHING
        return Step(prompts=(noted(known, Moment(event.at, "desk", by, text)),))
    if event.outcome == "unknown" and event.source == "unknown":
        return NOTHING  # a record that names neither what nor who
    if prompt.state == "ended" and handed(prompt):
        return NOTHING  # dismissed after an answer of ours was written: it may be that one's doing
    # Once it has ended, it is known that no answer of ours was written: whoever decided alike, it was not us.
    if event.source == "desk" or prompt.state == "ended" or not _agrees(prompt, event):
        return move(state, known, "proof_desk", event.at, by, text)
    # In `answering` the table knows no such move: the holder must speak first, and the record is told again.
    if event.source == "held" or handed(prompt):
        return move(state, known, "proof_ours", event.at, "agent", text)
    if prompt.state != "unsure" or decided(prompt):
        return NOTHING
    # It went as we asked, but nobody says by whom, and we do not know that our answer ever got there.
    unnamed = Moment(
        event.at,
        "unsure",
        "agent",
        f"{text}; it is not known by whose answer",
        prompt.answer.id if prompt.answer else "",
    )
    return Step(prompts=(noted(known, unnamed),))


def _taken_late(prompt: Prompt, event: CallSettled) -> str:
    """Who decided, where the record names a hook: the author of the answer that was written last and came back, if
    it says what the record says; else another program of the user's."""
    if prompt.answer is not None:
        return "hook"
    written_id = next((m.answer_id for m in reversed(prompt.history) if m.state == "sent"), "")
    given = next((m for m in prompt.history if m.state == "answering" and m.answer_id == written_id), None)
    labels = {o.label: o.effect for q in prompt.questions for o in q.options}
    if not written_id or given is None or given.detail not in labels:
        return "hook"
    refused = labels[given.detail] in ("deny", "stop")
    return given.by if refused == (event.outcome in ("denied", "stopped")) else "hook"


def _agrees(prompt: Prompt, event: CallSettled) -> bool:
    """Only a record that shows what we asked for can be about our answer."""
    if prompt.answer is None:
        return False
    effects = {option.effect for option in safety.chosen(prompt, prompt.answer)}
    match event.outcome:
        case "allowed":
            return not effects or bool(effects - {"deny", "stop"})
        case "denied":
            # A hook's refusal on record is ours, with or without the stop that goes with it.
            return "deny" in effects or (event.source == "held" and "stop" in effects)
        case "stopped":
            return "stop" in effects or (event.source == "held" and "deny" in effects)
        case "unknown":
            return event.source == "held"


def verdict_of(prompt: Prompt, answer_id: str) -> Verdict:
    """The verdict on this answer as things stand; `taken`, `sent` and `accepted` may still change."""
    moments = [m for m in prompt.history if m.answer_id == answer_id]
    if prompt.answer is not None and prompt.answer.id == answer_id:
        return _taken(prompt, prompt.answer, moments[-1] if moments else prompt.history[-1])
    bounced = next((m for m in reversed(moments) if m.state == "open"), None)
    if bounced is not None:
        return Verdict("bounced", bounced.detail.removeprefix("bounced: "), bounced.by, bounced.at)
    late = too_late(prompt)
    if late is not None:
        return late
    return (
        _came_second(prompt, moments[0]) if moments else Verdict("refused", "This prompt never took that answer.")
    )


def final(verdict: Verdict) -> bool:
    """Nobody needs to wait for more; even so, what is unsure may be cleared up one day."""
    return verdict.result not in ("taken", "sent", "accepted")


def _taken(prompt: Prompt, answer: Answer, last: Moment) -> Verdict:
    """On the one answer that the prompt has; `last` is the latest line about it, not about somebody else's."""
    match prompt.state:
        case "confirmed":
            return Verdict("confirmed", last.detail, answer.by, last.at)
        case "answering":
            return Verdict("taken", "on its way", "", last.at)
        case "sent":
            return Verdict("sent", last.detail, "", last.at)
        case "accepted":
            return Verdict("accepted", last.detail, "", last.at)
        case "desk" | "ended":
            return too_late(prompt) or Verdict("unsure", last.detail, "", last.at)
        case _:
            return Verdict("unsure", last.detail, "", last.at)


def _came_second(prompt: Prompt, note: Moment) -> Verdict:
    """On an answer that was turned away for another one, which then came back: the prompt is open."""
    before = prompt.history[: prompt.history.index(note)]
    first = next((m for m in reversed(before) if m.state == "answering"), None)
    if first is None:
        return Verdict("bounced", "it was not used, and the prompt is open again", note.by, note.at)
    return Verdict("too_late", f"{first.by} had answered first; the prompt is open again", first.by, first.at)
