"""Dialogs that no hook reaches, read from the real Claude's screen and answered with verified keys."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest

from kit.claude import ClaudeHome, start_claude
from kit.poll import until
from kit.turns import text, tool
from kit.yourcall import Yourcall

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from kit.claude import Claude
    from kit.model_server import ModelServer
    from kit.terminal import Tmux

TOUCH = tool("Bash", command="touch marker", description="Make the marker")
AGAIN = tool("Bash", command="touch second", description="Make the second marker")


@pytest.fixture
def bare(tmp_path: Path, claude_home: ClaudeHome) -> Iterator[Yourcall]:
    """A running yourcall that no agent was connected to: there are no hooks."""
    with Yourcall(tmp_path, claude_home) as running:
        yield running


@pytest.fixture
def start(claude_bin: Path, model: ModelServer, claude_home: ClaudeHome, bare: Yourcall, tmux: Tmux) -> Any:
    """Start Claude, and tell yourcall which pane it is in."""

    def run(*args: str, **given: Any) -> Claude:
        claude = start_claude(tmux, claude_bin, claude_home, model, **({"args": args} if args else {}), **given)
        watch(bare, claude)
        return claude

    return run


def watch(yourcall: Yourcall, claude: Claude) -> None:
    pane = claude.terminal
    status, said = yourcall.http("POST", "/api/panes", {"server": str(pane.tmux.socket), "pane": pane.id})
    assert status == 201, said


def forget(home: ClaudeHome, *keys: str) -> None:
    """As if the person had never decided this."""
    file = home.path / ".claude.json"
    state = json.loads(file.read_text())
    for key in keys:
        del state[key]
    file.write_text(json.dumps(state))


def state_of(home: ClaudeHome) -> dict[str, Any]:
    return json.loads((home.path / ".claude.json").read_text())


def test_trust_is_answered_yes_with_an_arrow_and_enter(
    start: Any, bare: Yourcall, claude_home: ClaudeHome
) -> None:
    forget(claude_home, "projects")
    claude = start()
    prompt = bare.wait_prompt()
    assert (prompt["kind"], prompt["held"], prompt["cwd"]) == ("trust", True, str(claude_home.project))
    assert str(claude_home.project) in prompt["title"]
    said = bare.run("answer", prompt["id"], "yes")
    assert said.code == 0, said
    claude.wait_ready()
    trusted = until(lambda: state_of(claude_home).get("projects"))
    assert trusted[str(claude_home.project)]["hasTrustDialogAccepted"] is True
    assert bare.prompts() == []
    history = bare.show(prompt["id"])["history"]
    assert [m["state"] for m in history] == ["open", "answering", "sent", "accepted", "confirmed"]


def test_trust_is_answered_no_and_claude_leaves(start: Any, bare: Yourcall, claude_home: ClaudeHome) -> None:
    forget(claude_home, "projects")
    claude = start()
    prompt = bare.wait_prompt()
    said = bare.run("answer", prompt["id"], "no")
    assert said.code == 0, said
    claude.wait_gone()
    assert "projects" not in state_of(claude_home) or not any(
        project.get("hasTrustDialogAccepted") for project in state_of(claude_home)["projects"].values()
    )
    assert bare.show(prompt["id"])["outcome"] == "stopped"
    until(lambda: bare.run("sessions", "--json").json == [])


def test_the_api_key_is_approved_going_up(start: Any, bare: Yourcall, claude_home: ClaudeHome) -> None:
    forget(claude_home, "customApiKeyResponses")
    claude = start()
    prompt = bare.wait_prompt()
    assert prompt["kind"] == "startup"
    assert "API key" in prompt["title"]
    assert bare.run("answer", prompt["id"], "yes").code == 0
    claude.wait_ready()
    until(lambda: state_of(claude_home).get("customApiKeyResponses", {}).get("approved"))


def test_the_bypass_warning_is_shown_and_refused(start: Any, bare: Yourcall) -> None:
    claude = start("--permission-mode", "bypassPermissions", env={"IS_SANDBOX": "1"})
    prompt = bare.wait_prompt()
    assert prompt["kind"] == "startup"
    assert "Bypass Permissions" in prompt["title"]
    (question,) = prompt["questions"]
    accept = next(option for option in question["options"] if option["effect"] == "allow_always")
    assert "Only a person" in accept["description"]
    assert "WARNING" in prompt["body"]
    refuse = next(option for option in question["options"] if option["effect"] == "stop")
    assert bare.run("answer", prompt["id"], refuse["id"]).code == 0
    claude.wait_gone()


def test_the_offer_of_auto_mode_is_shown_and_refused(
    start: Any, bare: Yourcall, model: ModelServer, claude_home: ClaudeHome
) -> None:
    """Its yes is highlighted from the start, and digits do nothing: an arrow first, then Enter."""
    claude_home.write_settings({"permissions": {"defaultMode": "default"}})
    claude = start("--model", "opus")
    prompt = bare.wait_prompt()
    assert (prompt["kind"], prompt["title"]) == ("startup", "Make auto mode your default permission mode?")
    (question,) = prompt["questions"]
    yes, no = question["options"]
    assert (yes["effect"], no["effect"]) == ("allow_always", "deny")
    assert "hardly asked" in yes["description"]
    assert bare.run("answer", prompt["id"], no["id"]).code == 0
    claude.say(model.script("work", [TOUCH], [text("Made it.")]))
    asked = bare.wait_prompt()  # in manual mode still
    assert asked["title"] == "Bash command: touch marker"
    assert json.loads(claude_home.settings.read_text()) == {"permissions": {"defaultMode": "default"}}


def test_without_hooks_a_command_is_allowed_and_the_next_refused(
    start: Any, bare: Yourcall, model: ModelServer, claude_home: ClaudeHome
) -> None:
    words = model.script("work", [TOUCH], [AGAIN], [text("Never said.")])
    claude = start()
    claude.say(words)
    first = bare.wait_prompt()
    assert (first["kind"], first["title"]) == ("permission", "Bash command: touch marker")
    said = bare.run("answer", first["id"], "allow")
    assert said.code == 0, said
    second = until(lambda: [p for p in bare.prompts() if p["id"] != first["id"]])[0]
    assert (claude_home.project / "marker").exists()
    assert second["title"] == "Bash command: touch second"
    assert bare.run("answer", second["id"], "deny").code == 0
    claude.wait_status("idle")
    assert not (claude_home.project / "second").exists()
    until(lambda: "[Request interrupted by user for tool use]" in json.dumps(claude_home.lines()))
    until(lambda: bare.prompts() == [])


def test_an_answer_to_a_dialog_that_has_changed_presses_nothing(
    start: Any, bare: Yourcall, model: ModelServer, claude_home: ClaudeHome
) -> None:
    words = model.script("work", [TOUCH], [AGAIN], [text("Done.")])
    claude = start()
    claude.say(words)
    first = bare.wait_prompt()
    claude.press("1")
    claude.terminal.wait_until(lambda screen: "touch second" in screen and "Do you want" in screen)
    status, reply = bare.http("POST", f"/api/prompts/{first['id']}/answer", {"option": "allow", "wait": 5})
    assert (status, reply["result"] in ("bounced", "too_late")) == (409, True), reply
    second = until(lambda: [p for p in bare.prompts() if p["title"].endswith("touch second")])[0]
    assert bare.show(first["id"])["state"] == "desk"
    assert not (claude_home.project / "second").exists()
    assert claude.status == "waiting"
    assert bare.run("answer", second["id"], "allow").code == 0
    until(lambda: (claude_home.project / "second").exists())


def test_without_hooks_a_question_is_answered_by_its_digit(start: Any, bare: Yourcall, model: ModelServer) -> None:
    options = [{"label": name, "description": f"Paint it {name}"} for name in ("Red", "Green", "Blue")]
    asked = {"question": "Which colour?", "header": "Colour", "multiSelect": False, "options": options}
    words = model.script("ask", [tool("AskUserQuestion", questions=[asked])], [text("Fine.")])
    claude = start()
    claude.say(words)
    prompt = bare.wait_prompt()
    assert (prompt["kind"], prompt["title"]) == ("question", "Which colour?")
    assert bare.run("answer", prompt["id"], "Blue").code == 0
    (result,) = model.wait_for(lambda m: m.tool_results())
    assert "Blue" in result.text
    assert "Red" not in result.text


def test_a_session_found_by_its_process_is_trusted_and_then_goes_by_its_own_id(
    claude_bin: Path, model: ModelServer, claude_home: ClaudeHome, yourcall: Yourcall, tmux: Tmux
) -> None:
    """Hooks are installed, but the first dialog comes before any hook: nobody told of the pane."""
    forget(claude_home, "projects")
    claude = start_claude(tmux, claude_bin, claude_home, model)
    yourcall.discovery = "tmux"
    yourcall.configure(f"[discovery]\nroot_pid = {claude.pid}\n")
    prompt = yourcall.wait_prompt()
    assert (prompt["kind"], prompt["session_id"].startswith("pid-")) == ("trust", True)
    assert yourcall.run("answer", prompt["id"], "yes").code == 0
    claude.say(model.script("work", [TOUCH], [text("Made it.")]))
    asked = yourcall.wait_prompt()
    assert (asked["tool"]["name"], asked["session_id"]) == ("Bash", claude.session["sessionId"])
    claude.wait_dialog()
    # The hook's prompt is the only one, as long as its dialog stands; and the made-up session is over.
    until(lambda: [s["id"] for s in yourcall.http("GET", "/api/sessions")[1]] == [asked["session_id"]])
    assert [p["id"] for p in yourcall.prompts()] == [asked["id"]]
    assert yourcall.run("answer", asked["id"], "allow").code == 0
    until(lambda: (claude_home.project / "marker").exists())
