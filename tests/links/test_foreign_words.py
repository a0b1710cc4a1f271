"""What any program of the user's says on the sockets of hooks and plugins ends nothing that somebody else asks."""

from __future__ import annotations

import json
import socket
from collections.abc import Iterator
from pathlib import Path

import pytest

from cli.scripted_claude import ScriptedClaude
from kit.poll import until
from kit.yourcall import Yourcall
from yourcall.system.sockets import reach_unix


@pytest.fixture
def yc(tmp_path: Path) -> Iterator[Yourcall]:
    with Yourcall(tmp_path) as running:
        yield running


@pytest.fixture
def claude(tmp_path: Path, yc: Yourcall) -> Iterator[ScriptedClaude]:
    with ScriptedClaude(tmp_path, yc) as agent:
        yield agent


@pytest.fixture
def plugin(yc: Yourcall) -> Iterator[socket.socket]:
    with reach_unix(yc.home, "plugin.sock", 20) as sock:
        sock.sendall(b"yourcall/1 opencode {}\n")
        yield sock


def says(plugin: socket.socket, **message: object) -> None:
    plugin.sendall(json.dumps(message).encode() + b"\n")


def heard(yc: Yourcall, plugin: socket.socket) -> None:
    """All that was said before has taken effect: a session that is said last is there."""
    says(plugin, type="session", session="oc-last", directory="/", version="1")
    until(lambda: any(s["id"] == "oc-last" for s in yc.http("GET", "/api/sessions")[1]), what="what was said last")


def test_a_plugin_ends_nothing_that_another_agent_asks(
    yc: Yourcall, claude: ScriptedClaude, plugin: socket.socket
) -> None:
    """An id in `done` of a prompt that was never its own made that prompt *unsure*, and it was gone everywhere."""
    claude.asks("Bash", command="npm test")
    (prompt,) = until(yc.prompts, what="the prompt")
    says(plugin, type="session", session="oc-mine", directory="/", version="1")
    says(plugin, type="done", id=f"next {prompt['id']}", error="gone")
    says(plugin, type="session", session=claude.session_id, directory="/", version="1")
    says(plugin, type="ended", session=claude.session_id)
    heard(yc, plugin)
    assert yc.show(prompt["id"])["state"] == "open"
    (session,) = (s for s in yc.http("GET", "/api/sessions")[1] if s["id"] == claude.session_id)
    assert (session["agent"], session["cwd"]) == ("claude", str(claude.project))


def test_a_session_whose_request_is_held_has_not_ended(yc: Yourcall, claude: ScriptedClaude) -> None:
    """Whoever ran our hook with the event took the prompt off every device, while the agent waited on."""
    held = claude.asks("Bash", command="npm test")
    (prompt,) = until(yc.prompts, what="the prompt")
    payload = {
        "session_id": claude.session_id,
        "transcript_path": str(claude.transcript),
        "cwd": str(claude.project),
    }
    for pid in (claude.pid, 0):
        ends = {**payload, "hook_event_name": "SessionEnd", "reason": "other"}
        yc.as_hook(f"'{yc.home}/hook' claude SessionEnd", ends, pid)
    last = {**payload, "session_id": "said-last", "hook_event_name": "SessionStart", "source": "startup"}
    yc.as_hook(f"'{yc.home}/hook' claude SessionStart", last, 1)
    until(
        lambda: any(s["id"] == "said-last" for s in yc.http("GET", "/api/sessions")[1]), what="what was said last"
    )
    assert yc.show(prompt["id"])["state"] == "open"
    assert yc.run("answer", prompt["id"], "deny", "--no-wait").code in (0, 6)
    answer = held.answer()
    assert answer is not None
    assert answer["hookSpecificOutput"]["decision"]["behavior"] == "deny"
