"""A turn of Codex or Gemini CLI that ends while yourcall is away is ready within two seconds of our return."""

from __future__ import annotations

import json
import os
from typing import TYPE_CHECKING, Any

import pytest

from kit.gemini import end_group, start_gemini
from kit.poll import until
from kit.responses_server import pause as codex_pause
from kit.responses_server import say
from kit.turns import pause, text, tool
from real.codex_desk import ALONE, desk_of
from real.gemini_scene import gemini_bin, home, model, yourcall

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from kit.gemini import GeminiHome, GeminiModel
    from kit.terminal import Ptys, Tmux
    from kit.yourcall import Yourcall

__all__ = ["gemini_bin", "home", "model", "yourcall"]

SOON_S = 2.0 if os.environ.get("YOURCALL_SOAK") else 60.0  # a busy machine is slow, not wrong


def state_of(yourcall: Yourcall) -> str:
    sessions = yourcall.http("GET", "/api/sessions")[1]
    return sessions[0]["state"] if len(sessions) == 1 else str(len(sessions))


def rested_soon(yourcall: Yourcall) -> None:
    """The one session is ready, with its last words, and was so in time."""
    prompt = until(
        lambda: next((p for p in yourcall.waiting() if p["kind"] == "ready"), None),
        what="a session that is ready",
        show=lambda: str(yourcall.http("GET", "/api/sessions")[1]),
    )
    assert (prompt["body"], state_of(yourcall)) == ("All done here.", "idle")
    began = json.loads((yourcall.home / "daemon.json").read_text())["started_at"]
    assert prompt["opened_at"] - began < SOON_S, prompt["opened_at"] - began


@pytest.mark.parametrize("where", ["ptys", "tmux"])
def test_gemini(
    where: str,
    request: pytest.FixtureRequest,
    gemini_bin: Path,
    model: GeminiModel,
    home: GeminiHome,
    yourcall: Yourcall,
) -> None:
    terminals: Ptys | Tmux = request.getfixturevalue(where)
    gemini = start_gemini(terminals, gemini_bin, home, model)
    try:
        words = model.script("slow", [pause("slow"), text("All done here.")])
        gemini.say(words)
        until(lambda: state_of(yourcall) == "working", what="its turn")
        yourcall.kill()
        model.release("slow")
        until(lambda: "All done here." in chat(home), what="the end of its turn")
        yourcall.start()
        rested_soon(yourcall)
        assert len(yourcall.waiting()) == 1
    finally:
        end_group(gemini)


def chat(home: GeminiHome) -> str:
    return "".join(path.read_text() for path in home.path.rglob("session-*.jsonl"))


def test_gemini_that_runs_a_command_after_its_words_is_not_ready(
    ptys: Ptys, gemini_bin: Path, model: GeminiModel, home: GeminiHome, yourcall: Yourcall
) -> None:
    """Its record ends with the words in front of the call: only the process tells that the turn goes on."""
    gemini = start_gemini(ptys, gemini_bin, home, model, args=("--approval-mode", "yolo"))
    try:
        command = "touch began; while [ ! -e go ]; do sleep 0.05; done"
        run = tool("run_shell_command", command=command, description="Wait")
        words = model.script("run", [text("I will run it."), run], [text("All done here.")])
        gemini.say(words)
        until((home.project / "began").exists, what="its command")
        yourcall.kill()
        yourcall.start()
        looked = until(lambda: looked_at(yourcall), what="the look at every session")
        assert (state_of(yourcall), yourcall.waiting(), looked) == ("working", [], True)
        (home.project / "go").touch()
        rested = until(yourcall.waiting, what="the end of its turn")
        assert [(p["kind"], p["body"] == "I will run it.") for p in rested] == [("ready", False)]
    finally:
        end_group(gemini)


def looked_at(yourcall: Yourcall) -> bool:
    log = yourcall.home / "log" / "yourcall.log"
    return "looked at every session" in log.read_text().rpartition("listening on")[2]


@pytest.mark.soak
@pytest.mark.timeout(600)
def test_codex_without_its_socket(tmp_path: Path, fetched: Callable[..., Path], tmux: Tmux) -> None:
    with desk_of(tmp_path, fetched("codex"), tmux) as desk:
        said = desk.yourcall.run("setup", "codex", "--yes", "--cli", str(desk.binary))
        assert said.code == 0, said
        codex = desk.start(*ALONE, "--dangerously-bypass-hook-trust")
        codex.say(desk.model.script("slow", [codex_pause("slow"), say("All done here.")]))
        until(lambda: state_of(desk.yourcall) == "working", what="its turn")
        desk.yourcall.kill()
        desk.model.release("slow")
        until(lambda: '"task_complete"' in rollout(desk), what="the end of its turn")
        desk.yourcall.start()
        rested_soon(desk.yourcall)
        assert len(desk.yourcall.waiting()) == 1


def rollout(desk: Any) -> str:
    return "".join(path.read_text() for path in (desk.home.config / "sessions").rglob("*.jsonl"))
