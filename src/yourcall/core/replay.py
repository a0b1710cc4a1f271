"""Replay proves what the rows say: the same facts, taken one by one, give the same rows.

Rule: uses `step` and nothing else; a difference between this and the stored rows is a bug, never repaired here.
"""

from __future__ import annotations

from collections.abc import Iterable

from yourcall.core.state import State, Step
from yourcall.core.step import step
from yourcall.model.events import AnyEvent, PromptRaised, SessionEnded, SessionSeen
from yourcall.model.prompts import Prompt
from yourcall.model.sessions import Session


def prompt_of(event: AnyEvent) -> str:
    """The id of the prompt that an event is about; empty if it is about a session."""
    match event:
        case SessionSeen() | SessionEnded():
            return ""
        case PromptRaised():
            return event.prompt.id
        case _:
            return event.prompt_id


def recall(state: State, event: AnyEvent, known: Prompt | None) -> Step:
    """Step, with a prompt that has left the state brought back for an event about it.

    A late answer is told who was first, a holder that outlived its prompt is let go (and does not raise it anew),
    and a record that is read after the end of the session still counts. `known` is the latest row there is: one
    that is decided but not yet on disk comes before the one on disk.
    """
    if known is None or known.id in state.prompts or known.id != prompt_of(event):
        return step(state, event)
    state.prompts[known.id] = known
    try:
        return step(state, event)
    finally:
        del state.prompts[known.id]


def replay(facts: Iterable[AnyEvent]) -> tuple[dict[str, Prompt], dict[str, Session]]:
    """All rows, closed ones too, that these facts lead to."""
    state = State()
    prompts: dict[str, Prompt] = {}
    sessions: dict[str, Session] = {}
    for event in facts:
        done = recall(state, event, prompts.get(prompt_of(event)))
        state.take(done)
        prompts.update((p.id, p) for p in done.prompts)
        sessions.update((s.id, s) for s in done.sessions)
    return prompts, sessions
