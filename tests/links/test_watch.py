"""Looking after a prompt: which call a form belongs to, when the transcript shows several that it may be."""

from __future__ import annotations

import asyncio
import json
import os
import subprocess
import sys
import time
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
import uvloop
from msgspec.structs import replace

from yourcall.agents.claude.agent import CLAUDE
from yourcall.agents.claude.hooks import fingerprint
from yourcall.agents.sightings import HookCall
from yourcall.core.state import State
from yourcall.core.step import step
from yourcall.links import processes
from yourcall.links.proof import PromptWatch, PromptWatches
from yourcall.model.events import AnswerGiven, AnswerWritten, AnyEvent, PromptRaised, SessionEnded, SessionSeen
from yourcall.model.prompts import Answer, Option, Prompt, Question
from yourcall.model.sessions import Session

SESSION = "0b4f6f0e-1111-2222-3333-444455556666"


class Desk:
    """A core without a disk."""

    def __init__(self) -> None:
        self.state = State()
        self.rows: dict[str, Prompt] = {}

    async def post(self, event: AnyEvent) -> None:
        done = step(self.state, event)
        self.state.take(done)
        self.rows.update((prompt.id, prompt) for prompt in done.prompts)


class Scene:
    """A session with a transcript, and a form of its MCP server `box` that somebody holds."""

    def __init__(self, folder: Path) -> None:
        self.desk = Desk()
        self.transcript = folder / "projects" / "p" / f"{SESSION}.jsonl"
        self.transcript.parent.mkdir(parents=True)
        self.transcript.touch()

    def writes(self, role: str, block: dict[str, object]) -> None:
        stamp = datetime.now(UTC).isoformat()
        line = {"type": role, "timestamp": stamp, "message": {"role": role, "content": [block]}}
        with self.transcript.open("a") as file:
            file.write(json.dumps(line) + "\n")

    def calls(self, call: str) -> None:
        self.writes("assistant", {"type": "tool_use", "id": call, "name": "mcp__box__fill", "input": {"n": call}})

    def ends(self, call: str) -> None:
        self.writes("user", {"type": "tool_result", "tool_use_id": call, "content": "done"})

    def asks(self) -> PromptWatch:
        payload: dict[str, object] = {
            "session_id": SESSION,
            "transcript_path": str(self.transcript),
            "mcp_server_name": "box",
            "message": "Which?",
            "requested_schema": {"type": "object", "properties": {}},
        }
        heard = CLAUDE.read_hook(
            HookCall(time.time(), "Elicitation", json.dumps(payload).encode(), {}, "aaaabbbbcc")
        )
        for event in heard.events:
            uvloop.run(self.desk.post(event))
        return PromptWatch(self.desk, CLAUDE, "aaaabbbbcc")


@pytest.fixture
def scene(tmp_path: Path) -> Scene:
    return Scene(tmp_path)


def still_asked(scene: Scene, watch: PromptWatch) -> bool:
    uvloop.run(watch.look())
    prompt = scene.desk.state.prompts.get("aaaabbbbcc")
    return prompt is not None and prompt.state == "open"


def test_a_form_is_not_closed_by_the_end_of_another_call_of_its_server(scene: Scene) -> None:
    scene.calls("first")
    scene.calls("second")
    watch = scene.asks()
    assert still_asked(scene, watch)
    scene.ends("first")
    assert still_asked(scene, watch)
    scene.ends("second")
    assert not still_asked(scene, watch)


def test_a_form_is_over_with_the_one_call_that_it_can_belong_to(scene: Scene) -> None:
    scene.calls("before")
    scene.ends("before")
    scene.calls("only")
    watch = scene.asks()
    assert still_asked(scene, watch)
    scene.ends("only")
    assert not still_asked(scene, watch)


def ended_process() -> tuple[int, str]:
    """A process that was there, and the moment it started."""
    child = subprocess.Popen([sys.executable, "-c", "import sys; sys.stdin.read()"], stdin=subprocess.PIPE)
    began = processes.started(child.pid)
    child.communicate()
    assert began
    return child.pid, began


def test_a_record_that_says_little_does_not_hide_the_death_of_the_agent(scene: Scene) -> None:
    """The call failed, and the record does not say who had decided it. That changes nothing; but its process dies
    later, and the session must not stay for ever."""
    pid, began = ended_process()
    session = Session(SESSION, "claude", "/p", pid=pid, pid_started=began, transcript=str(scene.transcript))
    yes = Question("decision", "May it?", (Option("allow", "Yes", "allow_once"),))
    mark = fingerprint("Bash", {"command": "make"})
    asked = Prompt(
        "aaaabbbbcc",
        "permission",
        "claude",
        SESSION,
        "/p",
        "make",
        time.time(),
        fingerprint=mark,
        questions=(yes,),
    )
    scene.writes("assistant", {"type": "tool_use", "id": "toolu_1", "name": "Bash", "input": {"command": "make"}})
    scene.writes("user", {"type": "tool_result", "tool_use_id": "toolu_1", "is_error": True, "content": "no"})

    async def looked() -> Prompt:
        desk = scene.desk
        await desk.post(SessionSeen(1.0, session))
        await desk.post(PromptRaised(1.0, replace(asked, answerable=True)))
        answer = Answer("a1", "phone", "http", {"decision": ("allow",)})
        await desk.post(AnswerGiven(2.0, asked.id, answer))
        await desk.post(AnswerWritten(3.0, asked.id, "a1"))
        watch = PromptWatch(desk, CLAUDE, asked.id)
        async with asyncio.timeout(60):
            while await watch.look():  # noqa: ASYNC110 - nothing tells
                await asyncio.sleep(0.02)
        return desk.rows[asked.id]

    left = uvloop.run(looked())
    assert SESSION not in scene.desk.state.sessions
    assert left.state == "unsure"


def test_a_transcript_with_an_impossible_name_leaves_the_other_signs(scene: Scene) -> None:
    """The path is what a payload says; no system opens one with a null in it, or with half a letter."""
    pid, began = ended_process()
    for name in ("/p\0/projects/x/y.jsonl", "/p\ud800/projects/x/y.jsonl"):
        session = Session(SESSION, "claude", "/p", pid=pid, pid_started=began, transcript=name)
        asked = Prompt("aaaabbbbcc", "permission", "claude", SESSION, "/p", "make", time.time())

        async def looked(session: Session = session, asked: Prompt = asked) -> None:
            await scene.desk.post(SessionSeen(1.0, session))
            await scene.desk.post(PromptRaised(1.0, asked))
            watch = PromptWatch(scene.desk, CLAUDE, asked.id)
            async with asyncio.timeout(60):
                while await watch.look():  # noqa: ASYNC110 - nothing tells
                    await asyncio.sleep(0.02)

        uvloop.run(looked())
        assert scene.desk.rows[asked.id].state == "ended"
        # Alive, but its session file has such a name too.
        alive = replace(session, pid=os.getpid(), pid_started=processes.started(os.getpid()))
        uvloop.run(scene.desk.post(SessionSeen(1.0, alive)))
        uvloop.run(scene.desk.post(PromptRaised(1.0, asked)))
        assert uvloop.run(PromptWatch(scene.desk, CLAUDE, asked.id).look()) is not None
        uvloop.run(scene.desk.post(SessionEnded(1.0, SESSION)))


def test_a_prompt_that_comes_back_as_its_watch_leaves_gets_another(scene: Scene) -> None:
    mine = Session(SESSION, "claude", "/p", pid=os.getpid(), pid_started=processes.started(os.getpid()))
    asked = Prompt("aaaabbbbcc", "permission", "claude", SESSION, "/p", "make", time.time())

    async def watched() -> bool:
        watches = PromptWatches(scene.desk, lambda _: CLAUDE)
        await scene.desk.post(SessionSeen(1.0, mine))
        await scene.desk.post(PromptRaised(1.0, asked))
        row = scene.desk.state.prompts[asked.id]
        watches.ensure(row)
        await asyncio.sleep(0)  # it has looked, and waits
        del scene.desk.state.prompts[asked.id]
        watches.ensure(row)
        await asyncio.sleep(0)  # it has looked again, and left
        scene.desk.state.prompts[asked.id] = row
        watches.ensure(row)
        for _ in range(5):
            await asyncio.sleep(0)
        return watches.watching(SESSION)

    assert uvloop.run(watched())


def test_a_look_that_goes_wrong_is_not_the_last_one(tmp_path: Path) -> None:
    scene = Scene(tmp_path)
    looks: list[int] = []

    def status(data: bytes) -> Any:
        looks.append(len(data))
        if len(looks) == 1:
            raise RuntimeError("a bug")
        return CLAUDE.read_status(data)

    now = time.time()
    session = Session(SESSION, "claude", "/p", transcript=str(scene.transcript), pid=os.getpid())
    file = Path(CLAUDE.status_file_of(session))
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(json.dumps({"sessionId": SESSION, "status": "waiting", "statusUpdatedAt": now * 1000}))

    async def watched() -> None:
        await scene.desk.post(SessionSeen(now, session))
        await scene.desk.post(PromptRaised(now, Prompt("p1", "permission", "claude", SESSION, "/p", "ls", now)))
        watching = asyncio.ensure_future(PromptWatch(scene.desk, replace(CLAUDE, read_status=status), "p1").run())
        async with asyncio.timeout(60):
            while len(looks) < 2:
                assert not watching.done()
                await asyncio.sleep(0.005)
        watching.cancel()

    uvloop.run(watched())


def test_a_prompt_without_a_session_is_given_time_to_find_it_under_another_name(
    scene: Scene, monkeypatch: pytest.MonkeyPatch
) -> None:
    watch = scene.asks()
    sessions, prompts = scene.desk.state.sessions, scene.desk.state.prompts
    prompts["aaaabbbbcc"] = replace(prompts["aaaabbbbcc"], answerable=False)
    known = dict(sessions)
    sessions.clear()
    assert still_asked(scene, watch)
    sessions.update(known)  # it has come
    assert still_asked(scene, watch)
    sessions.clear()
    assert still_asked(scene, watch)
    monkeypatch.setattr("yourcall.links.proof.ABSENT_S", 0.0)
    assert not still_asked(scene, watch)
    assert scene.desk.rows["aaaabbbbcc"].state == "ended"
