"""Seed 000, the ways in which Claude Code pauses: one test for each row."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest
from seed_agent import Agent

from kit.poll import until

if TYPE_CHECKING:
    from pathlib import Path

    from kit.yourcall import Yourcall

DATABASE = {
    "question": "Which database should we use?",
    "header": "Database",
    "multiSelect": False,
    "options": [
        {"label": "PostgreSQL", "description": "Relational, ACID compliant"},
        {"label": "MongoDB", "description": "Document store, flexible schema"},
    ],
}
FEATURES = {
    "question": "Which features?",
    "header": "Features",
    "multiSelect": True,
    "options": [{"label": "Login"}, {"label": "Search"}, {"label": "Export"}],
}


def answers(decision: Any) -> dict[str, str]:
    return decision["updatedInput"]["answers"]


def test_ask_user_question(agent: Agent) -> None:
    held = agent.asks("AskUserQuestion", questions=[DATABASE])
    prompt = agent.prompt("question")
    (question,) = prompt["questions"]
    assert (question["text"], question["header"]) == (DATABASE["question"], "Database")
    assert [o["description"] for o in question["options"]] == [o["description"] for o in DATABASE["options"]]
    got = agent.decided(held, prompt, option="MongoDB")
    assert answers(got) == {DATABASE["question"]: "MongoDB"}


def test_ask_user_question_multi_select_with_commas(agent: Agent) -> None:
    held = agent.asks("AskUserQuestion", questions=[FEATURES])
    prompt = agent.prompt("question")
    assert prompt["questions"][0]["multi_select"] is True
    got = agent.decided(held, prompt, option="o1,o3")
    assert answers(got) == {FEATURES["question"]: "Login, Export"}


def test_ask_user_question_other(agent: Agent) -> None:
    held = agent.asks("AskUserQuestion", questions=[DATABASE])
    got = agent.decided(held, agent.prompt("question"), text="SQLite")
    assert answers(got) == {DATABASE["question"]: "SQLite"}


def test_ask_user_question_one_to_four_questions(agent: Agent) -> None:
    asked = [{**DATABASE, "question": f"Number {n}?"} for n in range(1, 5)]
    held = agent.asks("AskUserQuestion", questions=asked)
    prompt = agent.prompt("question")
    got = agent.decided(held, prompt, choices={q["id"]: ["o1"] for q in prompt["questions"]})
    assert answers(got) == {f"Number {n}?": "PostgreSQL" for n in range(1, 5)}


def test_option_numbers_are_those_of_the_dialog(agent: Agent) -> None:
    agent.asks("AskUserQuestion", questions=[DATABASE])
    assert [o["digit"] for o in agent.prompt("question")["questions"][0]["options"]] == ["1", "2"]


def test_exit_plan_mode_approved(agent: Agent) -> None:
    held = agent.asks("ExitPlanMode", plan="## Plan\n\n1. Create the schema")
    prompt = agent.prompt("plan")
    assert "Create the schema" in prompt["body"]
    assert agent.decided(held, prompt, option="approve")["behavior"] == "allow"


def test_exit_plan_mode_revised(agent: Agent) -> None:
    held = agent.asks("ExitPlanMode", plan="1. Create the schema")
    got = agent.decided(held, agent.prompt("plan"), "reject", option="revise", text="Add tests.")
    assert got["behavior"] == "deny"
    assert "Add tests." in got["message"]


@pytest.mark.parametrize(
    ("tool", "given", "shown"),
    [
        ("Bash", {"command": "npm run test"}, "npm run test"),
        ("Write", {"file_path": "/p/a.txt", "content": "hello"}, "a.txt"),
        ("Edit", {"file_path": "/p/a.txt", "old_string": "a", "new_string": "b"}, "a.txt"),
        ("MultiEdit", {"file_path": "/p/m.txt", "edits": [{"old_string": "a", "new_string": "b"}]}, "m.txt"),
        ("NotebookEdit", {"notebook_path": "/p/n.ipynb", "new_source": "1"}, "n.ipynb"),
        ("WebFetch", {"url": "https://example.org/x", "prompt": "read"}, "example.org"),
        ("mcp__github__create_issue", {"title": "Broken"}, "create_issue"),
    ],
)
def test_permission_shows_its_input(agent: Agent, tool: str, given: dict[str, Any], shown: str) -> None:
    held = agent.asks(tool, **given)
    prompt = agent.prompt("permission")
    assert prompt["tool"] == {"name": tool, "input": given}
    assert shown in prompt["title"]
    assert agent.decided(held, prompt, option="allow")["behavior"] == "allow"


def test_permission_denied(agent: Agent) -> None:
    held = agent.asks("Bash", command="rm x")
    got = agent.decided(held, agent.prompt("permission"), "reject", option="deny", text="Keep it.")
    assert (got["behavior"], got["message"]) == ("deny", "Keep it.")


def test_yes_and_do_not_ask_again(agent: Agent) -> None:
    rule = {"toolName": "Bash", "ruleContent": "ls:*"}
    suggested = {"type": "addRules", "rules": [rule], "behavior": "allow", "destination": "session"}
    held = agent.asks("Bash", suggestions=[suggested], command="ls")
    got = agent.decided(held, agent.prompt("permission"), option="remember1")
    assert got["updatedPermissions"] == [suggested]


def test_several_pending_are_told_apart(agent: Agent, tmp_path: Path, daemon: Yourcall) -> None:
    """The same command in two sessions: the answer reaches the one that was meant."""
    with Agent(tmp_path / "other", daemon) as other:
        first, second = agent.asks("Bash", command="ls"), other.asks("Bash", command="ls")
        agent.prompt()
        other.decided(second, other.prompt(), option="allow")
        assert first.process.poll() is None
        assert agent.prompt()["state"] == "open"


def test_a_second_tap_is_too_late(agent: Agent) -> None:
    held = agent.asks("Bash", command="ls")
    prompt = agent.prompt()
    agent.decided(held, prompt, option="allow")
    status, said = agent.yc.http("POST", f"/api/prompts/{prompt['id']}/answer", {"option": "deny"})
    assert (status, said["result"]) == (409, "too_late")


def test_approved_on_the_desktop_it_leaves_the_queue(agent: Agent) -> None:
    held = agent.asks("Bash", command="ls")
    prompt = agent.prompt()
    agent.goes_on(held, source="user_temporary")
    until(lambda: not agent.open(), show=agent.open)
    assert agent.yc.show(prompt["id"])["state"] == "desk"


def test_stop_says_ready_for_input(agent: Agent) -> None:
    agent.tells("SessionStart", source="startup")
    agent.tells("Stop", last_assistant_message="Done with it.", stop_hook_active=False)
    assert agent.prompt("ready")["body"] == "Done with it."


@pytest.mark.parametrize("type", ["permission_prompt", "idle_prompt", "auth_success", "elicitation_dialog"])
def test_notification(agent: Agent, type: str) -> None:
    """None of the four invents a prompt that nobody could answer; an idle one keeps the session ready."""
    agent.tells("SessionStart", source="startup")
    agent.tells("Stop", last_assistant_message="Done.", stop_hook_active=False)
    agent.prompt("ready")
    agent.tells("Notification", notification_type=type, message="Claude is waiting for your input")
    assert agent.session()["state"] in ("idle", "waiting")
    assert [prompt["kind"] for prompt in agent.open()] in (["ready"], ["ready", "problem"])


def test_session_start_and_end_are_tracked(agent: Agent) -> None:
    agent.tells("SessionStart", source="startup")
    assert agent.session()["cwd"] == str(agent.project)
    agent.tells("SessionEnd", reason="prompt_input_exit")
    until(lambda: agent.session_id not in [s["id"] for s in agent.yc.http("GET", "/api/sessions")[1]])


def test_conversation_is_read_from_the_transcript(agent: Agent) -> None:
    held = agent.asks("Bash", command="ls")
    agent.decided(held, agent.prompt(), option="allow")
    path = f"/api/sessions/{agent.session_id}/conversation"
    found = until(
        lambda: [e for e in agent.yc.http("GET", path)[1]["entries"] if e["type"] == "action"], what="the call"
    )
    assert [entry["phase"] for entry in found] == ["started", "completed"]


def test_an_ended_session_can_be_read(agent: Agent) -> None:
    held = agent.asks("Bash", command="ls")
    agent.decided(held, agent.prompt(), option="allow")
    agent.tells("SessionEnd", reason="prompt_input_exit")
    short = agent.session_id[:8]
    until(lambda: short in agent.yc.run("sessions", "--all").out, what="it among the ended ones")
    said = agent.yc.run("conversation", short)
    assert (said.code, "ls" in said.out) == (0, True), said


def test_a_lost_connection_leaves_the_dialog_to_the_desk(agent: Agent) -> None:
    held = agent.asks("Bash", command="ls")
    agent.prompt()
    held.process.terminate()
    assert held.answer() is None
    agent.goes_on(held, source="user_temporary")
    until(lambda: not agent.open(), show=agent.open)


def test_the_request_waits_for_longer_than_a_hook_used_to(daemon: Yourcall) -> None:
    """60 s was the default; Claude lets ours wait for a day, and its own dialog is there all the while."""
    shown = daemon.run("setup", "claude", "--diff")
    assert shown.code == 0, shown
    (line,) = [line for line in shown.out.splitlines() if "PermissionRequest" in line]
    assert int(line.partition('"timeout": ')[2].split("}")[0]) == 86_400
