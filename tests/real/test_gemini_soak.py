"""Gemini CLI for long: older versions, a race between the desk and the phone, a window that changes its size."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any

import pytest

from kit.gemini import GeminiHome, GeminiModel, end_group, start_gemini
from kit.poll import until
from kit.turns import text
from kit.yourcall import Yourcall
from real.gemini_scene import gemini_bin, home, model, shell, start, yourcall

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from kit.terminal import Ptys, Tmux

__all__ = ["gemini_bin", "home", "model", "start", "yourcall"]  # fixtures
pytestmark = pytest.mark.soak


@pytest.mark.parametrize("version", ["0.45.2", "0.55.1"])
def test_an_older_version_is_allowed_and_refused(
    version: str, fetched: Callable[..., Path], tmp_path: Path, tmux: Tmux
) -> None:
    binary = fetched("gemini", version)
    home = GeminiHome.make(tmp_path)
    with GeminiModel() as model, Yourcall(tmp_path, home) as yourcall:  # type: ignore[arg-type]
        said = yourcall.run("setup", "gemini", "--yes", "--cli", str(binary))
        assert said.code == 0, said
        gemini = start_gemini(tmux, binary, home, model)
        try:
            gemini.say(model.script("work", [shell("touch marker")], [shell("touch second")], [text("Done.")]))
            first = yourcall.wait_prompt()
            assert (first["title"], first["tool"]["name"]) == ("Run: touch marker", "run_shell_command")
            assert yourcall.run("answer", first["id"], "allow").code == 0
            second = until(lambda: [p for p in yourcall.prompts() if p["id"] != first["id"]])[0]
            assert gemini.made("marker")
            assert yourcall.run("answer", second["id"], "deny").code == 0
            gemini.wait_ready()
            assert not gemini.made("second")
            assert yourcall.show(second["id"])["outcome"] == "denied"
        finally:
            end_group(gemini)


@pytest.mark.parametrize("round_", range(6))
def test_a_yes_at_the_desk_against_a_no_from_afar(
    round_: int, start: Any, yourcall: Yourcall, model: GeminiModel, ptys: Ptys, tmp_path: Path
) -> None:
    """Both at once, in both orders: one outcome, told truly, and the next dialog is untouched."""
    gemini = start()
    pane = gemini.terminal
    # A person's own window: only its keys can be told from ours.
    command = ["tmux", "-u", "-S", str(pane.tmux.socket), "attach", "-t", pane.variable("session_id")]
    env = {"PATH": os.environ["PATH"], "TERM": "xterm-256color", "LANG": "C.UTF-8"}
    desk = ptys.start(command, cwd=tmp_path, env=env)
    until(lambda: pane.variable("session_attached") != "0")
    gemini.say(model.script("work", [shell("touch first"), shell("touch second")], [text("Done.")]))
    first = yourcall.wait_prompt()
    gemini.terminal.settle(0.3)
    if round_ % 2:
        desk.key("1")
    status, said = yourcall.http("POST", f"/api/prompts/{first['id']}/answer", {"option": "deny", "wait": 0})
    if not round_ % 2:
        desk.key("1")
    assert status in (200, 202, 409), said
    second = until(
        lambda: [p for p in yourcall.prompts() if p["id"] != first["id"] and "second" in p["title"]],
        show=gemini.screen,
    )
    # Whichever key was second may have met the next dialog; at the desk that is the person's own doing.
    assert yourcall.run("answer", second[0]["id"], "deny").code in (0, 3)
    until(lambda: yourcall.prompts() == [])
    told = until(lambda: yourcall.show(first["id"])["outcome"])
    until(lambda: yourcall.show(first["id"])["state"] in ("confirmed", "desk"))
    assert gemini.made("first") == (told == "allowed")


def test_a_window_that_changes_its_size_is_the_same_request(
    start: Any, yourcall: Yourcall, model: GeminiModel, tmux: Tmux
) -> None:
    gemini = start()
    tall = "\n".join(f"echo line {n} >> out" for n in range(20))
    gemini.say(model.script("work", [shell(tall)], [text("Done.")]))
    first = yourcall.wait_prompt()
    tmux.run("resize-window", "-t", gemini.terminal.id, "-x", "70", "-y", "22")
    gemini.terminal.settle(1.0)

    def answered() -> bool:
        (now,) = yourcall.prompts() or [first]
        assert now["title"] == first["title"]
        return yourcall.run("answer", now["id"], "allow").code == 0

    until(answered, every=0.5)
    until(lambda: gemini.made("out"))
    assert yourcall.show(first["id"])["state"] in ("confirmed", "ended")
