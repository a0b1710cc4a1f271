"""The six scenarios that a phone companion for Claude Code must get right, each by its name."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from kit.poll import until
from kit.turns import text, tool

if TYPE_CHECKING:
    from kit.scene import Scene

TOUCH = tool("Bash", command="touch marker", description="Make the marker")
DATABASE = {
    "question": "Which database should we use?",
    "header": "Database",
    "multiSelect": False,
    "options": [
        {"label": "PostgreSQL", "description": "Relational, ACID compliant"},
        {"label": "MongoDB", "description": "Document store, flexible schema"},
    ],
}


def test_1_basic_permission(scene: Scene) -> None:
    path = scene.home.project / "hello.py"
    scene.ask([tool("Write", file_path=str(path), content="print('hello')\n")], [text("Written.")])
    prompt = scene.yourcall.wait_prompt()
    assert prompt["tool"]["name"] == "Write"
    assert scene.yourcall.run("answer", prompt["id"], "allow").code == 0
    assert path.read_text() == "print('hello')\n"


def test_2_ask_user_question(scene: Scene) -> None:
    scene.ask([tool("AskUserQuestion", questions=[DATABASE])], [text("Thanks.")])
    prompt = scene.yourcall.wait_prompt()
    assert [o["label"] for o in prompt["questions"][0]["options"]] == ["PostgreSQL", "MongoDB"]
    assert scene.yourcall.run("answer", prompt["id"], "MongoDB").code == 0
    (result,) = scene.model.wait_for(lambda m: m.tool_results())
    assert "MongoDB" in result.text


def test_3_multiple_pending(scene: Scene) -> None:
    both = [tool("Bash", command=f"touch {name}", description=f"Make {name}") for name in ("one", "two")]
    scene.ask(both, [text("Made both.")])
    first = scene.yourcall.wait_prompt()
    assert first["title"] == "touch one"
    assert scene.yourcall.run("answer", first["id"], "allow").code == 0
    second = scene.next_prompt(first)
    assert second["title"] == "touch two"
    assert scene.yourcall.run("answer", second["id"], "allow").code == 0
    assert scene.made("one")
    assert scene.made("two")


@pytest.mark.soak
def test_4_timeout_resilience(scene: Scene) -> None:
    """Longer than a minute, the old default for hooks: the dialog is still there, and so is the prompt."""
    claude = scene.ask([TOUCH], [text("Made it.")])
    prompt = scene.yourcall.wait_prompt()
    opened = prompt["opened_at"]
    until(lambda: scene.yourcall.http("GET", "/api/status") and now() - opened > 70, 90, every=1)
    assert scene.yourcall.show(prompt["id"])["held"]
    claude.wait_dialog()
    claude.press("1")
    scene.yourcall.wait_state(prompt["id"], "desk")
    until(lambda: scene.made("marker"))


def test_5_cross_device(scene: Scene) -> None:
    """Shown on the phone, answered at the desk: the phone's view follows."""
    claude = scene.ask([TOUCH], [text("Made it.")])
    prompt = scene.yourcall.wait_prompt()
    claude.wait_dialog()
    claude.press("1")
    shown = scene.yourcall.wait_state(prompt["id"], "desk")
    assert shown["answered_by"] == "desk"
    assert prompt["id"] not in {p["id"] for p in scene.yourcall.waiting()}


@pytest.mark.soak
def test_6_idle_notification(scene: Scene) -> None:
    """A minute after the turn Claude itself reminds; the ready prompt shows it."""
    scene.ask([text("Done. What next?")])
    ready = scene.yourcall.pause("ready")
    shown = until(lambda: len(now_shown(scene, ready["id"])) > 1 and now_shown(scene, ready["id"]), 120, every=1)
    assert "reminds" in shown[-1]["detail"]


def now() -> float:
    import time

    return time.time()


def now_shown(scene: Scene, prompt_id: str) -> list[dict[str, str]]:
    return scene.yourcall.show(prompt_id)["history"]
