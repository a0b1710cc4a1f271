"""Prompts of before: raised through an earlier connection, and not settled when that one was lost.

Rule: what the server asks again is held again; what stands on record is told; of the rest it is said that nobody
knows. Nothing is concluded from silence before the server had time to speak.
"""

from __future__ import annotations

from collections.abc import Collection

from yourcall.agents.codex import requests
from yourcall.agents.codex.live.proof import in_words, outcome_of
from yourcall.agents.codex.wire import Item, decoded
from yourcall.core.step import PAUSES
from yourcall.model.events import AnyEvent, CallSettled, PromptWithdrawn, SessionEnded, TraceLost
from yourcall.model.prompts import Prompt


class EarlierPrompts:
    def __init__(self) -> None:
        self._prompts: dict[str, tuple[Prompt, str]] = {}  # with the thread it was asked in
        self._sessions: set[str] = set()
        self._gone: set[str] = set()

    def add_session(self, session_id: str) -> None:
        self._sessions.add(session_id)

    def loaded(self, ids: Collection[str]) -> None:
        """What the server has now; a session that is not among it is over."""
        self._gone = self._sessions - set(ids)

    def add(self, prompt: Prompt, request: bytes) -> None:
        kept = decoded(requests.Request, request)
        params = decoded(requests.Params, kept.params) if kept else None
        self._prompts[prompt.id] = (prompt, params.threadId if params else prompt.session_id)

    def take(self, prompt_id: str) -> bool:
        """It is asked again; False if it is new."""
        return self._prompts.pop(prompt_id, None) is not None

    def pauses_in(self, thread_id: str) -> list[str]:
        """The pauses that waited in this thread."""
        told = self._prompts.values()
        return [p.id for p, t in told if t == thread_id and p.kind in PAUSES and p.state == "open"]

    def to_look_up(self) -> list[tuple[str, dict[str, object]]]:
        """The items to be read, by prompt: their end may be on record, also of a thread that is not loaded."""
        return [
            (prompt.id, {"threadId": thread, "turnId": prompt.turn_id, "itemIds": [prompt.call_id]})
            for prompt, thread in self._prompts.values()
            if prompt.call_id and prompt.turn_id
        ]

    def found(self, prompt_id: str, items: list[Item], at: float) -> tuple[AnyEvent, ...]:
        for item in items if prompt_id in self._prompts else []:
            outcome = outcome_of(item)
            if outcome is not None:
                self._prompts.pop(prompt_id)
                return (CallSettled(at, prompt_id, outcome, "unknown", in_words(item, outcome)),)
        return ()

    def give_up(self, at: float) -> list[AnyEvent]:
        """What was neither asked again nor found: the server knows nothing of it."""
        events: list[AnyEvent] = []
        for prompt, _ in self._prompts.values():
            if prompt.state == "desk":
                events.append(CallSettled(at, prompt.id, "unknown", "desk", "nobody tells what was answered"))
            elif prompt.state == "open":
                why = "Codex no longer asks this: it was answered, or its server was started anew"
                events.append(PromptWithdrawn(at, prompt.id, why))
            else:
                events.append(TraceLost(at, prompt.id, "Codex's server was started anew, and does not know it"))
        events += [SessionEnded(at, session_id, "Codex has closed it") for session_id in sorted(self._gone)]
        self._prompts.clear()
        self._gone.clear()
        return events
