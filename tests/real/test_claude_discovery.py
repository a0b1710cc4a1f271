"""Sessions of the real Claude Code that ran before yourcall did, and without its hooks."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

from kit.claude import MANUAL, start_claude
from kit.poll import until
from kit.turns import text
from kit.yourcall import Yourcall

if TYPE_CHECKING:
    from kit.claude import ClaudeHome
    from kit.model_server import ModelServer
    from kit.terminal import Tmux

# A terminal of its own inside the pane: below the same root, and out of tmux's sight.
OWN_TERMINAL = "import os, pty, sys; os.environ.pop('TMUX'); os.environ.pop('TMUX_PANE'); pty.spawn(sys.argv[1:])"


def test_what_ran_before_is_found_and_never_confused(
    claude_bin: Path, model: ModelServer, claude_home: ClaudeHome, tmux: Tmux, tmp_path: Path
) -> None:
    pair = [start_claude(tmux, claude_bin, claude_home, model) for _ in range(2)]
    model.script("one", [text("I am the first.")])
    model.script("two", [text("I am the second.")])
    for claude, name in zip(pair, ("one", "two"), strict=True):
        claude.say(f"DO {name}")
        claude.terminal.wait_until(lambda screen: "I am the" in screen)
        claude.wait_status("idle")
    helper = Path(sys.executable)
    apart = start_claude(tmux, helper, claude_home, model, args=("-c", OWN_TERMINAL, str(claude_bin), *MANUAL))
    (lone,) = until(lambda: _sessions_below(apart.pid, claude_home), what="the session in a terminal of its own")

    yourcall = Yourcall(tmp_path, claude_home)
    yourcall.discovery = "all"
    yourcall.home.mkdir()
    root = tmux.run("display-message", "-p", "#{pid}").strip()
    (yourcall.home / "config.toml").write_text(f"[discovery]\nroot_pid = {root}\n")
    with yourcall:
        found = until(lambda: len(now := _known(yourcall)) == 3 and now, what="three sessions")
        for claude, name in zip(pair, ("one", "two"), strict=True):
            session = found[claude.session["sessionId"]]
            assert session["links"] == [{"kind": "tmux", "target": claude.terminal.id, "server": str(tmux.socket)}]
            assert (session["pid"], session["cwd"]) == (claude.pid, str(claude_home.project))
            assert (session["state"], session["version"], session["note"]) == ("idle", "2.1.325", "")
            status, page = yourcall.http("GET", f"/api/sessions/{session['id']}/conversation")
            assert status == 200
            said = [entry["text"] for entry in page["entries"] if entry["type"] in ("user", "assistant")]
            assert said[0] == f"DO {name}"
        alone = found[lone]
        assert alone["links"] == []
        assert alone["note"].startswith("Read only:")
        shown = yourcall.run("sessions")
        assert "Read only:" in shown.out
        assert pair[0].terminal.id in shown.out

        pair[0].kill()
        gone = pair[0].home.session_file(pair[0].pid)
        until(lambda: len(_known(yourcall)) == 2, what="the end of the first")
        assert gone.exists(), "the dead session's file is still there, and fools nobody"


def _known(yourcall: Yourcall) -> dict[str, Any]:
    return {session["id"]: session for session in yourcall.http("GET", "/api/sessions")[1]}


def _sessions_below(pid: int, home: ClaudeHome) -> list[str]:
    """The ids of the sessions of the children of this process; only they are looked at."""
    children = Path(f"/proc/{pid}/task/{pid}/children").read_text().split()
    return [told["sessionId"] for child in children if (told := home.session(int(child)))]
