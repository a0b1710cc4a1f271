"""The kit itself: a real Claude Code asks, the desk answers, and every sign can be read."""

from __future__ import annotations

import json
import threading
import urllib.error
import urllib.request
from typing import TYPE_CHECKING, Any

import pytest

from kit.claude import start_claude
from kit.poll import until
from kit.probe import Probe
from kit.turns import error, pause, text, tool

if TYPE_CHECKING:
    from pathlib import Path

    from kit.claude import ClaudeHome
    from kit.model_server import ModelServer
    from kit.terminal import Ptys, Tmux

TOUCH = tool("Bash", command="touch marker", description="Make the marker")


@pytest.fixture(params=["tmux", "pty"])
def terminal(request: pytest.FixtureRequest) -> Tmux | Ptys:
    return request.getfixturevalue("tmux" if request.param == "tmux" else "ptys")


def test_desk_yes_runs_the_command(
    claude_bin: Path, model: ModelServer, claude_home: ClaudeHome, terminal: Tmux | Ptys
) -> None:
    words = model.script("touch", [TOUCH], [text("Made it.")])
    claude = start_claude(terminal, claude_bin, claude_home, model)
    claude.say(words)
    claude.wait_dialog()
    assert claude.status == "waiting"
    assert not (claude_home.project / "marker").exists()

    claude.press("1")
    (result,) = model.wait_for(lambda m: m.tool_results())
    assert (result.name, result.input["command"], result.is_error) == ("Bash", "touch marker", False)
    assert (claude_home.project / "marker").exists()
    claude.wait_status("idle")
    (line,) = until(lambda: claude_home.tool_result_lines(result.id))
    assert line["permissionDecision"]["decision"] == "accept"


def test_desk_no_stops_the_turn(
    claude_bin: Path, model: ModelServer, claude_home: ClaudeHome, terminal: Tmux | Ptys
) -> None:
    words = model.script("touch", [TOUCH], [text("Made it.")])
    claude = start_claude(terminal, claude_bin, claude_home, model)
    claude.say(words)
    claude.wait_dialog()
    claude.press("Escape")
    claude.wait_status("idle")
    assert not (claude_home.project / "marker").exists()

    # The model hears of the refusal only with the next thing the person says.
    assert model.tool_results() == []
    claude.say("never mind")
    (result,) = model.wait_for(lambda m: m.tool_results())
    assert result.is_error
    assert "doesn't want to proceed" in result.text


def test_two_sessions_do_not_meet(
    claude_bin: Path, model: ModelServer, tmp_path: Path, claude_home: ClaudeHome, tmux: Tmux
) -> None:
    words = model.script("touch", [TOUCH])
    (tmp_path / "other").mkdir()
    other_home = type(claude_home).make(tmp_path / "other")
    one, other = (start_claude(tmux, claude_bin, home, model) for home in (claude_home, other_home))
    one.say(words)
    one.wait_dialog()
    other.wait_ready()
    assert (one.status, other.status) == ("waiting", "idle")
    one.press("1")
    model.wait_for(lambda m: m.tool_results())
    assert (claude_home.project / "marker").exists()
    assert not (other_home.project / "marker").exists()


def test_what_a_held_hook_sees(
    claude_bin: Path, model: ModelServer, tmp_path: Path, claude_home: ClaudeHome, tmux: Tmux
) -> None:
    """Rows 6 and 5 of docs/reference/agents/claude-code.md in one session: allowed by the hook, then Esc."""
    probe = Probe(tmp_path / "probe")
    claude_home.write_settings(probe.settings(told=["PostToolUse"]))
    words = model.script("touch", [TOUCH], [tool("Bash", command="touch other", description="Another")])
    claude = start_claude(tmux, claude_bin, claude_home, model)
    claude.say(words)
    claude.wait_dialog()
    (first,) = probe.wait_held()
    assert first["payload"]["tool_input"]["command"] == "touch marker"
    assert first["env"]["CLAUDE_PID"] == str(claude.pid)
    probe.answer(first["pid"], {"behavior": "allow"})

    (second,) = until(lambda: [e for e in probe.wait_held() if e["pid"] != first["pid"]])
    (line,) = until(lambda: claude_home.tool_result_lines())
    assert line["permissionDecision"]["source"] == "hook"
    (post,) = until(lambda: probe.payloads("PostToolUse"))
    assert post["payload"]["tool_use_id"] == line["message"]["content"][0]["tool_use_id"]

    claude.wait_dialog()
    claude.press("Escape")
    assert probe.wait_what(second["pid"], "signal")["signal"] == "SIGTERM"
    claude.wait_status("idle")
    assert sorted(p.name for p in claude_home.project.iterdir()) == ["marker"]


def test_a_subagents_request_shows_no_dialog_while_it_is_held(
    claude_bin: Path, model: ModelServer, tmp_path: Path, claude_home: ClaudeHome, tmux: Tmux
) -> None:
    probe = Probe(tmp_path / "probe")
    claude_home.write_settings(probe.settings())
    model.script("sub", [TOUCH], [text("The subagent is done.")])
    ask = tool("Agent", description="Look", prompt="please DO sub", subagent_type="general-purpose")
    words = model.script("agent", [ask], [text("Started it.")])
    claude = start_claude(tmux, claude_bin, claude_home, model)
    claude.say(words)
    (held,) = probe.wait_held()
    assert held["payload"]["agent_id"]
    claude.wait_ready()
    assert claude.status == "busy"

    probe.answer(held["pid"], None)
    assert "from the general-purpose agent" in claude.wait_dialog()
    claude.wait_status("waiting")
    claude.press("1")
    until(lambda: (claude_home.project / "marker").exists())


def ask_model(model: ModelServer, *messages: dict[str, Any], tools: bool = True) -> dict[str, Any]:
    body = {"model": "m", "messages": messages, "tools": [{"name": "Bash"}] if tools else []}
    request = urllib.request.Request(f"{model.base_url}/v1/messages", json.dumps(body).encode())
    with urllib.request.urlopen(request, timeout=5) as answer:
        return json.load(answer)


def test_the_model_plays_the_turn_that_the_conversation_asks_for(model: ModelServer) -> None:
    words = model.script("touch", [TOUCH], [text("Made it.")])
    asked = {"role": "user", "content": f"please {words}"}
    (call,) = ask_model(model, asked)["content"]
    assert (call["name"], call["input"]["command"]) == ("Bash", "touch marker")

    result = {"type": "tool_result", "tool_use_id": call["id"], "content": [{"type": "text", "text": "fine"}]}
    told = {
        "role": "user",
        "content": [result, {"type": "text", "text": "<system-reminder>DO x</system-reminder>"}],
    }
    done = ask_model(model, asked, {"role": "assistant", "content": [call]}, told)
    assert done["content"] == [{"type": "text", "text": "Made it."}]
    assert [(r.name, r.text, r.is_error) for r in model.tool_results()] == [("Bash", "fine", False)]
    assert ask_model(model, {"role": "user", "content": "hi"})["content"][0]["text"] == "You said: hi"
    assert ask_model(model, asked, tools=False)["content"] == [{"type": "text", "text": "ok"}]


def test_the_model_fails_as_often_as_it_is_told_to(model: ModelServer) -> None:
    words = model.script("flaky", [error(529, "overloaded_error", "Overloaded", times=1), text("Better.")])
    with pytest.raises(urllib.error.HTTPError, match="529") as failure:
        ask_model(model, {"role": "user", "content": words})
    failure.value.close()
    assert ask_model(model, {"role": "user", "content": words})["content"][0]["text"] == "Better."


def test_a_paused_answer_goes_on_when_it_is_released(model: ModelServer) -> None:
    words = model.script("slow", [text("first "), pause("go"), text("second")])
    body = {"stream": True, "messages": [{"role": "user", "content": words}], "tools": [{"name": "Bash"}]}
    request = urllib.request.Request(f"{model.base_url}/v1/messages", json.dumps(body).encode())
    seen: list[str] = []

    def listen() -> None:
        with urllib.request.urlopen(request, timeout=10) as stream:
            for line in stream:
                seen.append(line.decode())

    listener = threading.Thread(target=listen)
    listener.start()
    until(lambda: sum("event: ping" in line for line in seen) >= 2, show=lambda: seen)
    assert "first" in "".join(seen)
    assert "second" not in "".join(seen)
    model.release("go")
    listener.join(5)
    assert "second" in "".join(seen)
    assert "message_stop" in seen[-2]
