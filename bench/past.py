"""The same numbers with a long past: 1,000 sessions that live, 10,000 prompts that are over, a million facts.

The rule it keeps: the past is made by the real core from the payloads the real CLI sends, and put on disk by the
real store; only the oldest part of the log, which nobody reads, is filled up with copies. Of two equal daemons one
is by chance up to 1.6 times as quick as the other, all its life: so both are started anew several times.
"""

from __future__ import annotations

import asyncio
import sqlite3
import time
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

from msgspec.structs import replace

from bench.agent import Agent, new_id
from bench.clock import in_turn, ms, quicker
from bench.latency import Answered, Prompted
from bench.place import Yourcall
from bench.row import Row
from bench.size import Size
from bench.starting import to_listening, weight
from bench.wires import Live
from yourcall.agents.claude.hooks import read_hook
from yourcall.agents.sightings import HookCall
from yourcall.core.state import State
from yourcall.core.step import step
from yourcall.links.processes import started
from yourcall.model.events import (
    AnswerGiven,
    AnswerWritten,
    AnyEvent,
    CallBound,
    CallSettled,
    DialogClosed,
    PromptRaised,
    SessionSeen,
)
from yourcall.model.prompts import Answer
from yourcall.store.chain import teach
from yourcall.store.sqlite import Fact, Store

SESSIONS, EACH, FACTS = 1_000, 10, 1_000_000
SITTINGS = 8
MORE = 1.2
BATCH = 5_000


def long_past(at: Path, size: Size) -> Iterator[Row]:
    fresh_at, full_at = at / "fresh", at / "full"
    fresh, full = Yourcall(fresh_at), Yourcall(full_at)
    sessions, facts = size.of(SESSIONS, 20) if size.part < 0.1 else SESSIONS, FACTS if size.part == 1 else 0
    prompts = fill(full.home, sessions, EACH, facts)
    past = f"{sessions:,} sessions and {prompts:,} prompts" + (
        f" that are over, {facts:,} facts in the log" if facts else ""
    )
    listening = in_turn(size.of(5), {"full": lambda: to_listening(full), "fresh": lambda: to_listening(fresh)})
    weighed = in_turn(
        size.of(3),
        {"full": lambda: weight(full, "/api/live", size), "fresh": lambda: weight(fresh, "/api/live", size)},
        0,
    )
    shown: dict[str, list[float]] = {"full": [], "fresh": []}
    answered: dict[str, list[float]] = {"full": [], "fresh": []}
    for _ in range(size.of(SITTINGS, 1)):
        with (
            fresh,
            full,
            Live(fresh.port, "/api/live", fresh.token) as fresh_live,
            Live(full.port, "/api/live", full.token) as full_live,
        ):
            raising = {
                "full": Prompted(full, full_live, full_at).once,
                "fresh": Prompted(fresh, fresh_live, fresh_at).once,
            }
            answering = {
                "full": Answered(full, full_live, full_at).once,
                "fresh": Answered(fresh, fresh_live, fresh_at).once,
            }
            for name, times in in_turn(size.of(30), raising, warm_up=5).items():
                shown[name] += times
            for name, times in in_turn(size.of(10), answering, warm_up=2).items():
                answered[name] += times
    note = f"a long past is {past}"
    for name, unit, taken in (
        ("`yourcall up` until it listens", "ms", {k: ms(v) for k, v in listening.items()}),
        ("memory at rest, one client", "MB", weighed),
        ("a prompt reaches a client", "ms", {k: quicker(ms(v)) for k, v in shown.items()}),
        ("an answer reaches the agent", "ms", {k: quicker(ms(v)) for k, v in answered.items()}),
    ):
        ours, other = taken["full"], taken["fresh"]
        yield Row(f"{name}, long past", unit, ours, "an empty home", other, most_ratio=MORE, note=note)
        note = ""


def fill(home: Path, sessions: int, each: int, facts: int = 0) -> int:
    """Give this home a past; how many prompts there are in it."""
    home.mkdir(mode=0o700, parents=True)
    store = Store.open(home / "yourcall.db")
    state = State()
    batch: list[Fact] = []

    def record() -> None:
        asyncio.run(store.record(batch))
        batch.clear()

    try:
        for number in range(sessions):
            batch += _life(state, Agent(home.parent / "past"), time.time() - sessions + number, each)
            if len(batch) >= BATCH:
                record()
        record()
    finally:
        store.close()
    if facts:
        _lengthen(home / "yourcall.db", facts)
    return sessions * each


def _life(state: State, agent: Agent, at: float, each: int) -> Iterator[Fact]:
    """All facts of one session, which goes on living."""

    def told(event: AnyEvent, bodies: dict[str, bytes]) -> Iterator[Fact]:
        if isinstance(event, SessionSeen):
            event = replace(event, session=replace(event.session, pid_started=started(agent.pid)))
        done = step(state, event)
        state.take(done)
        if done.changed:
            yield Fact(event, done.prompts, done.sessions, bodies if isinstance(event, PromptRaised) else {})

    for number in range(each):
        payload = agent.request(f"scripts/step --number {number}")
        heard = read_hook(HookCall(at, "PermissionRequest", payload, agent.env, new_id(), new_id()))
        for event in heard.events:
            yield from told(event, heard.bodies)
        raised = heard.events[-1]
        assert isinstance(raised, PromptRaised)
        name, question = raised.prompt.id, raised.prompt.questions[0]
        answer = Answer(new_id(), "phone", "http", {question.id: (question.options[0].id,)})
        for event in (
            CallBound(at + 0.1, name, f"toolu_{name}"),
            AnswerGiven(at + 0.2, name, answer),
            AnswerWritten(at + 0.3, name, answer.id),
            DialogClosed(at + 0.4, name, "busy"),
            CallSettled(at + 0.5, name, "allowed", "held"),
        ):
            yield from told(event, {})
        at += 1
    assert not state.of_session(agent.session_id), "a prompt of the past is not over"


def _lengthen(path: Path, facts: int) -> None:
    """Repeat the log until it has so many facts; what was recorded first stays the beginning."""
    with closing(sqlite3.connect(path)) as db:
        db.execute("PRAGMA synchronous = OFF")
        teach(db)  # the log is sealed, fact by fact
        have, last = db.execute("SELECT count(*), max(seq) FROM log").fetchone()
        times = max(1, (facts - have) // have)
        db.execute(
            "WITH RECURSIVE again(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM again WHERE n < ?1)"
            " INSERT INTO log SELECT n * ?2 + seq, at, kind, subject, fact FROM again CROSS JOIN log",
            (times, last),
        )
        db.commit()
        db.execute("PRAGMA wal_checkpoint(TRUNCATE)")
