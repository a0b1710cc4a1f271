"""The daemon when things come in an order that nobody meant: what is over stays over, and nothing is left
behind."""

from __future__ import annotations

import asyncio
import json
import sqlite3
import subprocess
import sys
import time
from collections.abc import AsyncGenerator, Iterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest
import uvloop
from msgspec.structs import replace

from yourcall.agents.claude.agent import CLAUDE
from yourcall.agents.registry import AGENTS
from yourcall.agents.sightings import HookCall
from yourcall.core.state import Step
from yourcall.daemon.config import Config
from yourcall.daemon.wiring import Daemon
from yourcall.links import proof
from yourcall.model.events import AnswerGiven, HolderLost, SessionEnded
from yourcall.model.prompts import Answer, Prompt
from yourcall.store.sqlite import Store

SESSION = "0b4f6f0e-1111-2222-3333-444455556666"
ASKED = "aaaabbbbcc"


class Agent:
    """A process that may be ended."""

    def __init__(self) -> None:
        self.process = subprocess.Popen(
            [sys.executable, "-c", "import sys; sys.stdin.read()"], stdin=subprocess.PIPE
        )

    @property
    def env(self) -> dict[str, str]:
        return {"CLAUDE_PID": str(self.process.pid)}

    def ends(self) -> None:
        self.process.communicate()


@pytest.fixture
def agent() -> Iterator[Agent]:
    running = Agent()
    yield running
    running.ends()


@asynccontextmanager
async def board(tmp_path: Path) -> AsyncGenerator[Daemon]:
    store = Store.open(tmp_path / "yourcall.db")
    board = Daemon(store, Config(), lambda: None)
    try:
        yield board
    finally:
        await board.close()
        store.close()


async def hook(board: Daemon, event: str, agent: Agent, **more: object) -> bool:
    payload = json.dumps({"session_id": SESSION, "cwd": "/p", **more}).encode()
    held = ASKED if event == "PermissionRequest" else ""
    return await board.intake.hook("claude", HookCall(time.time(), event, payload, agent.env, held, "newid12345"))


async def raised_in_a_session_that_ends_meanwhile(board: Daemon, agent: Agent) -> None:
    """The disk is busy; before the session is written its agent is killed, and that is seen."""
    disk = sqlite3.connect(board.loop.store.path, isolation_level=None)
    disk.execute("BEGIN IMMEDIATE")
    asking = asyncio.ensure_future(
        hook(board, "PermissionRequest", agent, tool_name="Bash", tool_input={"command": "make"})
    )
    async with asyncio.timeout(60):
        while SESSION not in board.loop.state.sessions:  # noqa: ASYNC110 - nothing tells
            await asyncio.sleep(0)
    agent.ends()
    ending = asyncio.ensure_future(board.events.post(SessionEnded(time.time(), SESSION, "its process is gone")))
    async with asyncio.timeout(60):
        while SESSION in board.loop.state.sessions:  # noqa: ASYNC110 - nothing tells
            await asyncio.sleep(0)
    disk.execute("ROLLBACK")
    disk.close()
    await ending
    await asking


def test_a_prompt_of_a_session_that_ended_before_it_was_told_ends_with_its_agent(
    tmp_path: Path, agent: Agent
) -> None:
    async def told() -> str:
        async with board(tmp_path) as at:
            await raised_in_a_session_that_ends_meanwhile(at, agent)
            await at.intake.agent_died(ASKED)
            row = at.loop.prompt(ASKED)
            assert row is not None
            assert not row.answerable
            return row.state

    assert uvloop.run(told()) == "ended"


def test_a_prompt_of_a_session_that_ended_before_it_was_told_ends_with_its_holder(
    tmp_path: Path, agent: Agent, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(proof, "ABSENT_S", 0.2)

    async def told() -> None:
        async with board(tmp_path) as at:
            await raised_in_a_session_that_ends_meanwhile(at, agent)
            await at.events.post(HolderLost(time.time(), ASKED, "its hook ended without a word"))
            async with asyncio.timeout(60):
                while ASKED in at.loop.state.prompts:  # noqa: ASYNC110 - nothing tells
                    await asyncio.sleep(0.01)

    uvloop.run(told())


def test_a_late_word_of_an_agent_that_has_gone_does_not_bring_its_session_back(
    tmp_path: Path, agent: Agent
) -> None:
    """Hooks that inform are programs of their own, each with its own speed: the end of the turn may come in after
    the end of the session."""

    async def told() -> None:
        async with board(tmp_path) as at:
            await hook(at, "SessionStart", agent, source="startup")
            assert SESSION in at.loop.state.sessions
            await hook(at, "SessionEnd", agent, reason="other")
            assert SESSION not in at.loop.state.sessions
            agent.ends()
            await hook(at, "Stop", agent, last_assistant_message="Done.")
            assert at.loop.state.sessions == {}
            assert at.loop.state.prompts == {}
            # One that begins anew is there, wherever its process may be.
            await hook(at, "SessionStart", agent, source="resume")
            assert SESSION in at.loop.state.sessions

    uvloop.run(told())


def broken(*_: object) -> Any:
    raise RuntimeError("a bug")


@pytest.mark.parametrize("link", ["hook", "screen", "socket"])
def test_an_error_of_our_own_leaves_no_answer_on_its_way_for_ever(
    tmp_path: Path, agent: Agent, monkeypatch: pytest.MonkeyPatch, link: str
) -> None:
    async def answered() -> Prompt:
        async with board(tmp_path) as at:
            await hook(at, "PermissionRequest", agent, tool_name="Bash", tool_input={"command": "make"})
            prompt = replace(at.loop.state.prompts[ASKED], link=link)
            at.loop.state.take(Step(prompts=(prompt,)))
            monkeypatch.setitem(AGENTS, "claude", replace(CLAUDE, reply=broken))
            monkeypatch.setattr(at.keyboard, "deliver", broken_later)
            monkeypatch.setattr(at.servers["codex"], "_of", broken)
            choice = {prompt.questions[0].id: (prompt.questions[0].options[0].id,)}
            await at.events.post(AnswerGiven(time.time(), ASKED, Answer("a1", "phone", "http", choice)))
            async with asyncio.timeout(60):
                while at.loop.state.prompts[ASKED].state == "answering":  # noqa: ASYNC110 - nothing tells
                    await asyncio.sleep(0.001)
            return at.loop.state.prompts[ASKED]

    async def broken_later(*_: object) -> None:
        await asyncio.sleep(0)
        broken()

    row = uvloop.run(answered())
    assert (row.state, "an error of yourcall's own" in row.history[-1].detail) == ("unsure", True)
