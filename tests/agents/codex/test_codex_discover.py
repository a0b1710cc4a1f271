"""Which command lines are a Codex with a conversation in its terminal."""

from __future__ import annotations

import pytest

from yourcall.agents.codex.discover import FINDER
from yourcall.agents.sightings import Pane, Process
from yourcall.model import Link

TTY = "/dev/pts/7"
PANE = Pane("%1", TTY, "/tmp/tmux-1000/default")


@pytest.mark.parametrize(
    "line",
    [
        "codex",
        "/usr/lib/node_modules/x/vendor/bin/codex --no-daemon",
        "codex resume --last",
        "codex fork",
        "codex -m gpt-5.5 -c model=x tidy",
        "codex --remote ws://127.0.0.1:1",
        "/opt/codex-x86_64-unknown-linux-musl -C /tmp",
        "codex --config app-server",
    ],
)
def test_a_conversation_in_a_terminal(line: str) -> None:
    assert FINDER.runs(line.split())


@pytest.mark.parametrize(
    "line",
    [
        "codex app-server --listen unix:// --managed-daemon",
        "codex app-server daemon pid-update-loop",
        "codex exec --json do",
        "codex -m gpt-5.5 exec do",
        "codex login",
        "codexy",
        "codex-linux-sandbox --x",
        "node /usr/bin/codex.js",
        "vim codex",
        "",
    ],
)
def test_everything_else(line: str) -> None:
    assert not FINDER.runs(line.split())


def process(*argv: str, tty: str = TTY) -> Process:
    return Process(11, "99", ("codex", *argv), "/srv/shop", tty, 5.0)


def test_the_session_is_in_the_pane_of_its_own_terminal() -> None:
    found = FINDER.found(process(), b"", [Pane("%0", "/dev/pts/6", "/s"), PANE])
    assert (found.id, found.agent, found.cwd) == ("pid-11-99", "codex", "/srv/shop")
    assert found.links == (Link("tmux", "%1", PANE.server),)
    assert found.note == ""


def test_outside_of_tmux_it_says_why_it_is_read_only() -> None:
    found = FINDER.found(process(tty="/dev/pts/8"), b"", [PANE])
    assert (found.links, "Read only" in found.note) == ((), True)


def test_it_works_where_it_was_told_to() -> None:
    assert FINDER.found(process("-C", "/srv/app/"), b"", [PANE]).cwd == "/srv/app"
    assert FINDER.found(process("-C", "app"), b"", [PANE]).cwd == "/srv/shop"
