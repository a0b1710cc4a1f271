"""The table, from outside: what every event does in every state, and that no state is a dead end."""

from __future__ import annotations

from typing import get_args

import pytest
from core_scene import answer, in_state, permission

from yourcall.core.lifecycle import CLOSED, IN_FLIGHT, STATES, TRANSITIONS, Signal, diagram, following
from yourcall.model.events import (
    AnswerGiven,
    AnswerNotWritten,
    AnswerWritten,
    AnyEvent,
    CallSettled,
    DialogClosed,
    DialogStillOpen,
    HolderConnected,
    HolderLost,
    PromptNudged,
    PromptRaised,
    PromptWithdrawn,
    SessionEnded,
    TraceLost,
)
from yourcall.model.prompts import PromptState

SIGNALS: tuple[Signal, ...] = get_args(Signal)

EVENTS: dict[str, AnyEvent] = {
    "raised again": PromptRaised(0, permission()),
    "told by another": PromptRaised(0, permission(answerable=False)),
    "holder is back": HolderConnected(0, "p1"),
    "it wrote a1": HolderConnected(0, "p1", "a1"),
    "it wrote another": HolderConnected(0, "p1", "a9"),
    "holder lost": HolderLost(0, "p1", "broken"),
    "answer a2": AnswerGiven(0, "p1", answer("deny", "a2", "ben")),
    "a1 written": AnswerWritten(0, "p1", "a1"),
    "a1 not written": AnswerNotWritten(0, "p1", "a1", "it could not"),
    "another written": AnswerWritten(0, "p1", "a9"),
    "closed, busy": DialogClosed(0, "p1", "busy"),
    "closed, idle": DialogClosed(0, "p1", "idle"),
    "still open": DialogStillOpen(0, "p1"),
    "allowed, hook": CallSettled(0, "p1", "allowed", "held"),
    "allowed, desk": CallSettled(0, "p1", "allowed", "desk"),
    "allowed, unnamed": CallSettled(0, "p1", "allowed", "unknown"),
    "denied, hook": CallSettled(0, "p1", "denied", "held"),
    "denied, desk": CallSettled(0, "p1", "denied", "desk"),
    "denied, unnamed": CallSettled(0, "p1", "denied", "unknown"),
    "unknown, unnamed": CallSettled(0, "p1", "unknown", "unknown"),
    "no longer asked": PromptWithdrawn(0, "p1"),
    "reminded": PromptNudged(0, "p1"),
    "session ended": SessionEnded(0, "s1"),
    "trace lost": TraceLost(0, "p1", "nobody can tell"),
}

# In all stories anna has answered "allow" (a1), except where the prompt was never answered: open, desk, ended.
# A word is the state after the event; `note` the same state, but the row says more; `-` nothing at all.
# `+D` an answer is carried, `+R` the holder is let go.
WHAT_HAPPENS = """
                  open         answering  sent       accepted   confirmed  desk   ended  unsure
raised again      -            -+D        -          -          -+R        -+R    -+R    open
told by another   -            -          -          -          -          -      -      -
holder is back    -            -+D        -          -          -+R        -+R    -+R    open
it wrote a1       -            sent       -          -          -+R        -+R    -+R    sent
it wrote another  -            -          -          -          -+R        -+R    -+R    -
holder lost       note         unsure     -          -          -          -      -      -
answer a2         answering+D  note       note       note       note       note   note   note
a1 written        -            sent       -          -          -          -      -      sent
a1 not written    -            open       -          -          -          -      -      open
another written   -            -          -          -          -          -      -      -
closed, busy      desk+R       desk+R     accepted   -          -          -      -      -
closed, idle      desk+R       desk+R     accepted   -          -          -      -      -
still open        -            -          open       -          -          -      -      open
allowed, hook     desk+R       -          confirmed  confirmed  -          note   desk   confirmed
allowed, desk     desk+R       desk+R     desk       desk       -          note   desk   desk
allowed, unnamed  desk+R       -          confirmed  confirmed  -          note   desk   note
denied, hook      desk+R       desk+R     desk       desk       -          note   desk   desk
denied, desk      desk+R       desk+R     desk       desk       -          note   desk   desk
denied, unnamed   desk+R       desk+R     desk       desk       -          note   desk   desk
unknown, unnamed  -            -          -          -          -          note   -      -
no longer asked   ended+R      -          -          -          -          -      -      -
reminded          note         -          -          -          -          -      -      -
session ended     ended+R      unsure+R   unsure     unsure     -          note   -      note
trace lost        unsure       unsure     unsure     unsure     -          -      -      -
"""


def cells() -> list[tuple[str, PromptState, str]]:
    _, *lines = WHAT_HAPPENS.strip().splitlines()
    found: list[tuple[str, PromptState, str]] = []
    for line in lines:
        name = next(n for n in EVENTS if line.startswith(n + " "))
        found += [(name, state, word) for state, word in zip(STATES, line[len(name) :].split(), strict=True)]
    return found


@pytest.mark.parametrize(("name", "state", "expected"), cells(), ids=lambda value: str(value))
def test_what_an_event_does_in_a_state(name: str, state: PromptState, expected: str) -> None:
    scene = in_state(state)
    before, wished = scene.row(), len(scene.wishes)
    scene.feed(EVENTS[name])
    after = scene.row()
    word = "-" if after == before else after.state if after.state != before.state else "note"
    wishes = "".join(f"+{type(wish).__name__[0]}" for wish in scene.wishes[wished:])
    assert word + wishes == expected


def test_the_matrix_covers_every_event_and_every_state() -> None:
    assert {(name, state) for name, state, _ in cells()} == {(n, s) for n in EVENTS for s in STATES}


@pytest.mark.parametrize("state", STATES)
@pytest.mark.parametrize("signal", SIGNALS)
def test_a_pair_is_in_the_table_or_changes_nothing(state: PromptState, signal: Signal) -> None:
    after = following(state, signal)
    if (state, signal) in TRANSITIONS:
        assert after in STATES
        assert after != state, "a signal that leads nowhere is no transition"
    else:
        assert after is None


def reachable(start: PromptState) -> set[PromptState]:
    found: set[PromptState] = {start}
    while more := {after for (state, _), after in TRANSITIONS.items() if state in found} - found:
        found |= more
    return found


def test_every_state_can_be_reached_from_open() -> None:
    assert reachable("open") == set(STATES)


@pytest.mark.parametrize("state", [s for s in STATES if s not in CLOSED])
def test_what_is_not_closed_can_still_close_each_way(state: PromptState) -> None:
    assert reachable(state) >= {"confirmed", "desk"}


def test_every_signal_is_used() -> None:
    assert {signal for _, signal in TRANSITIONS} == set(SIGNALS)


def test_only_a_record_leads_to_confirmed() -> None:
    assert {signal for (_, signal), after in TRANSITIONS.items() if after == "confirmed"} == {"proof_ours"}


def test_no_answer_leads_out_of_a_closed_state_or_into_a_second_delivery() -> None:
    taken = {state for (state, signal) in TRANSITIONS if signal == "answer_taken"}
    assert taken == {"open"}
    assert not (IN_FLIGHT & CLOSED)


def test_what_is_closed_stays_closed() -> None:
    assert all(after in CLOSED for (state, _), after in TRANSITIONS.items() if state in CLOSED)


def test_the_diagram_draws_the_whole_table() -> None:
    lines = [line.strip() for line in diagram().splitlines()]
    assert lines[:2] == ["stateDiagram-v2", "[*] --> open"]
    drawn = [line for line in lines[2:] if ": " in line]
    assert drawn == [f"{state} --> {after}: {signal}" for (state, signal), after in TRANSITIONS.items()]
    assert {line for line in lines if line.endswith("--> [*]")} == {f"{state} --> [*]" for state in CLOSED}
