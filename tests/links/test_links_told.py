"""Calls that hooks told of: raised once, by the screen if there is one, else for the desk; never lost."""

from __future__ import annotations

import json
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, Any

import uvloop

from yourcall.agents.sightings import HookCall
from yourcall.daemon.config import Config
from yourcall.daemon.wiring import Daemon
from yourcall.links.screen import announced_calls
from yourcall.model.prompts import Prompt
from yourcall.store.sqlite import Store

if TYPE_CHECKING:
    from collections.abc import AsyncIterator
    from pathlib import Path

    import pytest

SESSION = "9506683b-cf2b-484e-9b7c-293ee7e90ad3"
NOWHERE = {"TMUX": "/nonexistent/socket,1,0", "TMUX_PANE": "%0"}
INPUT = {"command": "touch a", "description": "Do"}
DETAILS = {"type": "exec", "title": "Confirm Shell Command", "command": "touch a", "rootCommand": "touch"}
ASKED = {"notification_type": "ToolPermission", "details": DETAILS}


class House:
    def __init__(self, daemon: Daemon) -> None:
        self.daemon, self.count = daemon, 0

    async def hook(self, event: str, env: dict[str, str] | None = None, **more: Any) -> bool:
        self.count += 1
        head = {"session_id": SESSION, "cwd": "/p", "hook_event_name": event}
        stamp = f"2026-11-15T06:58:{self.count:02d}.000Z"
        payload = json.dumps({**head, "timestamp": stamp, **more}).encode()
        return await self.daemon.intake.hook(
            "gemini", HookCall(1000.0 + self.count, event, payload, env or {}, "", f"newid{self.count:05d}")
        )

    @property
    def open(self) -> list[Prompt]:
        return [p for p in self.daemon.loop.state.prompts.values() if p.state == "open" and p.kind != "ready"]


@asynccontextmanager
async def house(tmp_path: Path) -> AsyncIterator[House]:
    store = Store.open(tmp_path / "yourcall.db")
    daemon = Daemon(store, Config(), lambda: None)
    try:
        yield House(daemon)
    finally:
        await daemon.close()
        store.close()


def test_without_a_pane_it_is_shown_at_once_for_the_desk(tmp_path: Path) -> None:
    async def act() -> None:
        async with house(tmp_path) as at:
            await at.hook("BeforeAgent", prompt="x")
            await at.hook("BeforeTool", tool_name="run_shell_command", tool_input=INPUT)
            assert at.open == []
            assert not await at.hook("Notification", **ASKED)
            (prompt,) = at.open
            assert (prompt.title, prompt.answerable, prompt.link) == ("Run: touch a", False, "hook")

    uvloop.run(act())


def test_a_question_without_a_pane_is_shown_with_its_options(tmp_path: Path) -> None:
    asked = {"question": "Which?", "header": "W", "options": [{"label": "A"}, {"label": "B"}]}

    async def act() -> None:
        async with house(tmp_path) as at:
            await at.hook("BeforeTool", tool_name="ask_user", tool_input={"questions": [asked]})
            details = {"type": "ask_user", "title": "Ask User"}
            await at.hook("Notification", notification_type="ToolPermission", details=details)
            (prompt,) = at.open
            assert (prompt.kind, [o.label for o in prompt.questions[0].options]) == ("question", ["A", "B"])

    uvloop.run(act())


def test_what_no_screen_shows_is_raised_all_the_same(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    async def act() -> None:
        async with house(tmp_path) as at:
            await at.hook("BeforeAgent", NOWHERE, prompt="x")
            await at.hook("BeforeTool", NOWHERE, tool_name="run_shell_command", tool_input=INPUT)
            await at.hook("Notification", NOWHERE, **ASKED)
            await at.daemon.calls.look_for_lost()
            assert at.open == []
            monkeypatch.setattr(announced_calls, "UNSEEN_S", 0.0)
            await at.daemon.calls.look_for_lost()
            (prompt,) = at.open
            assert not prompt.answerable
            assert "could not be found" in prompt.body
            await at.daemon.calls.look_for_lost()
            assert len(at.open) == 1

    uvloop.run(act())


def test_a_new_turn_ends_what_was_told_before_it_and_nothing_after(tmp_path: Path) -> None:
    async def act() -> None:
        async with house(tmp_path) as at:
            await at.hook("BeforeTool", NOWHERE, tool_name="run_shell_command", tool_input=INPUT)
            stamp = "2026-11-15T06:58:02.000Z"
            await at.hook("Notification", NOWHERE, **{**ASKED, "timestamp": "2026-11-15T06:58:03.000Z"})
            # The hook that tells of the turn was started between the two, and comes last.
            await at.hook("BeforeAgent", NOWHERE, prompt="x", timestamp=stamp)
            assert [each.asked for each in at.daemon.calls.of(SESSION)] == [True]

    uvloop.run(act())
