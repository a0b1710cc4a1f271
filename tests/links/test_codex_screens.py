"""Codex's dialogs, drawn by a program that writes down every key: what is pressed, and what is said of it."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
import uvloop
from test_tmux_screens import DOWN, House

from kit.drawn import Drawn
from kit.terminal import Tmux
from yourcall.daemon.config import Config
from yourcall.daemon.wiring import Daemon
from yourcall.model.prompts import Answer
from yourcall.model.sessions import Session
from yourcall.store.sqlite import Store

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Iterator

CORPUS = Path(__file__).parents[1] / "corpus" / "codex"


def captured(name: str) -> str:
    return (CORPUS / name / "screen.txt").read_text()


ASK, IDLE = captured("cmd-prefix-rule-80x24"), captured("idle-fresh-80x24")
ASTRAY = IDLE.replace("Ask Codex to do anything", "1")
HOOKS = captured("v0.158.0-hooks-80x24")
MOVED = HOOKS.replace("› 1. Review", "  1. Review").replace("  2. Trust all", "› 2. Trust all")


@pytest.fixture
def tmux() -> Iterator[Tmux]:
    assert shutil.which("tmux"), "install the package `tmux`"
    with Tmux() as server:
        yield server


def play(tmp_path: Path, tmux: Tmux, drawn: Drawn, act: Callable[[House], Awaitable[None]]) -> None:
    pane = drawn.start(tmux, cols=80, rows=24)

    async def run() -> None:
        store = Store.open(tmp_path / "yourcall.db")
        daemon = Daemon(store, Config(), lambda: None)
        try:
            seen = await daemon.screens.watch(str(tmux.socket), pane.id, "codex")
            assert isinstance(seen, Session), seen
            await act(House(daemon, pane))
        finally:
            await daemon.close()
            store.close()

    uvloop.run(run())


def test_one_digit_and_nothing_after_it(tmp_path: Path, tmux: Tmux) -> None:
    drawn = Drawn(tmp_path, {"ask": ASK, "idle": IDLE}, {("ask", "3"): ["idle"]})

    async def act(at: House) -> None:
        prompt = await at.shown()
        assert (prompt.agent, prompt.title) == ("codex", "Command: git pull origin main")
        assert (await at.answer(prompt, "deny")).result == "confirmed"
        assert at.stored(prompt).outcome == "stopped"

    play(tmp_path, tmux, drawn, act)
    assert drawn.typed == b"3"


def test_a_digit_that_comes_too_late_is_told_as_such(tmp_path: Path, tmux: Tmux) -> None:
    """The dialog went in the instant between the look and the key: Codex makes a letter of it."""
    drawn = Drawn(tmp_path, {"ask": ASK, "astray": ASTRAY}, {("ask", "1"): ["astray"]})

    async def act(at: House) -> None:
        prompt = await at.shown()
        verdict = await at.answer(prompt, "allow")
        assert verdict.result == "too_late", verdict
        assert at.stored(prompt).state == "desk"
        assert at.stored(prompt).outcome != "allowed"

    play(tmp_path, tmux, drawn, act)
    assert drawn.typed == b"1"


@pytest.mark.soak
def test_a_draft_that_ends_like_the_key_proves_nothing(tmp_path: Path, tmux: Tmux) -> None:
    drafted = IDLE.replace("Ask Codex to do anything", "go on with step 1")
    drawn = Drawn(tmp_path, {"ask": ASK, "drafted": drafted}, {("ask", "1"): ["drafted"]})

    async def act(at: House) -> None:
        prompt = await at.shown()
        assert (await at.answer(prompt, "allow")).result == "accepted"

    play(tmp_path, tmux, drawn, act)


def test_hooks_are_trusted_by_the_highlight_never_by_a_digit(tmp_path: Path, tmux: Tmux) -> None:
    moves = {("hooks", DOWN): ["moved"], ("moved", "\r"): ["idle"]}
    drawn = Drawn(tmp_path, {"hooks": HOOKS, "moved": MOVED, "idle": IDLE}, moves)

    async def act(at: House) -> None:
        prompt = await at.shown()
        assert (prompt.kind, prompt.title) == ("startup", "Hooks need review")
        by_rule = Answer("by-rule", "rule all", "rule", {prompt.questions[0].id: ("trust",)})
        said, _ = await at.daemon.loop.answer(prompt.id, by_rule, 5.0)
        assert (said.result in ("bounced", "refused"), drawn.typed) == (True, b"")
        assert (await at.answer(await at.shown(), "trust")).result == "confirmed"

    play(tmp_path, tmux, drawn, act)
    assert drawn.typed == DOWN.encode() + b"\r"


def test_a_highlight_that_stays_is_not_confirmed(tmp_path: Path, tmux: Tmux) -> None:
    drawn = Drawn(tmp_path, {"hooks": HOOKS}, {})

    async def act(at: House) -> None:
        prompt = await at.shown()
        assert (await at.answer(prompt, "trust")).result == "bounced"
        assert at.stored(prompt).state == "open"

    play(tmp_path, tmux, drawn, act)
    assert drawn.typed == DOWN.encode()
