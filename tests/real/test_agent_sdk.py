"""A program built on the Agent SDK hands each request of the real Claude to `can_use_tool`: a person answers."""

from __future__ import annotations

import asyncio
import sys
import threading
from typing import TYPE_CHECKING, Any

from kit import agent_sdk
from kit.agent_sdk import PermissionResultAllow, PermissionResultDeny
from kit.claude import MANUAL
from kit.headless import Run, run_headless
from kit.turns import text, tool
from yourcall.client import AsyncYourcall, can_use_tool

if TYPE_CHECKING:
    import pytest

    from kit.scene import Scene

OPTIONS = [{"label": "SQLite", "description": "One file"}, {"label": "Postgres", "description": "A server"}]
ASKED = [{"question": "Which database?", "header": "DB", "multiSelect": False, "options": OPTIONS}]
TOUCH = tool("Bash", command="touch wrong", description="Make the marker")
AGAIN = tool("Bash", command="touch again", description="Make it again")


def test_a_question_and_a_permission_are_answered_through_the_callback(
    scene: Scene, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "claude_agent_sdk", agent_sdk)

    def host(name: str, given: dict[str, Any]) -> dict[str, Any]:
        ask = can_use_tool(AsyncYourcall(scene.yourcall.home), name="release-bot")
        match asyncio.run(_awaited(ask(name, given, None))):
            case PermissionResultAllow(updated_input=updated):
                return {"behavior": "allow", "updatedInput": updated or given}
            case PermissionResultDeny(message=message, interrupt=interrupt):
                return {"behavior": "deny", "message": message, "interrupt": interrupt}
            case other:
                raise AssertionError(other)

    words = scene.model.script(
        "sdk", [tool("AskUserQuestion", questions=ASKED)], [TOUCH], [AGAIN], [text("Done.")]
    )
    runs: list[Run] = []

    def start() -> None:
        runs.append(run_headless(scene.binary, scene.home, scene.model, words, way="sdk", args=MANUAL, host=host))

    running = threading.Thread(target=start)
    running.start()
    question = scene.yourcall.wait_prompt()
    assert (question["kind"], question["questions"][0]["text"]) == ("question", "Which database?")
    assert [option["label"] for option in question["questions"][0]["options"]] == ["SQLite", "Postgres"]
    assert scene.yourcall.run("answer", question["id"], "Postgres").code == 0
    first = scene.next_prompt(question)
    assert (first["kind"], first["tool"]["input"]["command"]) == ("permission", "touch wrong")
    edited = '{"command": "touch marker", "description": "Make the marker"}'
    assert scene.yourcall.run("answer", first["id"], "allow", "--input", edited).code == 0
    second = scene.next_prompt(question, first)
    assert scene.yourcall.run("answer", second["id"], "deny", "--text", "Once is enough.").code == 0
    running.join()
    assert (runs[0].outcome, scene.made("wrong"), scene.made("again")) == ((True, 0, "Done.", 3), False, False)
    said = [(result.is_error, result.text) for result in scene.model.tool_results()]
    assert "Postgres" in said[0][1]
    assert [error for error, _ in said] == [False, False, True]
    assert "Once is enough." in said[2][1]


async def _awaited(work: Any) -> Any:
    return await work
