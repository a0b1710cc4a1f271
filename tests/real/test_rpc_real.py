"""The JSON-RPC contract with the real Claude, in all modes of its document, by a client that knows only that."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any

import pytest
from test_claude_headless import Driven, drive

from kit.codex_scene import joined
from kit.contract_client import ContractClient, ServerError
from kit.poll import until
from kit.responses_server import escalated, say
from kit.turns import hang, text, tool
from yourcall.links.private_tmux import server
from yourcall.system.sockets import short_folder

if TYPE_CHECKING:
    from pathlib import Path

    from kit.claude import ClaudeHome
    from kit.model_server import ModelServer
    from kit.scene import Scene
    from kit.terminal import Tmux

WRITE = "struct UserProfile: View {}\n"


@pytest.fixture
def driven(tmp_path: Path, claude_home: ClaudeHome, claude_bin: Path, model: ModelServer) -> Iterator[Driven]:
    with drive(tmp_path, claude_home, claude_bin, model) as scene:
        yield scene
        sockets = short_folder(scene.yourcall.home, "tmux")
        for left in sockets.iterdir() if sockets.is_dir() else ():
            server.end(left)


def kinds(client: ContractClient) -> set[str]:
    return {each["type"] for each in client.events}


def test_interactive_starts_a_new_session_each_time_and_is_answered_by_digits(driven: Driven) -> None:
    project = driven.home.project
    write = tool("Write", file_path=str(project / "UserProfile.swift"), content=WRITE)
    bash = tool("Bash", command="touch marker", description="Make the marker")
    words = driven.model.script("work", [text("I'll create it."), write], [bash], [text("Done!")])
    with ContractClient(driven.yourcall) as client:
        workspace = client.call("workspace/add", path=str(project))
        assert (workspace["path"], workspace["active_session"]) == (str(project), None)
        mine = client.send_prompt(words, workspace_id=workspace["id"], session_id="sess-456")
        asked = client.wait("pty_permission")
        assert (asked["type"], asked["target"], asked["preview"]) == ("write_file", "UserProfile.swift", WRITE)
        assert asked["session_id"] == mine
        assert [(o["key"], o["selected"]) for o in asked["options"][:2]] == [("1", True), ("b", False)]
        client.wait("pty_state", lambda p: p["state"] == "permission" and p["prompt_type"] == "write_file")
        state = client.call("session/state", session_id=mine)
        assert state["workspace_id"] == workspace["id"]
        assert (state["pty_state"], state["pty_waiting_for_input"]) == ("permission", True)
        assert (state["pty_prompt_type"], state["is_live"], state["status"]) == ("write_file", False, "running")
        assert state["is_pty_mode"]
        client.send_input(mine, "1")
        asked = client.wait("pty_permission", lambda p: p["type"] == "bash_command")
        assert (project / "UserProfile.swift").read_text() == WRITE
        assert asked["target"] == "touch marker"
        # The highlight goes down and up again; enter takes the option it is on.
        client.send_key(mine, "down")
        moved = client.wait("pty_permission")
        assert [o["selected"] for o in moved["options"]].index(True) == 1
        client.send_key(mine, "up")
        assert client.wait("pty_permission")["options"][0]["selected"]
        client.send_key(mine, "return")
        client.wait("claude_message", lambda p: p["stop_reason"] == "end_turn")
        client.wait("pty_state", lambda p: p["state"] == "idle")
        assert (project / "marker").exists()
        seen = {"pty_state", "pty_permission", "claude_message"}
        assert kinds(client) <= seen  # neither pty_output nor claude_log
        with pytest.raises(ServerError) as late:  # a number that comes too late is not typed as a message
            client.send_input(mine, "1")
        assert late.value.data == {"result": "too_late"}
        other = client.send_prompt(driven.model.script("more", [text("Hi.")]), workspace_id=workspace["id"])
        assert other != mine
        listed = client.call("session/list", workspace_id=workspace["id"])["sessions"]
        assert {each["session_id"] for each in listed} == {mine, other}
        for each in (mine, other):  # they have a terminal of their own, and would outlive the daemon
            assert client.call("session/stop", session_id=each)["status"] == "stopped"
        assert client.call("session/state", session_id=other)["status"] == "stopped"


def test_other_modes_prefer_a_session_that_lives_and_stream_its_log(driven: Driven) -> None:
    project = driven.home.project
    first = driven.model.script("one", [text("First answer.")])
    second = driven.model.script("two", [text("Second answer.")])
    with ContractClient(driven.yourcall) as client:
        workspace = client.call("workspace/add", path=str(project), name="Kite shop")
        mine = client.send_prompt(first, "default", workspace_id=workspace["id"])
        client.wait("claude_log", lambda p: '"init"' in p["line"])
        client.wait("claude_message", lambda p: p["stop_reason"] == "end_turn")
        client.wait("pty_state", lambda p: p["state"] == "idle")
        # No agent_type: the session's own. No session_id: the one that lives in this workspace.
        again = client.send_prompt(second, "acceptEdits", workspace_id=workspace["id"], agent_type=None)
        assert again == mine
        done = client.wait("claude_message", lambda p: p["stop_reason"] == "end_turn")
        assert done["content"][-1] == {"type": "text", "text": "Second answer."}
        with pytest.raises(ServerError, match="claude"):
            client.call("session/send", session_id=mine, prompt="x", agent_type="codex")
        client.call("session/stop", session_id=mine)
        # Gone: the same call goes on with it.
        third = driven.model.script("three", [text("Third answer.")])
        client.send_prompt(third, "default", workspace_id=workspace["id"], session_id=mine)
        client.wait("claude_message", lambda p: "Third answer." in str(p["content"]))


def test_a_turn_that_runs_is_thinking_and_escape_ends_it(driven: Driven) -> None:
    with ContractClient(driven.yourcall) as client:
        workspace = client.call("workspace/add", path=str(driven.home.project))
        words = driven.model.script("long", [text("Let me see."), hang()])
        mine = client.send_prompt(words, "default", workspace_id=workspace["id"])
        output = client.wait("pty_output")
        assert (output["clean_text"][:3], output["state"]) == ("Let", "thinking")
        client.send_key(mine, "esc")
        client.wait("pty_state", lambda p: p["state"] in ("idle", "error"))


def test_a_session_in_the_persons_own_terminal(scene: Scene) -> None:
    touch = tool("Bash", command="touch marker", description="Make the marker")
    scene.ask([touch], [text("All done.")])
    with ContractClient(scene.yourcall) as client:

        def listed() -> dict[str, Any] | None:
            found = client.call("workspace/list")["workspaces"]
            return next((w for w in found if w["path"] == str(scene.home.project) and w["active_session"]), None)

        workspace = until(listed, what="the workspace with its session")
        active = workspace["active_session"]
        assert (active["is_live"], active["terminal_app"], active["status"]) == (True, "tmux", "running")
        mine = active["session_id"]
        scene.yourcall.wait_prompt()
        with pytest.raises(ServerError, match="watch"):  # not shown on this connection: no blind answer
            client.send_input(mine, "1")
        client.call("workspace/session/watch", workspace_id=workspace["id"], session_id=mine)
        asked = client.wait("pty_permission")
        assert (asked["type"], asked["target"]) == ("bash_command", "touch marker")
        client.wait("pty_output", lambda p: "touch marker" in p["clean_text"])  # drawn a moment after its hook
        state = client.call("session/state", session_id=mine)
        assert (state["is_pty_mode"], state["is_live"], state["pty_state"]) == (True, True, "permission")
        client.send_input(mine, "1")
        until(lambda: scene.made("marker"), what="the marker")
        client.wait("claude_message", lambda p: p["stop_reason"] == "end_turn")
        client.wait("pty_state", lambda p: p["state"] == "idle")
        live = client.send_prompt(
            scene.model.script("next", [text("And this.")]), "default", workspace_id=workspace["id"]
        )
        assert live == mine
        client.wait("claude_message", lambda p: "And this." in str(p["content"]))
        client.wait("pty_state", lambda p: p["state"] == "idle")
        for key in ("backspace", "delete", "home", "end", "right"):  # its input box stays empty
            client.send_key(mine, key)
        client.call("workspace/session/unwatch", workspace_id=workspace["id"], session_id=mine)
        client.events.clear()
        client.listen(1.0)
        assert client.events == []


def test_codex_through_the_same_contract(tmp_path: Path, fetched: Callable[..., Path], tmux: Tmux) -> None:
    """The client does not say which agent it is: the session's own is meant."""
    with joined(tmp_path, fetched("codex"), tmux) as scene:
        scene.ask([escalated("touch marker", "Make the marker?")], [say("Made it.")])
        mine = scene.prompt()["session_id"]
        with ContractClient(scene.yourcall) as client:
            client.call("workspace/session/watch", session_id=mine)
            asked = client.wait("pty_permission")
            assert (asked["type"], asked["target"]) == ("bash_command", "touch marker")
            state = client.call("session/state", session_id=mine)
            assert (state["agent_type"], state["is_live"], state["pty_state"]) == ("codex", True, "permission")
            assert client.call("session/input", session_id=mine, input="1") == {"status": "sent"}
            until(lambda: scene.made("marker"), what="the marker")
            client.wait("claude_message", lambda p: "Made it." in str(p["content"]))
            client.wait("pty_state", lambda p: p["state"] == "idle")


def test_the_second_contract_with_a_permission_and_two_questions(driven: Driven) -> None:
    """InteractivePrompt and PromptResponse: a client that knows only these two answers the real Claude."""
    bash = tool("Bash", command="touch marker", description="Make the marker")
    asks = tool(
        "AskUserQuestion",
        questions=[
            {"question": name, "header": name[:5], "multiSelect": False, "options": [
                {"label": label, "description": label} for label in ("Red", "Blue")
            ]}
            for name in ("Which door?", "Which roof?")
        ],
    )  # fmt: skip
    driven.start([bash], [asks], [text("Done.")])
    http = driven.yourcall.http

    def waiting(type: str) -> dict[str, Any]:
        def look() -> dict[str, Any] | None:
            return next((p for p in http("GET", "/api/interactive-prompts")[1] if p["type"] == type), None)

        return until(look, what=f"a {type}")

    def respond(**response: str) -> dict[str, Any]:
        status, told = http("POST", "/api/interactive-prompts/respond", response)
        assert status == 200, told
        return told

    asked = waiting("permission")
    assert (asked["toolName"], asked["toolInput"]["command"]) == ("Bash", "touch marker")
    assert respond(requestId=asked["requestId"], selectedOption=asked["options"][0]["value"])["result"] != "next"
    first = waiting("question")
    until(lambda: driven.made("marker"), what="the marker")
    assert "Which door?" in first["description"]
    step = respond(requestId=first["requestId"], selectedOption="Blue")
    assert step["result"] == "next"
    respond(requestId=step["next"]["requestId"], selectedOption="Red")
    told = driven.model.wait_for(lambda m: [r.text for r in m.tool_results() if r.name == "AskUserQuestion"])
    assert "Blue" in told[0]
    assert "Red" in told[0]


def test_a_session_that_asks_for_trust_first_is_not_idle_before_its_turn(driven: Driven) -> None:
    folder = driven.home.project.parent / "untrusted"
    folder.mkdir()
    words = driven.model.script(
        "work", [tool("Bash", command="touch marker", description="Make it")], [text("Done!")]
    )
    with ContractClient(driven.yourcall) as client:
        workspace = client.call("workspace/add", path=str(folder))
        mine = client.send_prompt(words, workspace_id=workspace["id"], session_id="sess-456")
        asked = client.wait("pty_permission")
        assert (asked["type"], asked["session_id"]) == ("trust_folder", mine)
        client.send_input(mine, next(o["key"] for o in asked["options"] if "trust" in o["label"].lower()))
        asked = client.wait("pty_permission", lambda p: p["type"] == "bash_command")
        states = [each["payload"]["state"] for each in client.events if each["type"] == "pty_state"]
        assert "idle" not in states, states
        client.send_input(mine, "1")
        until(lambda: (folder / "marker").exists(), what="the command to run")
        client.wait("pty_state", lambda p: p["state"] == "idle")
        assert client.call("session/stop", session_id=mine) is not None
