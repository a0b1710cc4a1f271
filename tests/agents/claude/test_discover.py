"""Which process is Claude Code, and which session it runs."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from yourcall.agents.claude import discover
from yourcall.agents.claude.discover import HEADLESS, OUTSIDE, WITHIN, found, runs, session_file
from yourcall.agents.sightings import Pane, Process
from yourcall.model.sessions import Link

DATA = Path(__file__).resolve().parents[2] / "data" / "claude"
WAITING = json.loads((DATA / "session-file-waiting.json").read_text())
PANES = [Pane("%0", "/dev/pts/3", "/tmp/tmux/s"), Pane("%1", "/dev/pts/4", "/tmp/tmux/s")]


def process(**more: Any) -> Process:
    usual = {
        "pid": WAITING["pid"],
        "started": WAITING["procStart"],
        "argv": ("claude",),
        "cwd": "/home/user/my project",
        "tty": "/dev/pts/3",
        "started_at": 1000.0,
        "env": {"HOME": "/home/user", "TMUX": "/tmp/tmux/s,12,0"},
    }
    return Process(**{**usual, **more})


def file(**more: Any) -> bytes:
    return json.dumps({**WAITING, "cwd": "/home/user/my project", **more}).encode()


@pytest.mark.parametrize(
    ("argv", "is_it"),
    [
        (["claude"], True),
        (["/home/user/.local/bin/claude", "--resume"], True),
        (["node", "/usr/lib/node_modules/@anthropic-ai/claude-code/cli.js"], True),
        (["/usr/bin/node", "--no-warnings", "/x/@anthropic-ai/claude-code/cli.js", "-c"], True),
        (["rg", "--files"], False),
        (["/bin/bash", "-c", "claude"], False),
        (["vim", "claude"], False),
        (["node", "server.js", "claude-code/cli.js"], False),
        (["claude-mcp"], False),
        ([], False),
        ([""], False),
    ],
)
def test_the_program_itself_and_nothing_it_starts(argv: list[str], is_it: bool) -> None:
    assert runs(argv) is is_it


def test_a_session_in_a_pane_is_found_whole() -> None:
    session = found(process(), file(), PANES)
    assert session.id == WAITING["sessionId"]
    assert session.links == (Link("tmux", "%0", "/tmp/tmux/s"),)
    assert (session.state, session.mode, session.version) == ("waiting", "terminal", "2.1.325")
    assert (session.pid, session.pid_started) == (WAITING["pid"], WAITING["procStart"])
    assert session.transcript == f"/home/user/.claude/projects/-home-user-my-project/{session.id}.jsonl"
    assert session.note == ""
    assert session_file(process()) == f"/home/user/.claude/sessions/{WAITING['pid']}.json"


def test_another_config_folder_is_asked() -> None:
    elsewhere = process(env={"HOME": "/home/user", "CLAUDE_CONFIG_DIR": "/srv/c/"})
    assert session_file(elsewhere) == f"/srv/c/sessions/{WAITING['pid']}.json"
    assert found(elsewhere, file(), []).transcript.startswith("/srv/c/projects/")


def test_a_file_that_a_dead_process_left_names_nobody() -> None:
    session = found(process(started="1"), file(), PANES)
    assert session.id == f"pid-{WAITING['pid']}-1"
    assert session.transcript == ""
    assert session.links, "the pane is the process's own all the same"


@pytest.mark.parametrize("data", [b"", b"{", b"[]", b'{"sessionId": 3}', b'{"sessionId": "../x"}', b"\xff"])
def test_without_a_name_none_is_made_up(data: bytes) -> None:
    session = found(process(), data, PANES)
    assert session.id.startswith(discover.UNNAMED)
    assert session.transcript == ""


@pytest.mark.parametrize(
    ("more", "told", "note"),
    [
        ({"tty": "/dev/pts/9"}, {}, WITHIN),
        ({"tty": "/dev/pts/9", "env": {"HOME": "/h"}}, {}, OUTSIDE),
        ({"tty": "", "env": {"HOME": "/h"}}, {}, OUTSIDE),
        ({}, {"entrypoint": "sdk-cli"}, HEADLESS),
        ({"argv": ("claude", "-p", "hello")}, {}, HEADLESS),
    ],
)
def test_without_a_safe_way_in_the_reason_is_told(more: Any, told: Any, note: str) -> None:
    session = found(process(**more), file(**told), PANES)
    assert (session.links, session.note) == ((), note)


@given(st.binary(max_size=100), st.lists(st.text(max_size=5), max_size=3), st.text(max_size=10))
def test_nothing_raises(data: bytes, argv: list[str], cwd: str) -> None:
    runs(argv)
    session = found(process(argv=tuple(argv), cwd=cwd), data, PANES)
    assert session.id.startswith(discover.UNNAMED) or discover.SAFE_ID.fullmatch(session.id)
