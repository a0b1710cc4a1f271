"""`yourcall stop` ends what yourcall started, in whichever terminal, and nothing else."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

from scripted_claude import ScriptedClaude

from kit.poll import until
from kit.terminal import Pty, alive
from kit.yourcall import COMMAND, Yourcall

PROGRAM = ["sh", "-c", "echo waiting; sleep 600; echo over"]


def only_session(yc: Yourcall) -> dict[str, Any]:
    return until(lambda: yc.run("sessions", "--json").json, what="its session")[0]


def test_one_in_this_terminal(yc: Yourcall, tmp_path: Path) -> None:
    env = {"TERM": "xterm-256color", "PATH": os.environ["PATH"], "HOME": str(tmp_path), "SHELL": "/bin/sh"}
    pty = Pty([str(COMMAND), "--home", str(yc.home), "run", "--", *PROGRAM], cwd=tmp_path, env=env)
    try:
        session = until(lambda: [s for s in yc.run("sessions", "--json").json if s["links"]], what="its session")[
            0
        ]
        assert [link["kind"] for link in session["links"]] == ["pty"], session
        said = yc.run("stop", session["id"])
        assert said.code == 0, said
        assert not alive(session["pid"])
        until(lambda: pty.returncode is not None, what="its terminal to be free again")
    finally:
        pty.close()


def test_one_in_a_private_tmux(yc: Yourcall) -> None:
    started = yc.run("run", "--detach", "--json", "--", *PROGRAM).json
    try:
        session = only_session(yc)
        said = yc.run("stop", session["id"])
        assert said.code == 0, said
        assert not alive(session["pid"])
        assert not Path(started["server"]).exists()
    finally:
        yc.run("stop", started["name"])


def test_one_of_somebody_else_is_left_alone(yc: Yourcall, claude: ScriptedClaude) -> None:
    claude.asks("Bash", command="ls")
    session = only_session(yc)
    said = yc.run("stop", session["id"])
    assert (said.code, "yourcall didn't start this session" in said.err) == (2, True), said
    assert alive(claude.pid)
