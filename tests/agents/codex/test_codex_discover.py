"""Which command lines are a Codex with a conversation in its terminal."""

from __future__ import annotations

import pytest

from yourcall.agents.codex.live.threads import FINDER
from yourcall.agents.sightings import Pane, Process
from yourcall.model.sessions import Link

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


HOME = "/home/ann/.codex"
ONE, CHILD, TWO = (f"01a1e00{n}-ed1f-74d0-9f7e-aa2d29631301" for n in (0, 1, 2))


def held(*threads: str, rollouts: tuple[str, ...] = ()) -> Process:
    """One with a server within itself, which keeps its threads' files open."""
    locks = [f"{HOME}/thread-writer-locks/{thread}.lock" for thread in threads]
    records = [f"{HOME}/sessions/2026/11/15/rollout-2026-11-15T16-18-39-{thread}.jsonl" for thread in rollouts]
    return Process(11, "99", ("codex", "--no-daemon"), "/srv/shop", TTY, 5.0, holds=(*records, *locks))


def test_it_is_called_by_the_thread_that_it_writes_before_a_word_is_said() -> None:
    assert FINDER.session_file(held(ONE)) == ""
    assert FINDER.found(held(ONE), b"", [PANE]).id == ONE
    assert FINDER.found(held(ONE, TWO), b"", [PANE]).id == "pid-11-99"  # which of them, nobody says


def test_with_several_it_is_the_one_that_was_written_last_also_through_its_sub_agent() -> None:
    busy = held(ONE, CHILD, rollouts=(CHILD, ONE))
    assert FINDER.session_file(busy).endswith(f"-{CHILD}.jsonl")
    of_child = b'{"type":"session_meta","payload":{"session_id":"%b","id":"%b"}}\n{}'
    found = FINDER.found(busy, of_child % (ONE.encode(), CHILD.encode()), [PANE])
    assert (found.id, found.transcript.endswith(f"-{ONE}.jsonl")) == (ONE, True)


@pytest.mark.parametrize(
    "file", [b"x", b"{}", b'{"type":"session_meta","payload":{"session_id":"../x"}}', b"\xff\n"]
)
def test_a_record_that_makes_no_sense_names_nothing(file: bytes) -> None:
    assert FINDER.found(held(ONE, rollouts=(ONE,)), file, [PANE]).id == "pid-11-99"
