"""The one judge of risk: the same verdict for the same action, and a confirmation where one is due."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest
from dangerous_commands import DANGEROUS

from yourcall.agents.assess import assessed, edited
from yourcall.core.safety import confirmation
from yourcall.model.prompts import Effect, Kind, Option, Prompt, Question, Risk, Tool


def risk(tool: str, fields: object, *, kind: Kind = "permission", agent: str = "claude", **more: Any) -> Risk:
    body = msgspec.json.encode({"tool_input": fields})
    id = msgspec.json.encode([tool, fields, kind, agent]).decode()
    prompt = Prompt(id, kind, agent, "s", "/p", "t", 0.0, tool=Tool(tool) if tool else None, **more)
    return assessed(prompt, body).risk


@pytest.mark.parametrize(
    ("command", "level"),
    [
        ("ls", "low"),
        ("npm test", "low"),
        ("git status", "low"),
        ("cat README.md", "low"),
        ("cat .env", "high"),
        ("cat ~/.ssh/id_rsa", "high"),
        ("head -1 config/.env.local", "high"),
        ("base64 < ~/.aws/credentials", "high"),
        ("printenv", "high"),
        ("git config --list", "high"),
        ("git config --local -l", "high"),
        ("git config list --show-origin", "high"),
        ("git config --get-regexp url", "high"),
        ("git config --list --name-only", "low"),
        ("git config user.name", "low"),
        ("rm -rf build", "high"),
        ("sudo ls", "high"),
        ("pip install x", "high"),
        ("./deploy.sh", "unclear"),
        ("ls $(foo)", "unclear"),
        ("echo $'\\x72m'", "low"),
        ("ls (", "unclear"),
        ("", "unclear"),
    ],
)
def test_a_command_has_one_verdict_whichever_agent_asks(command: str, level: str) -> None:
    found = {risk("Bash", {"command": command}), risk("Bash", {"command": command}, agent="codex")}
    found |= {risk("run_shell_command", {"command": command}, agent="gemini")}
    assert {each.level for each in found} == {level}
    assert len(found) == 1
    assert all(each.reason.endswith(".") for each in found)


def test_a_read_or_a_change_is_judged_by_its_file() -> None:
    assert risk("Read", {"file_path": "/p/a.py"}).level == "low"
    assert risk("Read", {"file_path": "/home/me/.ssh/id_rsa"}).level == "high"
    assert risk("Edit", {"file_path": "/p/a.py", "old_string": "a", "new_string": "b"}).level == "low"
    assert risk("Write", {"file_path": "/etc/hosts", "content": "x"}).level == "high"
    assert risk("Write", {"content": "x"}).level == "unclear"
    gone = {"changes": [{"path": "/p/a.py", "kind": {"type": "delete"}, "diff": "x"}]}
    assert risk("apply_patch", gone, agent="codex").level == "high"
    assert risk("Bash", {"command": "ls", "dangerouslyDisableSandbox": True}).level == "high"
    assert risk("PowerShell", {"command": "ls"}).level == "unclear"


def test_what_cannot_be_read_is_not_harmless() -> None:
    assert risk("Bash", None).level == "unclear"
    assert risk("Bash", ["ls"]).level == "unclear"
    assert risk("", None).level == "unclear"
    assert risk("Bash", {"command": "ls"}, needs_confirmation=True).level == "high"
    assert risk("", None, kind="unknown").level == "unclear"


def test_a_servers_tool_does_not_hide_behind_a_field_of_the_name_command() -> None:
    assert risk("mcp__db__delete_all", {"command": "ls", "target": "prod"}).reason.startswith("By its name")
    assert risk("mcp__db__look", {"command": "rm -r x"}) == risk("Bash", {"command": "rm -r x"})
    assert risk("mcp__db__look", {"command": "ls"}).level == "low"
    # Nor does another tool become a server's by a field of its input.
    assert risk("Bash", {"command": "rm -r x", "serverName": "db"}).level == "high"


def _startup(text: str, effect: Effect = "choose") -> Risk:
    options = (Option("a", "Dark mode", effect), Option("b", "Light mode", "choose"))
    return risk("", None, kind="startup", questions=(Question("q", text, options),))


def test_a_theme_at_the_start_is_harmless_and_a_grant_is_not() -> None:
    assert _startup("Choose the text style that looks best with your terminal").level == "low"
    assert _startup("Choose a theme", "allow_always").level == "high"
    assert _startup("Do you want to use this API key?").level == "high"
    assert _startup("Pick a theme, and trust this folder").level == "high"


@pytest.mark.parametrize("effect", ["allow_session", "allow_always"])
def test_a_yes_that_lasts_needs_a_confirmation_and_a_no_never_does(effect: Effect) -> None:
    low, high = Risk("low", "Fine."), Risk("high", "It deletes files.")
    assert confirmation(Option("o", "Yes", effect), low)
    assert confirmation(Option("o", "Yes", "allow_once"), low) == ""
    assert confirmation(Option("o", "Yes", "allow_once"), high) == "It deletes files."
    assert confirmation(Option("o", "No", "deny"), high) == confirmation(Option("o", "No", "stop"), high) == ""


def test_an_edited_input_is_judged_anew() -> None:
    prompt = Prompt("p", "permission", "claude", "s", "/p", "ls", 0.0, tool=Tool("Bash"))
    assert edited(prompt, b'{"command": "ls -l"}').risk.level == "low"
    assert edited(prompt, b'{"command": "rm -r x"}').risk.level == "high"
    assert edited(prompt, b"[]").risk.level == "unclear"


def test_an_action_tells_everything_that_goes_with_a_yes() -> None:
    fields = {"command": "ls", "description": "Look", "run_in_background": True, "cwd": "/p", "odd": [1]}
    prompt = Prompt("a", "permission", "claude", "s", "/p", "ls", 0.0, tool=Tool("Bash"))
    action = assessed(prompt, msgspec.json.encode({"tool_input": fields})).action
    assert action is not None
    assert (action.command, action.purpose, action.background) == ("ls", "Look", True)
    assert [(each.name, each.value) for each in action.more] == [("odd", "[1]")]


def test_what_needs_a_hold_is_never_called_harmless() -> None:
    levels = {command: risk("Bash", {"command": command}).level for command in DANGEROUS}
    # A quoted letter after `echo` runs nothing, and the parser can tell.
    assert [command for command, level in levels.items() if level == "low"] == ["echo $'\\x72m'"]


@pytest.mark.parametrize("command", ["npm test", "ls -la", "git status && git diff", "cargo build", "make test"])
def test_what_people_allow_all_day_is_one_tap(command: str) -> None:
    assert risk("Bash", {"command": command}).level == "low"
