"""What became of one answer, read off the prompt's row.

Rule: derived, never stored; the CLI's exit code, the HTTP reply and the phone's button all say this same word.
"""

from __future__ import annotations

from yourcall.core.safety import too_late
from yourcall.model.prompts import Answer, Moment, Prompt, Verdict


def verdict_of(prompt: Prompt, answer_id: str) -> Verdict:
    """The verdict on this answer as things stand; `taken`, `sent` and `accepted` may still change."""
    told = [m for m in prompt.history if m.answer_id == answer_id]
    if prompt.answer is not None and prompt.answer.id == answer_id:
        return _taken(prompt, prompt.answer, told[-1] if told else prompt.history[-1])
    bounced = next((m for m in reversed(told) if m.state == "open"), None)
    if bounced is not None:
        return Verdict("bounced", bounced.detail.removeprefix("bounced: "), bounced.by, bounced.at)
    late = too_late(prompt)
    if late is not None:
        return late
    return _came_second(prompt, told[0]) if told else Verdict("refused", "This prompt never took that answer.")


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
