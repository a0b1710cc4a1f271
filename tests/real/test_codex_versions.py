"""Older versions of Codex, and small windows: their dialogs are read and answered by keys there too."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest
from codex_desk import ALONE, PLAN, Desk, desk_of, untrusted

from kit.poll import until
from kit.responses_server import call, escalated, patch, say

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from kit.codex import Codex
    from kit.terminal import Tmux

pytestmark = pytest.mark.soak

EMBEDDED = {"0.142.5": (), "0.150.1": (), "0.158.0": ALONE, "0.166.0": ALONE}


@pytest.fixture(params=EMBEDDED)
def version(request: pytest.FixtureRequest) -> str:
    return request.param


@pytest.fixture
def desk(version: str, tmp_path: Path, fetched: Callable[..., Path], tmux: Tmux) -> Iterator[Desk]:
    with desk_of(tmp_path, fetched("codex", version), tmux) as made:
        yield made


def start(desk: Desk, version: str) -> Codex:
    return desk.start(*EMBEDDED[version])


def next_prompt(desk: Desk, *before: dict[str, Any]) -> dict[str, Any]:
    known = {prompt["id"] for prompt in before}
    found = until(lambda: [p for p in desk.yourcall.prompts() if p["id"] not in known], what="a new prompt")
    (prompt,) = found
    return prompt


def test_commands_edits_and_questions(desk: Desk, version: str) -> None:
    options = [{"label": name, "description": f"Paint it {name}."} for name in ("Red", "Green")]
    asked = {"id": "colour", "header": "Colour", "question": "Which colour?", "options": options}
    outside = desk.home.path / "outside.txt"
    codex = start(desk, version)
    codex.say(
        desk.model.script(
            "work",
            [escalated("touch marker")],
            [patch(f"*** Add File: {outside}", "+outside the workspace")],
            [call("request_user_input", questions=[asked])],
            [escalated("touch second")],
        )
    )
    command = next_prompt(desk)
    assert command["title"] == "Command: touch marker"
    desk.answer(command, "allow")
    edit = next_prompt(desk, command)
    assert desk.made("marker")
    assert (edit["kind"], "outside.txt" in edit["title"]) == ("permission", True)
    desk.answer(edit, "allow")
    question = next_prompt(desk, command, edit)
    assert outside.read_text() == "outside the workspace\n"
    assert question["title"] == "Which colour?"
    desk.answer(question, "Green")
    last = next_prompt(desk, command, edit, question)
    assert any("Green" in output for output in desk.model.outputs())
    assert desk.answer(last, "deny")["outcome"] == "stopped"
    codex.terminal.wait_until(lambda screen: "interrupted" in screen)
    assert not desk.made("second")


def test_a_folder_is_trusted(desk: Desk, version: str) -> None:
    untrusted(desk)
    codex = start(desk, version)
    prompt = next_prompt(desk)
    assert prompt["kind"] == "trust"
    (yes,) = [o["id"] for o in prompt["questions"][0]["options"] if o["effect"] == "allow_always"]
    desk.answer(prompt, yes)
    codex.wait_ready()
    assert until(lambda: desk.config().get("projects"))[str(desk.home.project)]["trust_level"] == "trusted"


def test_hooks_are_reviewed_and_tell_the_name_of_the_session(desk: Desk, version: str) -> None:
    said = desk.yourcall.run("setup", "codex", "--yes", "--cli", str(desk.binary))
    assert said.code == 0, said
    codex = start(desk, version)
    review = next_prompt(desk)
    assert review["title"] == "Hooks need review"
    desk.answer(review, "trust")
    codex.say(desk.model.script("work", [escalated("touch marker")], [say("Made it.")]))
    asked = next_prompt(desk, review)
    assert not asked["session_id"].startswith("pid-")
    assert asked["tool"]["input"]["command"] == "touch marker"
    desk.answer(asked, "allow")
    until(lambda: desk.made("marker"))
    assert desk.yourcall.pause("ready")["body"] == "Made it."


def test_a_plan_is_sent_back_and_then_approved(desk: Desk, version: str) -> None:
    codex = start(desk, version)
    codex.wait_ready()
    codex.terminal.key("BTab")
    codex.terminal.wait_until(lambda screen: "Plan mode" in screen)
    codex.say(desk.model.script("plan", [PLAN]))
    first = next_prompt(desk)
    assert first["kind"] == "plan"
    desk.answer(first, "deny")
    codex.say(desk.model.script("again", [PLAN]))
    desk.answer(next_prompt(desk, first), "allow")
    assert desk.model.wait_for(lambda model: "Implement the plan." in model.user_texts())
