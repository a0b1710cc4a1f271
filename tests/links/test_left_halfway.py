"""What was begun and cut short, by a crash or by whoever asked for it: told as what it is, and nothing stays."""

from __future__ import annotations

import asyncio
import contextlib
import shutil
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
import uvloop

from kit.drawn import Drawn
from kit.terminal import Tmux
from yourcall.daemon.config import Config
from yourcall.daemon.wiring import Daemon
from yourcall.links.screen import send_text
from yourcall.model.events import AnswerGiven, PromptRaised, SessionSeen
from yourcall.model.prompts import Answer, Prompt, Question, Verdict
from yourcall.model.sessions import Session
from yourcall.store.sqlite import Store

IDLE = (Path(__file__).parents[1] / "corpus/claude/idle-after-answer-120x40/screen.txt").read_text()
BUSY = (Path(__file__).parents[1] / "corpus/claude/working-slow-120x40/screen.txt").read_text()
DRAFT = IDLE.replace("\n❯\xa0", "\n❯\xa0go on", 1)
NEXT = Question("next", "What next?", free_text=True)


@pytest.fixture
def tmux() -> Iterator[Tmux]:
    assert shutil.which("tmux"), "install the package `tmux`"
    with Tmux() as server:
        yield server


async def soon(wanted: Callable[[], object]) -> None:
    async with asyncio.timeout(60):
        while not wanted():  # noqa: ASYNC110 - what another program has done
            await asyncio.sleep(0.01)


def test_an_instruction_that_a_crash_cut_short_is_told_as_unsure(tmp_path: Path) -> None:
    """It is on record and may have been typed, or not: it is not on its way any more, and nobody carries it."""
    ready = Prompt(
        "p1", "ready", "claude", "s1", "/p", "ready", 1.0, questions=(NEXT,), link="speech", answerable=True
    )

    async def before() -> None:
        daemon = Daemon(store, Config(), lambda: None)
        daemon.loop._perform = lambda _: None  # the power fails
        await daemon.events.post(SessionSeen(1.0, Session("s1", "claude", "/p")))
        await daemon.events.post(PromptRaised(1.0, ready))
        await daemon.events.post(
            AnswerGiven(time.time(), "p1", Answer("a", "me", "http", texts={"next": "go on"}))
        )
        assert daemon.loop.state.prompts["p1"].state == "answering"

    async def after() -> tuple[str, str]:
        daemon = Daemon(store, Config(), lambda: None)
        await daemon.upkeep.recover()
        looking = asyncio.create_task(daemon.screens.run())
        async with daemon.loop.subscribe(0) as changes, asyncio.timeout(5):
            async for change in changes:
                if change.prompt is not None and change.prompt.state == "unsure":
                    break
        looking.cancel()
        verdict, _ = await daemon.loop.answer("p1", Answer("b", "you", "http", texts={"next": "stop"}), 0)
        return verdict.result, verdict.detail

    store = Store.open(tmp_path / "yourcall.db")
    try:
        uvloop.run(before())
        result, detail = uvloop.run(after())
        assert result == "too_late"
        assert "not known whether the agent took that" in detail
    finally:
        store.close()


def test_who_hangs_up_leaves_no_half_typed_text_behind(tmux: Tmux, tmp_path: Path) -> None:
    """Its text was in the input box and never sent; from then on it stood there as somebody's draft."""
    drawn = Drawn(tmp_path, {"idle": IDLE, "draft": DRAFT, "sent": IDLE}, {("draft", "\r"): ["sent"]})
    pane = drawn.start(tmux)

    async def act(daemon: Daemon) -> None:
        session = await daemon.speaker.watch(str(pane.tmux.socket), pane.id)
        assert isinstance(session, Session)
        telling = asyncio.create_task(daemon.speaker.send(session, "go on"))
        await soon(lambda: b"go on" in drawn.typed)
        telling.cancel()
        with contextlib.suppress(asyncio.CancelledError):
            await telling
        drawn.show("draft")
        try:
            await soon(lambda: drawn.shown == "sent")
        finally:
            await daemon.close()

    store = Store.open(tmp_path / "yourcall.db")
    try:
        uvloop.run(act(Daemon(store, Config(), lambda: None)))
    finally:
        store.close()
    assert drawn.typed == b"\x1b[200~go on\x1b[201~\r"


def test_a_text_that_was_taken_late_is_not_told_as_taken_back(
    tmux: Tmux, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """On a busy machine Enter is read late, and before the keys that were to take the text out again."""
    monkeypatch.setattr(send_text, "TAKEN_S", 0.3)
    moves = {
        ("idle", "\x1b[200~go on\x1b[201~"): ["draft"],
        ("draft", send_text.CLEARING): ["busy"],  # what Enter leads to; the rest finds an empty box
    }
    drawn = Drawn(tmp_path, {"idle": IDLE, "draft": DRAFT, "busy": BUSY}, moves)
    pane = drawn.start(tmux)

    async def act(daemon: Daemon) -> Verdict:
        try:
            session = await daemon.speaker.watch(str(pane.tmux.socket), pane.id)
            assert isinstance(session, Session)
            return await daemon.speaker.send(session, "go on")
        finally:
            await daemon.close()

    store = Store.open(tmp_path / "yourcall.db")
    try:
        said = uvloop.run(act(Daemon(store, Config(), lambda: None)))
    finally:
        store.close()
    assert said == Verdict("confirmed", "the turn has begun")
