"""Agents over ACP, before a program runs and beside it: who may name a command, and the record that we keep."""

from __future__ import annotations

import os
import stat
from pathlib import Path
from typing import Any

import pytest
import uvloop

from yourcall.agents.registry import AGENTS
from yourcall.agents.session_spec import StartOptions
from yourcall.core.state import State
from yourcall.links.stdio.records import LARGEST, Records
from yourcall.links.stdio.sessions import Policy, StdioSessions
from yourcall.model.events import AnyEvent
from yourcall.model.prompts import Refused


class Teller:
    state = State()

    async def post(self, event: AnyEvent, bodies: dict[str, bytes] | None = None) -> Any:
        raise AssertionError(event)


def refused(wish: StartOptions, agent: str, *, remote: bool) -> str:
    mine = Policy(skip_permissions=True, permission_mode="bypassPermissions")
    started = StdioSessions(Teller(), AGENTS, mine, {agent: Policy()})
    said = uvloop.run(started.start(agent, wish, remote=remote))
    assert isinstance(said, Refused)
    return said.reason


def test_a_device_cannot_name_a_program(tmp_path: Path) -> None:
    ran = tmp_path / "ran"
    wish = StartOptions(str(tmp_path), "", command=("touch", str(ran)))
    assert "at the machine itself only" in refused(wish, "acp", remote=True)
    assert "at the machine itself only" in refused(wish, "claude", remote=False)  # it is no agent over ACP
    assert not ran.exists()


def test_what_the_config_allows_claude_it_allows_no_agent_over_acp(tmp_path: Path) -> None:
    why = refused(StartOptions(str(tmp_path), "x", "bypassPermissions"), "qwen", remote=True)
    assert why == "In bypassPermissions mode you are no longer asked. You can switch to it at the machine itself."


@pytest.mark.parametrize("resume", ["../x", "/etc/passwd", "-x", ".hidden"])
def test_a_session_to_go_on_with_is_one_word(tmp_path: Path, resume: str) -> None:
    assert "one word" in refused(StartOptions(str(tmp_path), "x", resume=resume), "qwen", remote=False)


def test_a_record_is_for_this_user_only_and_goes_when_it_is_old(tmp_path: Path) -> None:
    records = Records(tmp_path / "acp")
    assert not records.has("s1")
    records.append("s1", [b"one\n", b"two\n"])
    records.append("s1", [b"three\n"])
    records.append("s2", [b"x\n"])
    path = tmp_path / "acp" / "s1.jsonl"
    assert path.read_bytes() == b"one\ntwo\nthree\n"
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert stat.S_IMODE(path.parent.stat().st_mode) == 0o700
    assert records.has("s1")
    os.utime(path, (1000.0, 1000.0))
    records.prune(2000.0)
    assert not records.has("s1")
    assert records.has("s2")


def test_a_record_has_a_limit_and_follows_no_link(tmp_path: Path) -> None:
    records = Records(tmp_path)
    with (tmp_path / "big.jsonl").open("wb") as file:
        file.truncate(LARGEST)
    records.append("big", [b"x\n"])
    assert (tmp_path / "big.jsonl").stat().st_size == LARGEST
    elsewhere = tmp_path / "elsewhere"
    (tmp_path / "s1.jsonl").symlink_to(elsewhere)
    records.append("s1", [b"x\n"])  # told in the log, and the session goes on
    assert not elsewhere.exists()


def test_a_name_that_is_too_long_for_a_file_names_none(tmp_path: Path) -> None:
    """A folder is refused with a sentence; a session to go on with failed after its program had been started,
    which then ran on, unseen."""
    assert "is not a folder here" in refused(StartOptions(f"/{'x' * 300}", "x"), "qwen", remote=True)
    assert not Records(tmp_path).has("x" * 300)
