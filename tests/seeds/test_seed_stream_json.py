"""Seed 003, sessions that speak stream-json over pipes: one test for each row."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from kit.poll import until
from kit.yourcall import Yourcall

if TYPE_CHECKING:
    from collections.abc import Iterator

PROGRAM = Path(__file__).with_name("stream_claude.py")


class Driven:
    def __init__(self, yc: Yourcall, folder: Path) -> None:
        self.yc, self.folder = yc, folder

    def start(self, *calls: tuple[str, dict[str, Any]]) -> str:
        wish = {"prompt": json.dumps(calls), "agent": "claude", "cwd": str(self.folder)}
        status, session = self.yc.http("POST", "/api/sessions", wish)
        assert status == 201, session
        return session["id"]

    def prompt(self, session: str, kind: str) -> dict[str, Any]:
        (found,) = until(
            lambda: [p for p in self.yc.waiting() if (p["session_id"], p["kind"]) == (session, kind)],
            what=f"a {kind} prompt",
            show=self.yc.waiting,
        )
        return found

    def answer(self, prompt: dict[str, Any], **answer: Any) -> None:
        status, said = self.yc.http("POST", f"/api/prompts/{prompt['id']}/answer", {"wait": 30, **answer})
        assert (status, said["result"]) == (200, "confirmed"), said

    def decisions(self, session: str) -> list[dict[str, Any]]:
        """What it was told, in its last words."""
        return json.loads(self.prompt(session, "ready")["body"])


@pytest.fixture(scope="module")
def driven(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Driven]:
    folder = tmp_path_factory.mktemp("stream")
    program = folder / "bin" / "claude"
    program.parent.mkdir()
    program.write_text(f'#!/bin/sh\nexec {sys.executable} -I {PROGRAM} "$@"\n')
    program.chmod(0o755)
    # As an installer does it: the login shell's own file names the folder.
    (folder / ".profile").write_text(f'PATH="{program.parent}:$PATH"\n')
    with Yourcall(folder) as yc:
        yield Driven(yc, folder)


def test_control_request_allowed(driven: Driven) -> None:
    session = driven.start(("Bash", {"command": "touch a"}))
    prompt = driven.prompt(session, "permission")
    assert prompt["tool"] == {"name": "Bash", "input": {"command": "touch a"}}
    driven.answer(prompt, option="allow")
    assert driven.decisions(session) == [{"behavior": "allow", "updatedInput": {"command": "touch a"}}]


def test_control_request_denied_with_a_message(driven: Driven) -> None:
    session = driven.start(("Bash", {"command": "rm -rf /"}))
    driven.answer(driven.prompt(session, "permission"), option="deny", text="Not allowed.")
    assert driven.decisions(session) == [{"behavior": "deny", "message": "Not allowed."}]


def test_exit_plan_mode_outline_first_and_its_cool_down(driven: Driven) -> None:
    """The same plan again within the cool-down is refused without asking."""
    session = driven.start(("ExitPlanMode", {"plan": "1. Go"}), ("ExitPlanMode", {"plan": "1. Go"}))
    driven.answer(driven.prompt(session, "plan"), option="outline")
    first, second = driven.decisions(session)
    assert (first["behavior"], second["behavior"]) == ("deny", "deny")
    assert "outline" in first["message"]


def test_ask_user_question_over_pipes(driven: Driven) -> None:
    asked = {"question": "Which?", "header": "Pick", "options": [{"label": "A"}, {"label": "B"}]}
    session = driven.start(("AskUserQuestion", {"questions": [asked]}))
    driven.answer(driven.prompt(session, "question"), option="B")
    (decision,) = driven.decisions(session)
    assert decision["updatedInput"]["answers"] == {"Which?": "B"}


def test_two_sessions_at_once_are_told_apart(driven: Driven) -> None:
    one, two = (driven.start(("Bash", {"command": f"touch {name}"})) for name in ("one", "two"))
    driven.answer(driven.prompt(two, "permission"), option="deny", text="Not two.")
    driven.answer(driven.prompt(one, "permission"), option="allow")
    assert driven.decisions(one)[0]["behavior"] == "allow"
    assert driven.decisions(two)[0]["message"] == "Not two."


def test_the_next_turn_goes_to_the_same_session(driven: Driven) -> None:
    session = driven.start()
    ready = driven.prompt(session, "ready")
    words = json.dumps([["Bash", {"command": "ls"}]])
    status, _ = driven.yc.http("POST", f"/api/prompts/{ready['id']}/answer", {"text": words})
    assert status in (200, 202)
    driven.answer(driven.prompt(session, "permission"), option="allow")
    assert driven.decisions(session)[0]["behavior"] == "allow"
