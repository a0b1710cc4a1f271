"""`step(state, event)`: the one place where anything is decided.

Rule: no clock, no I/O, no randomness; it reads the state and returns new rows and wishes. What an event does to
a prompt's state is looked up in the table of `lifecycle`; this file says which signal an event is, and writes
the history in words.
"""

from __future__ import annotations

from typing import assert_never

from msgspec.structs import replace

from yourcall.core import outline, safety, sessions
from yourcall.core.identity import decided, handed, over, same_request, since, unsettled
from yourcall.core.lifecycle import CLOSED, Signal, following
from yourcall.core.state import State, Step
from yourcall.core.verdicts import verdict_of
from yourcall.events import (
    AnswerGiven,
    AnswerNotWritten,
    AnswerWritten,
    AnyCommand,
    AnyEvent,
    CallBound,
    CallSettled,
    Deliver,
    DialogClosed,
    DialogReached,
    DialogStillOpen,
    HolderConnected,
    HolderLost,
    PromptFollowed,
    PromptNudged,
    PromptRaised,
    PromptWithdrawn,
    Release,
    SessionEnded,
    SessionSeen,
    TraceLost,
)
from yourcall.model import Moment, Prompt, SessionState, Verdict

NOTHING = Step()

# Nobody asks anything there: the agent has stopped, and the next word is the person's.
PAUSES = frozenset({"ready", "problem"})

# Each late answer is a line in the prompt's history; a client gone mad must not grow it for ever.
MOST_MOMENTS = 64

# The words of an answer are made of labels that an agent, or its model, chose.
LONGEST_WORDS = 500


def step(state: State, event: AnyEvent) -> Step:
    match event:
        case SessionSeen():
            return _session_seen(state, event)
        case SessionEnded():
            return _session_ended(state, event)
        case PromptRaised():
            return _raised(state, event)
        case AnswerGiven():
            return _answered(state, event)
        case _:
            prompt = state.prompts.get(event.prompt_id)
            return NOTHING if prompt is None else _on_prompt(state, prompt, event)


def _on_prompt(
    state: State,
    prompt: Prompt,
    event: PromptFollowed
    | DialogReached
    | HolderConnected
    | HolderLost
    | CallBound
    | AnswerWritten
    | AnswerNotWritten
    | DialogClosed
    | DialogStillOpen
    | CallSettled
    | PromptWithdrawn
    | PromptNudged
    | TraceLost,
) -> Step:
    match event:
        case PromptFollowed():
            return _followed(state, prompt, event)
        case DialogReached():
            return _reached(prompt, event)
        case HolderConnected():
            return _holder_connected(state, prompt, event)
        case HolderLost():
            return _holder_lost(state, prompt, event)
        case CallBound():
            return _bound(state, prompt, event.call_id)
        case AnswerWritten():
            return _written(state, prompt, event.at, event.answer_id)
        case AnswerNotWritten():
            mine = prompt.answer is not None and prompt.answer.id == event.answer_id
            return _not_written(state, prompt, event.at, f"bounced: {event.why}") if mine else NOTHING
        case DialogClosed():
            return _dialog_closed(state, prompt, event)
        case DialogStillOpen():
            return _still_open(state, prompt, event.at)
        case CallSettled():
            return _settled(state, prompt, event)
        case PromptWithdrawn():
            return _move(state, prompt, "withdrawn", event.at, "agent", event.why or "no longer asked")
        case PromptNudged():
            moment = Moment(event.at, prompt.state, "agent", "the agent reminds you")
            return Step(prompts=(_noted(prompt, moment),)) if prompt.state == "open" else NOTHING
        case TraceLost():
            return _move(state, prompt, "trace_lost", event.at, "yourcall", event.why)
        case _:
            assert_never(event)


# --- sessions -----------------------------------------------------------------------------------------------


def _session_seen(state: State, event: SessionSeen) -> Step:
    new = event.session
    old = state.sessions.get(new.id)
    if old is None:
        return Step(sessions=(new,))
    merged = sessions.merged(old, new)
    if merged.state == "ended":
        return _session_ended(state, SessionEnded(event.at, new.id))
    # `seen_at` alone is no news: a row is written when something a person could notice changed.
    return NOTHING if merged == old else Step(sessions=(replace(merged, seen_at=max(old.seen_at, new.seen_at)),))


def _session_ended(state: State, event: SessionEnded) -> Step:
    why = f"the session ended{': ' + event.why if event.why else ''}"
    prompts: list[Prompt] = []
    commands: list[AnyCommand] = []
    for prompt in state.of_session(event.session_id):
        moved = _move(state, prompt, "session_ended", event.at, "session", why)
        if moved.changed:
            prompts += moved.prompts
            commands += moved.commands
        elif not over(prompt):
            # Unsure, or at the desk without a yes or no: it stays so, and there is nobody left to ask.
            moment = Moment(event.at, prompt.state, "session", why, prompt.answer.id if prompt.answer else "")
            left = replace(prompt, history=(*prompt.history, moment), held=False)
            outcome = "unknown" if prompt.state == "desk" else prompt.outcome
            prompts.append(replace(left, closed_at=prompt.closed_at or event.at, outcome=outcome))
            commands += [Release(prompt.id)] if prompt.held else []
    session = state.sessions.get(event.session_id)
    ended = (
        ()
        if session is None
        else (replace(session, state="ended", links=(), seen_at=event.at, goes_on_as=event.goes_on_as),)
    )
    return Step(prompts=tuple(prompts), sessions=ended, commands=tuple(commands))


# --- a prompt and its holder --------------------------------------------------------------------------------


def _raised(state: State, event: PromptRaised) -> Step:
    new = event.prompt
    old = state.prompts.get(new.id)
    if old is not None:
        if not same_request(old, new) or not new.held:
            return NOTHING  # an id taken by another request, or a request told again by one who cannot answer it
        if old.link != new.link and old.state != "open":
            return NOTHING  # keys are being pressed for it: nobody else carries that answer too
        return _holder_connected(state, _as_asked(old, new), HolderConnected(event.at, new.id))
    asks = Moment(event.at, "open", "agent", "the agent asks")
    opened = replace(new, state="open", history=(asks,), answer=None, outcome=None, closed_at=None)
    if new.kind in PAUSES:
        return _paused(state, opened, event.at)
    # A subagent may ask after the turn is over: then the session is not ready after all.
    ready = [p for p in state.of_session(new.session_id) if p.state == "open" and p.kind == "ready"]
    over = [
        _move(state, p, "withdrawn", event.at, "agent", "the session asks something else first") for p in ready
    ]
    return Step(
        prompts=(*(p for moved in over for p in moved.prompts), opened),
        sessions=sessions.waiting(state, new.session_id),
        commands=tuple(c for moved in over for c in moved.commands),
    )


def _as_asked(old: Prompt, new: Prompt) -> Prompt:
    """The holder is back: what the request itself offers comes before what its dialog on a screen does."""
    if old.link == new.link:
        return old
    return replace(old, link=new.link, questions=new.questions, request=new.request, held=False)


def _paused(state: State, new: Prompt, at: float) -> Step:
    """Ready, or stuck: it waits for nothing in particular, so whatever is really asked comes first."""
    others = [p for p in state.of_session(new.session_id) if p.state == "open"]
    if new.kind == "ready" and any(p.kind not in PAUSES for p in others):
        return NOTHING  # a subagent still asks: the session is not ready
    alike = [p for p in others if p.fingerprint == new.fingerprint]
    older = [_move(state, p, "withdrawn", at, "agent", "asked anew") for p in alike]
    return Step(
        prompts=(*(p for moved in older for p in moved.prompts), new),
        commands=tuple(c for moved in older for c in moved.commands),
    )


def _holder_connected(state: State, prompt: Prompt, event: HolderConnected) -> Step:
    answer = prompt.answer
    if prompt.state in CLOSED:
        return Step(commands=(Release(prompt.id),))
    if event.wrote:
        return _written(state, prompt, event.at, event.wrote)
    if handed(prompt):
        return NOTHING  # an old word that comes late: since then it has written
    # It attests that it has written nothing, and it is the only one who could.
    held = replace(prompt, held=True)
    if prompt.state == "unsure":
        return _not_written(state, held, event.at, "bounced: the request is still held, and nothing was written")
    again = () if prompt.held else (_noted(held, Moment(event.at, prompt.state, "yourcall", "held again")),)
    carry = (Deliver(prompt.id, answer),) if prompt.state == "answering" and answer is not None else ()
    return Step(prompts=again, commands=carry)


def _holder_lost(state: State, prompt: Prompt, event: HolderLost) -> Step:
    let_go = replace(prompt, held=False)
    if prompt.state == "answering":
        why = f"lost touch while the answer was on its way{': ' + event.why if event.why else ''}"
        return _move(state, let_go, "trace_lost", event.at, "yourcall", why)
    if not prompt.held:
        return NOTHING
    if prompt.state == "open":
        detail = f"answer at the desk: {event.why or 'nothing holds the request any more'}"
        return Step(prompts=(_noted(let_go, Moment(event.at, "open", "yourcall", detail)),))
    return Step(prompts=(let_go,))


def _followed(state: State, prompt: Prompt, event: PromptFollowed) -> Step:
    """It is the same request of the same run; only the name of the run is another one."""
    if not unsettled(prompt) or event.session_id in ("", prompt.session_id):
        return NOTHING
    record = prompt.record or event.record
    gone = replace(prompt, session_id=event.session_id, record=record, body=event.body or prompt.body)
    moment = Moment(event.at, prompt.state, "yourcall", f"its session goes on as {event.session_id}")
    asks = prompt.state == "open" and prompt.kind not in PAUSES
    rows = sessions.waiting(state, event.session_id) if asks else ()
    return Step(prompts=(_noted(gone, moment),), sessions=rows)


def _reached(prompt: Prompt, event: DialogReached) -> Step:
    """Only while nobody holds it and nothing is under way: an answer knows one way only."""
    if prompt.state != "open" or prompt.held or prompt.kind in PAUSES or not event.questions:
        return NOTHING
    detail = "it can be answered again: its dialog is on the screen"
    again = replace(prompt, link=event.link, held=True, questions=event.questions, request=event.request)
    return Step(prompts=(_noted(again, Moment(event.at, "open", "yourcall", detail)),))


def _bound(state: State, prompt: Prompt, call_id: str) -> Step:
    others = (p.call_id for p in state.of_session(prompt.session_id) if p.id != prompt.id)
    if prompt.call_id or not call_id or call_id in others:
        return NOTHING  # one call, one prompt: the record of the one must never settle the other
    return Step(prompts=(replace(prompt, call_id=call_id),))


# --- answers ------------------------------------------------------------------------------------------------


def _answered(state: State, event: AnswerGiven) -> Step:
    answer = event.answer
    prompt = state.prompts.get(event.prompt_id)
    if prompt is None:
        return Step(verdict=Verdict("refused", "There is no such prompt."))
    if any(m.answer_id == answer.id for m in prompt.history):
        return Step(verdict=verdict_of(prompt, answer.id))  # told twice; an answer is taken once
    late = safety.too_late(prompt)
    if late is not None:
        detail = f"too late: an answer by {answer.by} was not used"
        noted = _noted(prompt, Moment(event.at, prompt.state, answer.by, detail, answer.id))
        return Step(prompts=() if noted is prompt else (noted,), verdict=late)
    wrong = safety.objection(prompt, answer)
    if wrong is not None:
        return Step(verdict=Verdict("refused", wrong.reason))
    words = ", ".join(option.label for option in safety.chosen(prompt, answer))[:LONGEST_WORDS] or "replied"
    if answer.input is not None:
        words += " (edited)"
    taken = _move(state, replace(prompt, answer=answer), "answer_taken", event.at, answer.by, words)
    return Step(
        prompts=taken.prompts,
        sessions=(*taken.sessions, *outline.counted(state, prompt, answer, event.at)),
        commands=(*taken.commands, Deliver(prompt.id, answer)),
        verdict=Verdict("taken", words, answer.by, event.at),
    )


def _written(state: State, prompt: Prompt, at: float, answer_id: str) -> Step:
    if prompt.answer is None or prompt.answer.id != answer_id:
        given_up = any(m.answer_id == answer_id and m.state == "answering" for m in prompt.history)
        if not given_up or prompt.state not in ("open", "answering"):
            return NOTHING
        # It came back to us once, and was written after all: whatever happens now may be its doing.
        why = "an answer that had come back was written after all"
        return _move(state, replace(prompt, held=False), "trace_lost", at, "yourcall", why)
    by = prompt.answer.by
    if prompt.state == "unsure" and over(prompt):
        return NOTHING
    if prompt.state == "unsure" and decided(prompt):
        return _move(state, prompt, "proof_ours", at, "agent", f"handed to the agent; it was {prompt.outcome}")
    return _move(state, prompt, "written", at, by, "handed to the agent")


def _not_written(state: State, prompt: Prompt, at: float, why: str) -> Step:
    """The holder's word that nothing of ours reached the agent."""
    if handed(prompt):
        return NOTHING
    by = prompt.answer.by if prompt.answer else "yourcall"
    if prompt.state == "unsure" and decided(prompt):
        return _move(state, prompt, "proof_desk", at, "desk", f"it was {prompt.outcome}; no answer was written")
    if prompt.state == "unsure" and over(prompt) and not prompt.held:
        return _move(state, prompt, "unanswered", at, "session", "the session ended before an answer was written")
    return _move(state, prompt, "not_written", at, by, why)


# --- signs and proof ----------------------------------------------------------------------------------------


def _dialog_closed(state: State, prompt: Prompt, event: DialogClosed) -> Step:
    stopped = event.to == "idle"
    if prompt.state == "sent":
        words = "the dialog closed and the turn stopped" if stopped else "the dialog closed and the agent goes on"
        return _move(state, prompt, "dialog_closed", event.at, "agent", words, "idle" if stopped else "working")
    words = "stopped at the desk" if stopped else "answered at the desk"
    ended = replace(prompt, outcome="stopped") if stopped else prompt
    return _move(state, ended, "dialog_closed", event.at, "desk", words)


def _still_open(state: State, prompt: Prompt, at: float) -> Step:
    # Not news: seen before the answer was written, or in the file that a dead session left behind, or about a
    # request whose holder has the answer in hand and must speak first, or one whose end is on record.
    unheard = prompt.held and prompt.answer is not None
    if at < since(prompt) or over(prompt) or unheard or decided(prompt):
        return NOTHING
    why = "bounced: the agent did not take the answer; its dialog is still open"
    if prompt.answer is None:
        why = "the dialog is still open"
    return _move(state, prompt, "still_open", at, "agent", why)


def _settled(state: State, prompt: Prompt, event: CallSettled) -> Step:
    told = event.detail or event.outcome
    by = "hook" if event.source == "held" else "desk"
    settled = replace(prompt, outcome=event.outcome)
    if prompt.state == "desk":
        if decided(prompt) or prompt.outcome == event.outcome:
            return NOTHING
        return Step(prompts=(_noted(settled, Moment(event.at, "desk", by, told)),))
    if event.outcome == "unknown" and event.source == "unknown":
        return NOTHING  # a record that names neither what nor who
    # Once it has ended, it is known that no answer of ours was written: whoever decided alike, it was not us.
    if event.source == "desk" or prompt.state == "ended" or not _agrees(prompt, event):
        return _move(state, settled, "proof_desk", event.at, by, told)
    # In `answering` the table knows no such move: the holder must speak first, and the record is told again.
    if event.source == "held" or handed(prompt):
        return _move(state, settled, "proof_ours", event.at, "agent", told)
    if prompt.state != "unsure" or decided(prompt):
        return NOTHING
    # It went as we asked, but nobody says by whom, and we do not know that our answer ever got there.
    unnamed = Moment(
        event.at,
        "unsure",
        "agent",
        f"{told}; it is not known by whose answer",
        prompt.answer.id if prompt.answer else "",
    )
    return Step(prompts=(_noted(settled, unnamed),))


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


# --- rows ---------------------------------------------------------------------------------------------------


def _move(
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
        moved = replace(moved, closed_at=at, held=False)
        commands = (Release(prompt.id),) if prompt.held else ()
    elif after in ("sent", "accepted"):
        moved = replace(moved, held=False)  # the holder has written its one answer and is gone
    if signal in ("session_ended", "unanswered"):
        return Step(prompts=(moved,), commands=commands)
    if after == "open":
        return Step(prompts=(moved,), sessions=sessions.waiting(state, moved.session_id), commands=commands)
    to = session or (None if after not in CLOSED else "idle" if moved.outcome == "stopped" else "working")
    rows = sessions.no_longer_waiting(state, moved, to) if to else ()
    return Step(prompts=(moved,), sessions=rows, commands=commands)


def _noted(prompt: Prompt, moment: Moment) -> Prompt:
    """The prompt with one more line in its history, or the changed prompt alone when there are too many."""
    if len(prompt.history) >= MOST_MOMENTS:
        return prompt
    return replace(prompt, history=(*prompt.history, moment))
