"""`step(state, event)`: the one place where anything is decided.

Rule: no clock, no I/O, no randomness; it reads the state and returns new rows and wishes. What an event does to
a prompt's state is looked up in the table of `lifecycle`; this file says which signal an event is, and writes
the history in words.
"""

from __future__ import annotations

from typing import assert_never

from msgspec.structs import replace

from yourcall.core import plan_cooldown, safety
from yourcall.core.identity import DISMISSED, NUDGED, handed, over, same_request, unsettled
from yourcall.core.lifecycle import CLOSED
from yourcall.core.outcomes import dialog_closed, not_written, settled, still_open, verdict_of, written
from yourcall.core.state import State, Step, merged_session, waiting
from yourcall.core.transition import NOTHING, move, noted
from yourcall.model.events import (
    AnswerGiven,
    AnswerNotWritten,
    AnswerWritten,
    AnyCommand,
    AnyEvent,
    ApprovalGiven,
    AttemptRefused,
    CallBound,
    CallSettled,
    Deliver,
    DialogClosed,
    DialogReached,
    DialogStillOpen,
    HolderConnected,
    HolderLost,
    PromptDismissed,
    PromptFollowed,
    PromptNudged,
    PromptRaised,
    PromptWithdrawn,
    Release,
    SessionEnded,
    SessionSeen,
    TraceLost,
)
from yourcall.model.prompts import Answer, Moment, Prompt, Verdict
from yourcall.model.sessions import Session

# Nobody asks anything there: the agent has stopped, and the next word is the person's.
PAUSES = frozenset({"ready", "problem"})

# The words of an answer are made of labels that an agent, or its model, chose.
LONGEST_WORDS = 500

# Of persons who have to agree; a policy that wants more is one that nobody can follow.
MOST_APPROVALS = 20


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
        case ApprovalGiven():
            return _approved(state, event)
        case AttemptRefused():
            return _attempted(state, event)
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
    | PromptDismissed
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
            return written(state, prompt, event.at, event.answer_id)
        case AnswerNotWritten():
            mine = prompt.answer is not None and prompt.answer.id == event.answer_id
            return not_written(state, prompt, event.at, f"bounced: {event.why}") if mine else NOTHING
        case DialogClosed():
            return dialog_closed(state, prompt, event)
        case DialogStillOpen():
            return still_open(state, prompt, event.at)
        case CallSettled():
            return settled(state, prompt, event)
        case PromptWithdrawn():
            return move(state, prompt, "withdrawn", event.at, "agent", event.why or "no longer asked")
        case PromptDismissed():
            return _dismissed(state, prompt, event)
        case PromptNudged():
            moment = Moment(event.at, prompt.state, "agent", NUDGED)
            return Step(prompts=(noted(prompt, moment),)) if prompt.state == "open" else NOTHING
        case TraceLost():
            return move(state, prompt, "trace_lost", event.at, "yourcall", event.why)
        case _:
            assert_never(event)


# --- sessions -----------------------------------------------------------------------------------------------


def _session_seen(state: State, event: SessionSeen) -> Step:
    new = event.session
    old = state.sessions.get(new.id)
    if old is None:
        return Step(sessions=(new,))
    merged = merged_session(old, new)
    if merged.state == "ended":
        return _session_ended(state, SessionEnded(event.at, new.id))
    if merged.state in ("idle", "working") and any(map(_blocks, state.of_session(new.id))):
        merged = replace(merged, state="waiting")  # hooks that only inform overtake each other: this one is late
    # `seen_at` alone is no news: a row is written when something a person could notice changed.
    return NOTHING if merged == old else Step(sessions=(replace(merged, seen_at=max(old.seen_at, new.seen_at)),))


def _blocks(prompt: Prompt) -> bool:
    """Does its session wait for it, whatever else is said of the session?"""
    return prompt.state == "open" and prompt.kind not in PAUSES and prompt.link != "ask"


def _session_ended(state: State, event: SessionEnded) -> Step:
    why = f"the session ended{': ' + event.why if event.why else ''}"
    prompts: list[Prompt] = []
    commands: list[AnyCommand] = []
    rows: dict[str, Session] = {}
    session = state.sessions.get(event.session_id)
    for prompt in state.of_session(event.session_id):
        if event.goes_on_as and unsettled(prompt):
            # Raised under the old name while the others were told of the new one: the run still waits for it.
            record = session.transcript if session is not None else ""
            follows = _followed(state, prompt, PromptFollowed(event.at, prompt.id, event.goes_on_as, record))
            prompts += follows.prompts
            rows.update((row.id, row) for row in follows.sessions)
            continue
        moved = move(state, prompt, "session_ended", event.at, "session", why)
        if moved.changed:
            prompts += moved.prompts
            commands += moved.commands
        elif not over(prompt):
            # Unsure, or at the desk without a yes or no: it stays so, and there is nobody left to ask.
            moment = Moment(event.at, prompt.state, "session", why, prompt.answer.id if prompt.answer else "")
            left = replace(prompt, history=(*prompt.history, moment), answerable=False)
            outcome = "unknown" if prompt.state == "desk" else prompt.outcome
            prompts.append(replace(left, closed_at=prompt.closed_at or event.at, outcome=outcome))
            commands += [Release(prompt.id)] if prompt.answerable else []
    if session is not None:
        rows[session.id] = replace(session, state="ended", links=(), seen_at=event.at, goes_on_as=event.goes_on_as)
    return Step(prompts=tuple(prompts), sessions=tuple(rows.values()), commands=tuple(commands))


# --- a prompt and its holder --------------------------------------------------------------------------------


def _raised(state: State, event: PromptRaised) -> Step:
    new = event.prompt
    old = state.prompts.get(new.id)
    if old is not None:
        if not same_request(old, new) or not new.answerable:
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
    over = [move(state, p, "withdrawn", event.at, "agent", "the session asks something else first") for p in ready]
    return Step(
        prompts=(*(p for moved in over for p in moved.prompts), opened),
        sessions=waiting(state, new.session_id),
        commands=tuple(c for moved in over for c in moved.commands),
    )


def _as_asked(old: Prompt, new: Prompt) -> Prompt:
    """The holder is back: what the request itself offers comes before what its dialog on a screen does."""
    if old.link == new.link:
        return old
    return replace(old, link=new.link, questions=new.questions, request=new.request, answerable=False)


def _paused(state: State, new: Prompt, at: float) -> Step:
    """Ready, or stuck: it waits for nothing in particular, so whatever is really asked comes first."""
    others = [p for p in state.of_session(new.session_id) if p.state == "open"]
    if new.kind == "ready" and any(p.kind not in PAUSES for p in others):
        return NOTHING  # a subagent still asks: the session is not ready
    alike = [p for p in others if p.fingerprint == new.fingerprint or p.kind == new.kind == "ready"]
    if any(_follows(p, new) for p in alike):
        return NOTHING
    older = [move(state, p, "withdrawn", at, "agent", "asked anew") for p in alike]
    return Step(
        prompts=(*(p for moved in older for p in moved.prompts), new),
        commands=tuple(c for moved in older for c in moved.commands),
    )


def _follows(prompt: Prompt, new: Prompt) -> bool:
    """Is this a later stop of the same turn than the one that comes in now? Hooks overtake each other."""
    return prompt.turn_id == new.turn_id != "" and prompt.fingerprint.startswith(new.fingerprint + ":")


def _holder_connected(state: State, prompt: Prompt, event: HolderConnected) -> Step:
    answer = prompt.answer
    if prompt.state in CLOSED:
        return Step(commands=(Release(prompt.id),))
    if event.wrote:
        return written(state, prompt, event.at, event.wrote)
    if handed(prompt):
        return NOTHING  # an old word that comes late: since then it has written
    # It attests that it has written nothing, and it is the only one who could.
    held = replace(prompt, answerable=True)
    if prompt.state == "unsure":
        return not_written(state, held, event.at, "bounced: the request is still held, and nothing was written")
    again = () if prompt.answerable else (noted(held, Moment(event.at, prompt.state, "yourcall", "held again")),)
    carry = (Deliver(prompt.id, answer),) if prompt.state == "answering" and answer is not None else ()
    return Step(prompts=again, commands=carry)


def _holder_lost(state: State, prompt: Prompt, event: HolderLost) -> Step:
    let_go = replace(prompt, answerable=False)
    if prompt.state == "answering":
        why = f"lost touch while the answer was on its way{': ' + event.why if event.why else ''}"
        return move(state, let_go, "trace_lost", event.at, "yourcall", why)
    if not prompt.answerable:
        return NOTHING
    if prompt.state == "open":
        detail = f"answer at the desk: {event.why or 'nothing holds the request any more'}"
        return Step(prompts=(noted(let_go, Moment(event.at, "open", "yourcall", detail)),))
    return Step(prompts=(let_go,))


def _followed(state: State, prompt: Prompt, event: PromptFollowed) -> Step:
    """It is the same request of the same run; only the name of the run is another one."""
    if not unsettled(prompt) or event.session_id in ("", prompt.session_id):
        return NOTHING
    record = prompt.record or event.record
    gone = replace(prompt, session_id=event.session_id, record=record, body=event.body or prompt.body)
    moment = Moment(event.at, prompt.state, "yourcall", f"its session goes on as {event.session_id}")
    asks = prompt.state == "open" and prompt.kind not in PAUSES
    rows = waiting(state, event.session_id) if asks else ()
    return Step(prompts=(noted(gone, moment),), sessions=rows)


def _dismissed(state: State, prompt: Prompt, event: PromptDismissed) -> Step:
    if prompt.state == "answering":
        return Step(verdict=Verdict("refused", "An answer is on its way: wait for what becomes of it."))
    only_us = prompt.link == "stdio" and prompt.state == "open" and prompt.session_id in state.sessions
    if only_us and prompt.kind not in PAUSES:
        why = "Its agent would wait for ever, for it has no terminal: answer it, or stop its session."
        return Step(verdict=Verdict("refused", why))
    moved = move(state, prompt, "dismissed", event.at, event.by, DISMISSED)
    if not moved.changed:
        return Step(verdict=Verdict("too_late", "It is over already."))
    return replace(moved, verdict=Verdict("confirmed", "dismissed", event.by, event.at))


def _reached(prompt: Prompt, event: DialogReached) -> Step:
    """Only while nobody holds it and nothing is under way: an answer knows one way only."""
    if prompt.state != "open" or prompt.answerable or prompt.kind in PAUSES or not event.questions:
        return NOTHING
    detail = "it can be answered again: its dialog is on the screen"
    again = replace(prompt, link=event.link, answerable=True, questions=event.questions, request=event.request)
    return Step(prompts=(noted(again, Moment(event.at, "open", "yourcall", detail)),))


def _bound(state: State, prompt: Prompt, call_id: str) -> Step:
    others = (p.call_id for p in state.of_session(prompt.session_id) if p.id != prompt.id)
    if prompt.call_id or not call_id or call_id in others:
        return NOTHING  # one call, one prompt: the record of the one must never settle the other
    return Step(prompts=(replace(prompt, call_id=call_id),))


# --- answers ------------------------------------------------------------------------------------------------


def _answered(state: State, event: AnswerGiven) -> Step:
    answer = event.answer
    prompt = _answerable(state, event)
    if isinstance(prompt, Step):
        return prompt
    text = _in_words(prompt, answer)
    if answer.others:
        text += f" (with {', '.join(answer.others)})"
    taken = move(state, replace(prompt, answer=answer), "answer_taken", event.at, answer.by, text)
    return Step(
        prompts=taken.prompts,
        sessions=(*taken.sessions, *plan_cooldown.counted(state, prompt, answer, event.at)),
        commands=(*taken.commands, Deliver(prompt.id, answer)),
        verdict=Verdict("taken", text, answer.by, event.at),
    )


def _approved(state: State, event: ApprovalGiven) -> Step:
    """One yes of several. It is recorded with the prompt, which stays open; a person counts once."""
    prompt = _answerable(state, event)
    if isinstance(prompt, Step):
        return prompt
    text = f"{event.given} of {event.of} who have to agree: {_in_words(prompt, event.answer)}"
    others = tuple(each for each in prompt.approvals if each.person != event.approval.person)
    agreed = replace(prompt, approvals=(*others, event.approval)[-MOST_APPROVALS:])
    moment = Moment(event.at, "open", event.answer.by, text)
    return Step(prompts=(noted(agreed, moment),), verdict=Verdict("approved", text, event.answer.by, event.at))


def _answerable(state: State, event: AnswerGiven | ApprovalGiven) -> Prompt | Step:
    """The prompt, if this answer may be taken for it; else what is said to it."""
    answer = event.answer
    prompt = state.prompts.get(event.prompt_id)
    if prompt is None:
        return Step(verdict=Verdict("refused", "There is no such prompt."))
    if any(m.answer_id == answer.id for m in prompt.history):
        return Step(verdict=verdict_of(prompt, answer.id))  # told twice; an answer is taken once
    late = safety.too_late(prompt, answer.by if answer.via == "http" else "")
    if late is not None:
        detail = f"too late: an answer by {answer.by} was not used"
        told = noted(prompt, Moment(event.at, prompt.state, answer.by, detail, answer.id))
        return Step(prompts=() if told is prompt else (told,), verdict=late)
    wrong = safety.objection(prompt, answer)
    return prompt if wrong is None else Step(verdict=Verdict("refused", wrong.reason))


def _in_words(prompt: Prompt, answer: Answer) -> str:
    text = ", ".join(option.label for option in safety.chosen(prompt, answer))[:LONGEST_WORDS] or "replied"
    return f"{text} (edited)" if answer.input is not None else text


def _attempted(state: State, event: AttemptRefused) -> Step:
    """The prompt stays as it is; who looks at it, or at the session, reads what was tried."""
    text = f"refused: {event.what}. {event.why}"[:LONGEST_WORDS]
    prompt = state.prompts.get(event.prompt_id)
    if event.prompt_id and prompt is None:
        return NOTHING
    told = noted(prompt, Moment(event.at, prompt.state, event.by, text)) if prompt is not None else None
    session = state.sessions.get(event.session_id)
    warned = replace(session, warning=text) if session is not None else None
    return Step(
        prompts=() if told is None or told is prompt else (told,),
        sessions=() if warned is None or warned == session else (warned,),
    )
