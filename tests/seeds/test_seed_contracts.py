"""Seeds 002 and 004, clients written from the documents alone: one test for each row."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from kit.contract_client import ContractClient, ServerError

if TYPE_CHECKING:
    from collections.abc import Iterator

    from seed_agent import Agent

    from kit.yourcall import Yourcall


@pytest.fixture
def client(daemon: Yourcall) -> Iterator[ContractClient]:
    with ContractClient(daemon) as open:
        yield open


@pytest.mark.parametrize(
    ("tool", "given", "type"),
    [
        ("Write", {"file_path": "/p/UserProfile.swift", "content": "struct"}, "write_file"),
        ("Edit", {"file_path": "/p/main.swift", "old_string": "a", "new_string": "b"}, "edit_file"),
        ("Bash", {"command": "rm hello.swift"}, "delete_file"),
        ("Bash", {"command": "npm install"}, "bash_command"),
        ("mcp__github__create_issue", {"title": "x"}, "mcp_tool"),
    ],
)
def test_pty_permission(agent: Agent, client: ContractClient, tool: str, given: dict[str, Any], type: str) -> None:
    agent.asks(tool, **given)
    agent.prompt()
    client.call("workspace/session/watch", session_id=agent.session_id)
    shown = client.wait("pty_permission")
    assert shown["type"] == type
    assert (shown["options"][0]["key"], shown["options"][0]["selected"]) == ("1", True)


@pytest.mark.parametrize(("key", "behavior"), [("1", "allow"), ("y", "allow"), ("n", "deny")])
def test_session_input_with_a_key(agent: Agent, client: ContractClient, key: str, behavior: str) -> None:
    held = agent.asks("Bash", command="npm install")
    agent.prompt()
    client.call("workspace/session/watch", session_id=agent.session_id)
    client.wait("pty_permission")
    sent = client.begin("session/input", session_id=agent.session_id, input=key, agent_type="claude")
    got = held.answer()
    assert got is not None
    assert got["hookSpecificOutput"]["decision"]["behavior"] == behavior
    agent.goes_on(held, decision="accept" if behavior == "allow" else "reject")
    assert client.end(sent) == {"status": "sent"}


def test_session_state(agent: Agent, client: ContractClient) -> None:
    agent.asks("Write", file_path=str(agent.project / "a"), content="x")
    agent.prompt()
    state = client.call("session/state", session_id=agent.session_id)
    assert (state["status"], state["pty_state"], state["pty_waiting_for_input"], state["pty_prompt_type"]) == (
        "running", "permission", True, "write_file",
    )  # fmt: skip


def test_workspace_list(agent: Agent, client: ContractClient) -> None:
    agent.asks("Bash", command="ls")
    agent.prompt()
    found = {each["path"]: each for each in client.call("workspace/list")["workspaces"]}
    active = found[str(agent.project)]["active_session"]
    assert (active["session_id"], active["status"], active["is_live"]) == (agent.session_id, "running", True)


def test_pty_state_permission_then_thinking(agent: Agent, client: ContractClient) -> None:
    held = agent.asks("Bash", command="ls")
    prompt = agent.prompt()
    client.call("workspace/session/watch", session_id=agent.session_id)
    waits = client.wait("pty_state")
    assert (waits["state"], waits["waiting_for_input"]) == ("permission", True)
    agent.decided(held, prompt, option="allow")
    assert client.wait("pty_state", lambda p: p["state"] == "thinking")["waiting_for_input"] is False


def test_pty_state_question(agent: Agent, client: ContractClient) -> None:
    options = [{"label": "a.txt"}, {"label": "b.txt"}]
    agent.asks("AskUserQuestion", questions=[{"question": "What should the file be named?", "options": options}])
    agent.prompt()
    client.call("workspace/session/watch", session_id=agent.session_id)
    assert client.wait("pty_state")["state"] == "question"


def test_pty_state_error_then_idle(agent: Agent, client: ContractClient) -> None:
    agent.tells("SessionStart", source="startup")
    agent.session()
    client.call("workspace/session/watch", session_id=agent.session_id)
    agent.tells("UserPromptSubmit", prompt="Go on.")
    client.wait("pty_state", lambda p: p["state"] == "thinking")
    agent.tells("StopFailure", error="rate_limit", last_assistant_message="API Error: 429")
    client.wait("pty_state", lambda p: p["state"] == "error")
    agent.tells("UserPromptSubmit", prompt="Go on.")
    client.wait("pty_state", lambda p: p["state"] == "thinking")
    agent.tells("Stop", last_assistant_message="Done.", stop_hook_active=False)
    assert client.wait("pty_state", lambda p: p["state"] == "idle")["waiting_for_input"] is False


def test_claude_message_and_its_stop_reason(agent: Agent, client: ContractClient) -> None:
    agent.tells("SessionStart", source="startup")
    agent.session()
    client.call("workspace/session/watch", session_id=agent.session_id)
    for reason, block in (
        ("tool_use", {"type": "text", "text": "I will look."}),
        ("tool_use", {"type": "tool_use", "id": "t1", "name": "Bash", "input": {"command": "ls"}}),
        ("end_turn", {"type": "thinking", "thinking": "Done, I think."}),
        ("end_turn", {"type": "text", "text": "Done!"}),
    ):
        message = {"role": "assistant", "content": [block], "stop_reason": reason}
        agent.writes({"type": "assistant", "message": message})
    reasons = [client.wait("claude_message")["stop_reason"] for _ in range(4)]
    assert reasons == ["", "tool_use", "", "end_turn"]


def test_a_session_id_of_the_clients_own_is_kept(agent: Agent, client: ContractClient) -> None:
    """The newest session of the workspace is spoken to under the name that the client gave it."""
    held = agent.asks("Bash", command="ls")
    prompt = agent.prompt()
    workspace = next(
        each["id"] for each in client.call("workspace/list")["workspaces"] if each["path"] == str(agent.project)
    )
    # A dialog is open, so nothing is typed; the name counts all the same.
    with pytest.raises(ServerError):
        client.call(
            "session/send",
            workspace_id=workspace,
            session_id="sess-456",
            prompt="Hello",
            permission_mode="default",
        )
    assert client.wait("pty_permission")["session_id"] == "sess-456"
    assert client.call("session/state", session_id="sess-456")["session_id"] == "sess-456"
    sent = client.begin("session/input", session_id="sess-456", input="1", agent_type="claude")
    assert held.answer() is not None
    agent.goes_on(held)
    assert client.end(sent) == {"status": "sent"}
    agent.yc.wait_state(prompt["id"], "confirmed")


def interactive(agent: Agent) -> dict[str, Any]:
    prompt = agent.prompt()
    listed = agent.yc.http("GET", "/api/interactive-prompts")[1]
    return next(each for each in listed if each["requestId"].startswith(prompt["id"]))


def respond(agent: Agent, **response: Any) -> dict[str, Any]:
    return agent.yc.http("POST", "/api/interactive-prompts/respond", response)[1]


def test_interactive_prompt_permission(agent: Agent) -> None:
    held = agent.asks("Bash", command="ls")
    shown = interactive(agent)
    assert (shown["type"], shown["toolName"], shown["toolInput"]) == ("permission", "Bash", {"command": "ls"})
    respond(agent, requestId=shown["requestId"], selectedOption=shown["options"][0]["value"])
    got = held.answer()
    assert got is not None
    assert got["hookSpecificOutput"]["decision"]["behavior"] == "allow"


def test_interactive_prompt_question_takes_several(agent: Agent) -> None:
    options = [{"label": "Login"}, {"label": "Search"}, {"label": "Export"}]
    asked = {"question": "Which features?", "header": "Features", "multiSelect": True, "options": options}
    held = agent.asks("AskUserQuestion", questions=[asked])
    shown = interactive(agent)
    assert (shown["type"], shown["multiSelect"]) == ("question", True)
    respond(agent, requestId=shown["requestId"], selectedOption="o1,o3")
    got = held.answer()
    assert got is not None
    assert got["hookSpecificOutput"]["decision"]["updatedInput"]["answers"] == {"Which features?": "Login, Export"}


def test_interactive_prompt_plan_feedback_by_text_alone(agent: Agent) -> None:
    held = agent.asks("ExitPlanMode", plan="1. Begin")
    shown = interactive(agent)
    assert (shown["type"], "textInput" in shown) == ("plan", True)
    respond(agent, requestId=shown["requestId"], textValue="Add tests.")
    got = held.answer()
    assert got is not None
    decision = got["hookSpecificOutput"]["decision"]
    assert (decision["behavior"], "Add tests." in decision["message"]) == ("deny", True)


def test_interactive_prompt_each_question_has_its_title(agent: Agent) -> None:
    options = [{"label": "A"}, {"label": "B"}]
    asked = [{"question": f"{name}?", "header": name, "options": options} for name in ("First", "Second")]
    held = agent.asks("AskUserQuestion", questions=asked)
    first = interactive(agent)
    second = respond(agent, requestId=first["requestId"], selectedOption="A")["next"]
    assert (first["title"], second["title"]) == ("First", "Second")
    respond(agent, requestId=second["requestId"], selectedOption="B")
    got = held.answer()
    assert got is not None
    assert got["hookSpecificOutput"]["decision"]["updatedInput"]["answers"] == {"First?": "A", "Second?": "B"}
