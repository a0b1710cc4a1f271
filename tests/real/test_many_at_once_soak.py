"""Twenty sessions on a busy machine, answered at once: slower is right, an answer that comes back is not."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING, Any

import pytest

from kit.claude import Claude, ClaudeHome, start_claude
from kit.poll import until
from kit.turns import text, tool
from kit.yourcall import Yourcall

if TYPE_CHECKING:
    from pathlib import Path

    from kit.model_server import ModelServer
    from kit.terminal import Ptys

SESSIONS = 20
LONG_S = 300.0  # for all of them together, with ten to a core
MOST_S = 60.0  # an answer is waited for no longer in one request
CHOICES = ("allow", "deny", "deny_stop", "allow")


@pytest.mark.soak
@pytest.mark.timeout(1200)
def test_of_twenty_answers_given_at_once_none_comes_back(
    tmp_path: Path, claude_bin: Path, model: ModelServer, ptys: Ptys
) -> None:
    (tmp_path / "first").mkdir()
    first = ClaudeHome.make(tmp_path / "first")
    with Yourcall(tmp_path, first) as yourcall:
        yourcall.setup_claude(claude_bin)
        homes = [first, *(another(tmp_path / f"session-{n}", first) for n in range(1, SESSIONS))]
        touch = tool("Bash", command="touch marker", description="Make the marker")
        words = model.script("work", [touch], [text("Over.")])

        def asks(home: ClaudeHome) -> Claude:
            claude = start_claude(ptys, claude_bin, home, model)
            claude.wait_ready()
            return claude

        claudes = [asks(home) for home in homes]
        for claude in claudes:
            claude.say(words)
        until(lambda: len(yourcall.prompts()) == SESSIONS, LONG_S, what="twenty prompts", show=yourcall.waiting)
        prompts = sorted(yourcall.prompts(), key=lambda prompt: prompt["id"])

        def answered(number: int) -> dict[str, Any]:
            body = {"wait": MOST_S, "option": option_of(prompts[number], CHOICES[number % len(CHOICES)])}
            return yourcall.http("POST", f"/api/prompts/{prompts[number]['id']}/answer", body)[1]

        with ThreadPoolExecutor(SESSIONS) as people:
            verdicts = list(people.map(answered, range(SESSIONS)))
        wrong = [
            (verdict, yourcall.show(prompt["id"])["history"])
            for verdict, prompt in zip(verdicts, prompts, strict=True)
            if verdict["result"] not in ("confirmed", "accepted")
        ]
        assert not wrong, wrong
        for number, prompt in enumerate(prompts):
            yourcall.wait_state(prompt["id"], "confirmed")
            project = next(home.project for home in homes if str(home.project) == prompt["cwd"])
            allowed = CHOICES[number % len(CHOICES)] == "allow"
            until(lambda made=project / "marker", wanted=allowed: made.exists() == wanted, what="what was said")


def option_of(prompt: dict[str, Any], wanted: str) -> str:
    effects = {"allow": "allow_once", "deny": "deny", "deny_stop": "stop"}
    options = prompt["questions"][0]["options"]
    return next(option["id"] for option in options if option["effect"] == effects[wanted])


def another(folder: Path, like: ClaudeHome) -> ClaudeHome:
    folder.mkdir()
    home = ClaudeHome.make(folder)
    home.settings.write_text(like.settings.read_text())
    return home
