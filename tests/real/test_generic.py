"""A program that nobody taught us (a plain shell): shown when it stands still, answered by line and key."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from kit.poll import until
from kit.yourcall import Yourcall

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from kit.terminal import Tmux

# It stands still for ten seconds before it is shown, and the machine is shared.
ASK = r"printf '\033]2;Action Required\007'; read -n1 -p 'Go on? ' key; echo; echo got-$key > out"


@pytest.fixture
def yourcall(tmp_path: Path) -> Iterator[Yourcall]:
    with Yourcall(tmp_path) as running:
        yield running


def test_a_shell_is_shown_and_answered_and_nothing_is_made_up(
    yourcall: Yourcall, tmux: Tmux, tmp_path: Path
) -> None:
    env = {"PATH": "/usr/bin:/bin", "PS1": "ready> ", "TERM": "xterm-256color", "LANG": "C.UTF-8"}
    pane = tmux.start(["bash", "--norc", "-i"], cwd=tmp_path, env=env, cols=100, rows=20)
    wanted = {"server": str(tmux.socket), "pane": pane.id, "agent": "generic"}
    status, session = yourcall.http("POST", "/api/panes", wanted)
    assert (status, session["agent"]) == (201, "generic"), session
    ready = yourcall.pause("ready")
    assert ready["body"].endswith("ready>")
    refused = yourcall.run("answer", ready["id"], "--text", "one\ntwo")
    assert refused.code == 4, refused
    assert pane.screen().strip() == "ready>"
    said = yourcall.run("answer", ready["id"], "--text", ASK)
    assert said.code == 0, (said, pane.screen())
    # It says in its title that it waits: no need to stand still for long.
    prompt = yourcall.wait_prompt()
    assert (prompt["kind"], prompt["tool"]) == ("unknown", None)
    assert "does not know this program" in prompt["body"]
    assert "Go on?" in prompt["body"]
    assert {option["effect"] for option in prompt["questions"][0]["options"]} == {"choose"}
    assert not (tmp_path / "out").exists()
    assert yourcall.run("answer", prompt["id"], "7").code == 0
    until(lambda: (tmp_path / "out").exists() and (tmp_path / "out").read_text() == "got-7\n")


@pytest.mark.soak
def test_a_screen_that_changed_is_shown_anew(yourcall: Yourcall, tmux: Tmux, tmp_path: Path) -> None:
    title = r"printf '\033]2;waiting\007'; "
    script = (
        title
        + "for n in 1 2; do echo Question $n; read -n1 -s key; echo $n-$key >> out; done; echo Done; sleep 100"
    )
    env = {"PATH": "/usr/bin:/bin", "TERM": "xterm-256color", "LANG": "C.UTF-8"}
    pane = tmux.start(["bash", "-c", script], cwd=tmp_path, env=env, cols=100, rows=20)
    wanted = {"server": str(tmux.socket), "pane": pane.id, "agent": "some-agent"}
    status, session = yourcall.http("POST", "/api/panes", wanted)
    assert (status, session["agent"]) == (201, "generic"), session
    first = yourcall.wait_prompt()
    pane.key("a")
    second = until(lambda: [p for p in yourcall.prompts() if p["id"] != first["id"]])[0]
    status, late = yourcall.http("POST", f"/api/prompts/{first['id']}/answer", {"option": "2", "wait": 5})
    assert (status, late["result"]) == (409, "too_late"), late
    assert "Question 2" in second["body"]
    assert (tmp_path / "out").read_text() == "1-a\n"
    assert yourcall.run("answer", second["id"], "3").code == 0
    until(lambda: (tmp_path / "out").read_text() == "1-a\n2-3\n")
