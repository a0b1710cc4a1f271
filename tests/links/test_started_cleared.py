"""A session that is cleared goes on under another id; what is said to the old one just then still reaches it."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest
import uvloop
from msgspec.structs import replace

from kit.poll import PATIENCE_S
from yourcall.agents.registry import AGENTS
from yourcall.agents.session_spec import StartOptions
from yourcall.core.state import State
from yourcall.core.step import step
from yourcall.links.stdio.sessions import Policy, StdioSessions
from yourcall.model.events import AnswerNotWritten, AnyEvent, SessionEnded
from yourcall.model.prompts import Answer, Prompt

# Speaks Claude's stream-json, as far as `/clear` needs it; notes what it is told.
AGENT = """#!/usr/bin/env python3
import json, os, sys
def say(**line): print(json.dumps(line), flush=True)
session = "old"
for line in sys.stdin:
    told = json.loads(line)
    if told["type"] != "user":
        continue
    text = told["message"]["content"]
    text = text if isinstance(text, str) else text[0]["text"]
    if text == "/clear":
        session = "new"
    say(type="system", subtype="init", session_id=session, cwd=os.getcwd(), permissionMode="default")
    with open(os.environ["HOME"] + "/heard", "a") as heard:
        heard.write(text + "\\n")
    if text == "ask":
        request = {"subtype": "can_use_tool", "tool_name": "Bash", "input": {"command": "ls"}, "tool_use_id": "t1"}
        say(type="control_request", request_id="r1", request=request)
        continue
    if text != "/clear":
        say(type="user", isReplay=True, uuid=told["uuid"], message={"role": "user", "content": text})
    say(type="result", subtype="success", is_error=False, result="Done.", session_id=session, uuid=f"u-{text}")
"""


class Desk:
    """The daemon's rows. The news that the session goes on under another id gets no further than `gate`."""

    def __init__(self) -> None:
        self.state = State()
        self.rows: dict[str, Prompt] = {}
        self.bodies: dict[str, bytes] = {}
        self.events: list[AnyEvent] = []
        self.cleared, self.gate = asyncio.Event(), asyncio.Event()

    async def post(self, event: AnyEvent, bodies: dict[str, bytes] | None = None) -> object:
        if isinstance(event, SessionEnded) and event.goes_on_as:
            self.cleared.set()
            await self.gate.wait()
        self.events.append(event)
        self.bodies |= bodies or {}
        done = step(self.state, event)
        self.state.take(done)
        self.rows |= {prompt.id: prompt for prompt in done.prompts}
        return done

    async def asked(self, kind: str) -> Prompt:
        while not (found := [p for p in self.rows.values() if p.kind == kind and p.state == "open"]):  # noqa: ASYNC110
            await asyncio.sleep(0.01)
        return found[0]


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    (tmp_path / "bin").mkdir()
    program = tmp_path / "bin" / "claude"
    program.write_text(AGENT)
    program.chmod(0o700)
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("SHELL", "/bin/sh")
    (tmp_path / ".profile").write_text(f'PATH="{tmp_path}/bin:$PATH"\n')
    return tmp_path


def test_what_is_said_in_the_moment_of_a_clear_reaches_the_session(home: Path) -> None:
    async def act() -> None:
        desk = Desk()
        started = StdioSessions(desk, AGENTS, Policy())
        async with asyncio.timeout(PATIENCE_S):
            assert await started.start("claude", StartOptions(str(home), "ask"), remote=False) == "old"
            permission = await desk.asked("permission")
            session = desk.state.sessions["old"]
            assert (await started.send(session, "/clear", True)).result == "sent"
            await desk.cleared.wait()
            # Its id has changed, and nothing of that is on record: both are still addressed to the old one.
            said = asyncio.create_task(started.send(session, "more"))
            answer = Answer("a1", "anna", "test", {"decision": ("allow",)})
            carried = asyncio.create_task(started.deliver(permission, answer, desk.bodies[permission.request]))
            await asyncio.sleep(0)
            desk.gate.set()
            assert (await said).result == "sent"
            await carried
            assert [event.why for event in desk.events if isinstance(event, AnswerNotWritten)] == []
            while "more" not in (home / "heard").read_text():  # noqa: ASYNC110
                await asyncio.sleep(0.01)
        # Another process that goes on with the old conversation is not this one.
        other = replace(session, pid=session.pid + 1)
        assert (await started.send(other, "not here")).result == "refused"
        await started.close()

    uvloop.run(act())
