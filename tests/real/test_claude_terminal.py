"""The real Claude by `yourcall run`, in a plain terminal: seen and answered from afar, with and without hooks."""

from __future__ import annotations

import os
import signal
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from test_claude_headless import Here, shell_files

from kit.claude import Claude
from kit.poll import until
from kit.terminal import Pty, Ptys
from kit.turns import text, tool
from kit.yourcall import COMMAND

if TYPE_CHECKING:
    from collections.abc import Iterator

    from kit.claude import ClaudeHome
    from kit.model_server import ModelServer

TOUCH = tool("Bash", command="touch marker", description="Make the marker")
AGAIN = tool("Bash", command="touch second", description="Make the second marker")


@pytest.fixture
def here(tmp_path: Path, claude_home: ClaudeHome, claude_bin: Path, model: ModelServer) -> Iterator[Here]:
    shell_files(claude_home, claude_bin, model)
    running = Here(tmp_path, claude_home)
    running.home.mkdir(mode=0o700)
    running.discovery = "tmux"  # and below this very process only
    own = f"[discovery]\nroot_pid = {os.getpid()}\n"
    (running.home / "config.toml").write_text(f"[claude]\nuse_api_billing = true\n{own}")
    with running:
        yield running


@pytest.fixture
def ptys() -> Iterator[Ptys]:
    with Ptys() as started:
        yield started


def start(here: Here, ptys: Ptys, home: ClaudeHome) -> tuple[Pty, Claude]:
    argv = [str(COMMAND), "run", "--", "claude", "--permission-mode", "manual"]
    pty = ptys.start(argv, cwd=home.project, env={**here.env, "TERM": "xterm-256color"})
    return pty, Claude(Inside(pty), home)


class Inside:
    """The same terminal, as that of the program that was run in it."""

    def __init__(self, pty: Pty) -> None:
        self._pty = pty
        # The run has started a leader, and that one the program.
        below = lambda: [pid for each in children(pty.pid) for pid in children(each) if is_claude(pid)]  # noqa: E731
        (self.pid,) = until(below)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._pty, name)


def is_claude(pid: int) -> bool:
    try:
        return b"claude" in Path(f"/proc/{pid}/cmdline").read_bytes().split(b"\0")[0]
    except OSError:
        return False


def children(pid: int) -> list[int]:
    try:
        return [int(word) for word in Path(f"/proc/{pid}/task/{pid}/children").read_text().split()]
    except OSError:
        return []


def session(here: Here) -> dict[str, Any]:
    (row,) = here.http("GET", "/api/sessions")[1]
    return row


def test_answered_on_its_screen_where_no_hook_is(
    here: Here, claude_home: ClaudeHome, model: ModelServer, ptys: Ptys
) -> None:
    """Nothing but the terminal: a permission, a message, the screen itself, and the daemon's death between."""
    pty, claude = start(here, ptys, claude_home)
    claude.wait_ready()
    name = claude.session["sessionId"]
    until(lambda: [s["id"] for s in here.http("GET", "/api/sessions")[1]] == [name], what="its own id")
    row = session(here)
    assert ({link["kind"] for link in row["links"]}, row["note"]) == ({"pty"}, "")
    claude.say(model.script("work", [TOUCH], [AGAIN], [text("Made both.")]))
    prompt = here.wait_prompt()
    assert (prompt["kind"], prompt["held"]) == ("permission", True)
    _, screen = here.http("GET", f"/api/sessions/{prompt['session_id']}/screen")
    assert "touch marker" in screen["screen"]
    said = here.run("answer", prompt["id"], "allow")
    assert said.code == 0, said
    assert here.show(prompt["id"])["state"] == "confirmed"
    until(lambda: (claude_home.project / "marker").exists())
    second = until(lambda: [p for p in here.prompts() if p["id"] != prompt["id"]])[0]
    here.kill()
    here.start()
    until(lambda: [p for p in here.prompts() if p["id"] == second["id"] and p["held"]])
    assert not (claude_home.project / "second").exists()
    said = here.run("answer", second["id"], "allow")
    assert said.code == 0, said
    until(lambda: (claude_home.project / "second").exists())
    until(lambda: pty.shows("Made both."))
    until(lambda: session(here)["state"] == "idle", show=lambda: session(here))
    sent = here.run("send", session(here)["id"], model.script("more", [text("Heard it.")]))
    assert sent.code == 0, sent
    until(lambda: pty.shows("Heard it."))


def test_with_hooks_and_at_the_desk(
    here: Here, claude_home: ClaudeHome, claude_bin: Path, model: ModelServer, ptys: Ptys
) -> None:
    here.setup_claude(claude_bin)
    pty, claude = start(here, ptys, claude_home)
    claude.wait_ready()
    claude.say(model.script("work", [TOUCH], [AGAIN], [text("Made both.")]))
    prompt = here.wait_prompt()
    assert {link["kind"] for link in session(here)["links"]} == {"hook", "pty"}
    assert here.run("answer", prompt["id"], "allow").code == 0
    second = until(lambda: [p for p in here.prompts() if p["id"] != prompt["id"]])[0]
    claude.wait_dialog()
    pty.key("1")
    until(lambda: (claude_home.project / "second").exists())
    until(lambda: here.show(second["id"])["state"] == "desk", show=lambda: here.show(second["id"]))
    until(lambda: pty.shows("Made both."))
    os.kill(pty.pid, signal.SIGTERM)
    until(lambda: pty.returncode is not None)
    until(lambda: not here.http("GET", "/api/sessions")[1])
