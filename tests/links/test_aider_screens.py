"""aider's question in a real terminal: a word goes only to a program that reads keys there at this moment."""

from __future__ import annotations

import os
import shutil
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
import uvloop
from test_tmux_screens import House

from kit.poll import until
from kit.terminal import Tmux
from yourcall.daemon.config import Config
from yourcall.daemon.wiring import Daemon
from yourcall.links.screen.typing import UNREAD
from yourcall.links.terminals import line_mode
from yourcall.model.sessions import Session
from yourcall.store.sqlite import Store

if TYPE_CHECKING:
    from collections.abc import Iterator

ASKED = "Do you want to go on? (Y)es/(N)o [Yes]: "
# It draws the question and then reads what comes, key by key or line by line; it writes down what that was.
PROGRAM = """
import os, sys, tty
if sys.argv[1] == "raw":
    tty.setcbreak(0)
os.write(1, sys.argv[2].encode())
log = os.open("typed", os.O_WRONLY | os.O_CREAT, 0o600)
while True:
    got = os.read(0, 99)
    os.write(log, got)
    os.write(1, b"\\x1b[2J\\x1b[Hgone" if got in (b"\\r", b"\\n") else got)
"""


@pytest.fixture
def tmux() -> Iterator[Tmux]:
    assert shutil.which("tmux"), "install the package `tmux`"
    with Tmux() as server:
        yield server


@pytest.mark.parametrize(("mode", "typed"), [("raw", b"yes"), ("line", b"")])
def test_what_a_model_writes_while_nothing_reads_keys_takes_no_answer(
    tmux: Tmux, tmp_path: Path, mode: str, typed: bytes
) -> None:
    """A word that lies in the terminal would answer the next question, whatever that is."""
    command = [shutil.which("python3") or "python3", "-c", PROGRAM, mode, ASKED]
    pane = tmux.start(command, cwd=tmp_path, env={"PATH": os.defpath})
    until(lambda: (tmp_path / "typed").exists(), show=pane.screen)
    assert line_mode(pane.pid) == (mode == "line")

    async def act() -> None:
        store = Store.open(tmp_path / "yourcall.db")
        daemon = Daemon(store, Config(), lambda: None)
        try:
            assert isinstance(await daemon.screens.watch(str(tmux.socket), pane.id, "aider"), Session)
            at = House(daemon, pane)
            prompt = await at.shown()
            assert prompt.kind == "startup"
            verdict = await at.answer(prompt, prompt.questions[0].options[0].id)
            if mode == "line":
                assert (verdict.result, verdict.detail) == ("bounced", UNREAD)
                assert at.stored(prompt).state == "open"
        finally:
            await daemon.close()
            store.close()

    uvloop.run(act())
    assert (tmp_path / "typed").read_bytes().startswith(typed)
    assert (tmp_path / "typed").read_bytes().strip() == typed
