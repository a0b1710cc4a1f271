"""Which id a process goes by: its own file tells a late word from news."""

from __future__ import annotations

import json
from pathlib import Path

import uvloop

from yourcall.agents.claude.agent import CLAUDE
from yourcall.core.state import State, Step
from yourcall.core.step import step
from yourcall.links import session_ids
from yourcall.model.events import AnyEvent, PromptRaised, SessionSeen
from yourcall.model.prompts import Prompt
from yourcall.model.sessions import Session


def session(folder: Path, name: str, pid: int = 7) -> Session:
    transcript = f"{folder}/projects/-src/{name}.jsonl"
    return Session(name, "claude", "/src", "idle", pid=pid, pid_started="then", transcript=transcript)


def told(folder: Path, name: str, started: str = "then") -> None:
    (folder / "sessions").mkdir(exist_ok=True)
    (folder / "sessions" / "7.json").write_text(json.dumps({"sessionId": name, "procStart": started}))


class House:
    """The core, and nothing around it."""

    def __init__(self, *sessions: Session) -> None:
        self.state = State()
        self.state.take(Step(sessions=sessions))

    async def post(self, event: AnyEvent) -> object:
        done = step(self.state, event)
        self.state.take(done)
        return done


def test_a_late_word_is_told_from_news_by_the_file(tmp_path: Path) -> None:
    new, old = session(tmp_path, "new"), session(tmp_path, "old")
    state = House(new).state
    told(tmp_path, "new")
    assert session_ids.current(CLAUDE, state, old, begins=False) == "new"
    # It says that it begins: that is news, whatever the file says so far.
    assert session_ids.current(CLAUDE, state, old, begins=True) == "old"
    told(tmp_path, "old")
    assert session_ids.current(CLAUDE, state, old, begins=False) == "old"
    # The file of a process that is gone speaks of nobody.
    told(tmp_path, "new", started="before")
    assert session_ids.current(CLAUDE, state, old, begins=False) == "old"


def test_only_the_same_process_is_the_same_run(tmp_path: Path) -> None:
    told(tmp_path, "new")
    state = House(session(tmp_path, "new", pid=8)).state
    assert session_ids.others(state, session(tmp_path, "old")) == []
    assert session_ids.current(CLAUDE, state, session(tmp_path, "old"), begins=False) == "old"
    assert session_ids.others(state, Session("unknown", "claude", "/src")) == []


def test_a_made_up_name_always_gives_way(tmp_path: Path) -> None:
    state = House(session(tmp_path, "pid-7-then")).state
    own = session(tmp_path, "own")
    assert session_ids.current(CLAUDE, state, own, begins=False) == "own"
    assert [each.id for each in session_ids.others(state, own)] == ["pid-7-then"]


def test_prompts_go_with_the_run(tmp_path: Path) -> None:
    old, new = session(tmp_path, "old"), session(tmp_path, "new")
    house = House(old)
    ready = Prompt("p1", "ready", "claude", "old", "/src", "Ready", 1.0, body="Push?", fingerprint="ready")
    problem = Prompt("p2", "problem", "claude", "old", "/src", "Limit", 1.0, body="Wait.", fingerprint="limit")

    async def act() -> None:
        for event in (PromptRaised(1.0, ready), PromptRaised(1.0, problem), SessionSeen(2.0, new)):
            await house.post(event)
        await session_ids.follow(house, old, "new", "It was cleared.")

    uvloop.run(act())
    assert list(house.state.sessions) == ["new"]
    found = {p.id: (p.session_id, p.body, p.record) for p in house.state.prompts.values()}
    assert found == {
        "p1": ("new", "It was cleared.", old.transcript),
        "p2": ("new", "Wait.", old.transcript),
    }
