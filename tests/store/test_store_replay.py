"""Whatever happens, the log replayed gives the rows; before and after old things were forgotten."""

from __future__ import annotations

import asyncio
import tempfile
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from store_story import Life, body_of, opened, replayed, rows, stories

from yourcall.core.identity import unsettled
from yourcall.model.events import AnyEvent
from yourcall.model.prompts import Prompt


@given(story=stories(), cuts=st.lists(st.integers(0, 60), max_size=3))
@settings(max_examples=60, deadline=None)
def test_replay_of_the_log_equals_the_rows(story: list[AnyEvent], cuts: list[int]) -> None:
    """The daemon restarts at each cut: it knows only what is on disk."""
    with tempfile.TemporaryDirectory() as home:
        path = Path(home, "yourcall.db")
        start = 0
        for end in [*sorted(cuts), len(story)]:
            with opened(path) as store:
                life = Life(store)
                changes = life.run(story[start:end])
                start = max(start, end)
                assert replayed(store) == rows(store)
                assert [c.seq for c in changes] == list(
                    range(store.last_seq - len(changes) + 1, store.last_seq + 1)
                )
                prompts, sessions = store.live()
                assert {p.id: p for p in prompts} == life.state.prompts
                assert {s.id: s for s in sessions} == life.state.sessions


def _closed(prompt: Prompt) -> float:
    return prompt.history[-1].at if prompt.closed_at is None else prompt.closed_at


@pytest.mark.long
@given(
    first=stories(1), then=stories(100), before=st.floats(0, 70), again=st.floats(60, 170), restart=st.booleans()
)
@settings(max_examples=120, deadline=None)
def test_what_remains_after_pruning_replays_to_the_rows_that_remain(
    first: list[AnyEvent], then: list[AnyEvent], before: float, again: float, restart: bool
) -> None:
    with tempfile.TemporaryDirectory() as home:
        path = Path(home, "yourcall.db")
        with opened(path) as store:
            life = Life(store)
            for story, limit in ((first, before), (then, again)):
                life.run(story)
                prompts, sessions = rows(store)
                seq = store.last_seq
                asyncio.run(store.prune(limit))
                kept, kept_sessions = rows(store)
                gone = {p.id for p in prompts.values() if not unsettled(p) and _closed(p) < limit}
                assert kept == {k: p for k, p in prompts.items() if k not in gone}
                assert replayed(store) == (kept, kept_sessions)
                needed = {p.session_id for p in kept.values()}
                for session in sessions.values():
                    over = session.state == "ended" and session.seen_at < limit and session.id not in needed
                    assert kept_sessions.get(session.id) == (None if over else session)
                for prompt in prompts.values():
                    assert store.body(prompt.request) == (body_of(prompt.id) if prompt.id in kept else None)
                assert store.last_seq >= seq
                for prompt_id in gone:
                    life.known.pop(prompt_id)
        with opened(path) as store:
            assert store.last_seq >= seq
            assert replayed(store) == rows(store)
            if restart:
                life = Life(store)
                life.run(first)
                assert replayed(store) == rows(store)
