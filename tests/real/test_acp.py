"""An agent over ACP, started by yourcall: the real `gemini --acp`, and programs that are none."""

from __future__ import annotations

import re
import sys
from typing import TYPE_CHECKING

import pytest

from kit.poll import until
from kit.yourcall import Yourcall
from real.acp_scene import answer, goes_on, on_stage, the_story

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from kit.acp import Stage

OLD = """import json, sys
asked = json.loads(sys.stdin.readline())
print(json.dumps({"jsonrpc": "2.0", "id": asked["id"], "result": {"protocolVersion": 0}}), flush=True)
sys.stdin.read()
"""
LOCKED = """import json, sys
for line in sys.stdin:
    asked = json.loads(line)
    told = {"result": {"protocolVersion": 1, "authMethods": [{"id": "browser", "name": "Sign in"}]}}
    if asked["method"] != "initialize":
        told = {"error": {"code": -32000, "message": "Authentication required"}}
    print(json.dumps({"jsonrpc": "2.0", "id": asked["id"], **told}), flush=True)
"""


@pytest.fixture
def gemini(tmp_path: Path, fetched: Callable[..., Path]) -> Iterator[Stage]:
    with on_stage("gemini-acp", tmp_path, fetched) as agent:
        yield agent


def aged(agent: Stage) -> None:
    """Its chats, as if they were older than a minute: resumed within one, Gemini 0.61.0 writes over them."""
    for path in agent.project.parent.rglob("chats/session-*"):
        path.rename(path.with_name(re.sub(r"T\d\d-\d\d", "T00-01", path.name)))


def test_gemini_goes_through_the_story_and_goes_on_later(gemini: Stage) -> None:
    session = the_story(gemini)
    aged(gemini)
    goes_on(gemini, session)


def test_a_command_is_started_and_waits_for_the_first_instruction(gemini: Stage) -> None:
    session = gemini.start("--", "gemini", "--acp").out.strip()
    assert gemini.ready()["title"] == "Ready for the first instruction"
    status, found = gemini.yourcall.http("GET", "/api/sessions")
    assert status == 200
    (seen,) = found
    assert (seen["agent"], seen["version"], seen["state"]) == ("gemini-acp", "0.61.0", "idle")
    # Of several that are asked for at once, the one that is refused is refused; the next is another prompt.
    words = gemini.script("both", [("run", "touch first"), ("run", "touch second")], [("speak", "Done.")])
    assert gemini.yourcall.run("send", session, words).code == 0
    first = gemini.prompt()
    refused = gemini.yourcall.run("send", session, "And more.")
    assert "one instruction at a time" in refused.out + refused.err
    assert answer(gemini, first, "deny") == ("confirmed", "denied")  # though the turn goes on
    second = gemini.prompt()
    assert second["title"] == "touch second"
    assert answer(gemini, second, "stop") == ("confirmed", "stopped")
    assert gemini.ready()["body"] == "The turn was stopped."
    assert not gemini.made("first")
    assert not gemini.made("second")


def test_a_mode_is_changed_and_a_daemon_that_is_killed_leaves_nobody_behind(gemini: Stage) -> None:
    session = gemini.session("", "--permission-mode", "plan")
    (seen,) = gemini.yourcall.http("GET", "/api/sessions")[1]
    assert seen["permission_mode"] == "plan"
    path = f"/api/sessions/{session}/mode"
    assert gemini.yourcall.http("POST", path, {"permission_mode": "acceptEdits"})[0] == 200
    # Edits are not asked for in that mode: this one is not.
    words = gemini.script("write", [("write", "hello.txt", "hello\n")], [("speak", "Written.")])
    assert gemini.yourcall.run("send", session, words).code == 0
    until(lambda: gemini.made("hello.txt"), what="the file")
    assert gemini.ready()["permission_mode"] == "acceptEdits"
    group = gemini.pid(session)
    gemini.yourcall.kill()
    gemini.gone(group)
    gemini.yourcall.start()
    assert gemini.yourcall.waiting() == []


@pytest.mark.parametrize(
    ("words", "why"),
    [
        (["no-such-agent"], "There is no no-such-agent on the PATH"),
        (["opencode"], "To install it: npm install -g opencode-ai"),
        (["--", "false"], "ended at once"),
        (["--", "sh", "-c", "echo Error: no licence >&2; exit 3"], "ended at once: Error: no licence"),
        (["--", "cat"], "does not speak the Agent Client Protocol"),
        (
            ["--", sys.executable, "-c", OLD],
            "speaks version 0 of the Agent Client Protocol",
        ),
        (["--", sys.executable, "-c", LOCKED], "it is not signed in (Authentication required)"),
    ],
)
def test_what_is_no_agent_is_told_in_a_sentence(tmp_path: Path, words: list[str], why: str) -> None:
    with Yourcall(tmp_path) as yourcall:
        said = yourcall.run("run", "--acp", "--cwd", str(tmp_path), *words, timeout=90)
        assert said.code == 2, said
        assert why in said.err
        assert yourcall.http("GET", "/api/sessions")[1] == []
