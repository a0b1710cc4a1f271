"""Two sessions with one name: the second is not begun, and the first is not disturbed."""

from __future__ import annotations

import asyncio
import sys
from pathlib import Path

import pytest
import uvloop
from msgspec.structs import replace

from yourcall.agents.registry import AGENTS
from yourcall.agents.session_spec import StartOptions
from yourcall.core.state import State
from yourcall.core.step import step
from yourcall.links.stdio.sessions import Policy, StdioSessions
from yourcall.model.events import AnyEvent
from yourcall.model.prompts import Answer, Prompt, Refused

# Begins, asks for a permission at once, and notes what it was answered.
AGENT = """
import json, os, sys
open(sys.argv[1] + f"/began-{os.getpid()}", "w").close()
def say(**message): print(json.dumps({"jsonrpc": "2.0", **message}), flush=True)
for line in sys.stdin:
    told = json.loads(line)
    match told.get("method"):
        case "initialize":
            say(id=told["id"], result={"protocolVersion": 1, "agentCapabilities": {"loadSession": True}})
        case "session/new" | "session/load":
            say(id=told["id"], result={"sessionId": "same"})
        case "session/prompt":
            options = [{"optionId": "yes", "name": "Yes", "kind": "allow_once"}]
            say(id=0, method="session/request_permission",
                params={"sessionId": "same", "toolCall": {"toolCallId": "c", "title": "x"}, "options": options})
        case None:
            open(sys.argv[1] + "/answered", "w").close()
"""


class Desk:
    def __init__(self) -> None:
        self.state = State()
        self.rows: dict[str, Prompt] = {}
        self.bodies: dict[str, bytes] = {}

    async def post(self, event: AnyEvent, bodies: dict[str, bytes] | None = None) -> object:
        self.bodies |= bodies or {}
        done = step(self.state, event)
        self.state.take(done)
        self.rows |= {prompt.id: prompt for prompt in done.prompts}
        return done


@pytest.fixture
def wish(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> StartOptions:
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("SHELL", "/bin/sh")
    program = tmp_path / "agent.py"
    program.write_text(AGENT)
    return StartOptions(str(tmp_path), "Go.", command=(sys.executable, str(program), str(tmp_path)))


def test_a_session_that_two_go_on_with_at_once_is_begun_once(wish: StartOptions, tmp_path: Path) -> None:
    """A second tap, or a request that was repeated: both would have done what was said."""

    async def act() -> list[str | Refused]:
        started = StdioSessions(Desk(), AGENTS, Policy(), {"acp": Policy()})
        on = replace(wish, resume="same")
        async with asyncio.timeout(60):
            said = await asyncio.gather(*(started.start("acp", on, remote=False) for _ in range(2)))
        await started.close()
        return said

    said = uvloop.run(act())
    assert [each for each in said if isinstance(each, str)] == ["same"]
    (refused,) = [each for each in said if isinstance(each, Refused)]
    assert "That session is running" in refused.reason
    assert len(list(tmp_path.glob("began-*"))) == 1


def test_an_agent_that_calls_every_session_the_same_has_one_at_a_time(wish: StartOptions, tmp_path: Path) -> None:
    """Both were one session to us: an answer to the one was refused by the other, and the end of one hid both."""

    async def act() -> tuple[str | Refused, Prompt]:
        desk = Desk()
        started = StdioSessions(desk, AGENTS, Policy(), {"acp": Policy()})
        async with asyncio.timeout(60):
            assert await started.start("acp", wish, remote=False) == "same"
            while not (asked := [p for p in desk.rows.values() if p.kind == "permission"]):  # noqa: ASYNC110
                await asyncio.sleep(0.01)
            second = await started.start("acp", wish, remote=False)
            (prompt,) = asked
            assert "same" in desk.state.sessions
            answer = Answer("a1", "anna", "test", {"decision": ("yes",)})
            await started.deliver(prompt, answer, desk.bodies[prompt.request])
            while not (tmp_path / "answered").exists():  # noqa: ASYNC110
                await asyncio.sleep(0.01)
            shown = desk.rows[prompt.id]
        await started.close()
        return second, shown

    second, shown = uvloop.run(act())
    assert isinstance(second, Refused)
    assert "another one that runs has this name" in second.reason
    assert shown.state == "open"  # as the core has it: the end of the second was not its end
