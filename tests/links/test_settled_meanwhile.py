"""An answer that has to wait for its pane: if its prompt ends meanwhile, nothing of it is pressed or typed."""

from __future__ import annotations

import asyncio
import shutil
import time
from collections.abc import Awaitable, Callable, Iterator
from pathlib import Path

import pytest
import uvloop
from msgspec.structs import replace

from kit.drawn import Drawn
from kit.terminal import Pane, Tmux
from yourcall.agents.registry import SCREENS
from yourcall.agents.screen_spec import Snapshot
from yourcall.daemon.config import Config
from yourcall.daemon.wiring import Daemon
from yourcall.links.screen import watcher
from yourcall.model.events import CallSettled, PromptRaised
from yourcall.model.prompts import Answer, Prompt, Question
from yourcall.model.sessions import Session
from yourcall.store.sqlite import Store

CORPUS = Path(__file__).parents[1] / "corpus" / "claude"
Giving = Callable[[Daemon, Session], Awaitable[tuple[str, Answer]]]


def captured(name: str) -> str:
    return (CORPUS / name / "screen.txt").read_text()


@pytest.fixture
def tmux() -> Iterator[Tmux]:
    assert shutil.which("tmux"), "install the package `tmux`"
    with Tmux() as server:
        yield server


def settled_while_it_waits(tmp_path: Path, pane: Pane, giving: Giving) -> tuple[str, str]:
    """Give an answer while somebody of ours is at the pane, and let it end at the desk before they leave."""

    async def act(daemon: Daemon) -> tuple[str, str]:
        try:
            session = await daemon.speaker.watch(str(pane.tmux.socket), pane.id)
            assert isinstance(session, Session)
            prompt_id, answer = await giving(daemon, session)
            async with daemon.tmux.lock(str(pane.tmux.socket), pane.id):
                taken, _ = await daemon.loop.answer(prompt_id, answer, 0)
                await daemon.events.post(CallSettled(time.time(), prompt_id, "allowed", "desk", "at the desk"))
            async with asyncio.timeout(60):
                await daemon.delivery.tasks.wait()
            said, _ = await daemon.loop.answer(prompt_id, answer, 0)
            return taken.result, said.detail
        finally:
            await daemon.close()

    store = Store.open(tmp_path / "yourcall.db")
    try:
        return uvloop.run(act(Daemon(store, Config(), lambda: None)))
    finally:
        store.close()


def test_no_key_for_a_dialog_that_was_answered_at_the_desk(tmux: Tmux, tmp_path: Path) -> None:
    """The agent asks the very same again: that is another request, to which nobody has said yes."""
    drawn = Drawn(tmp_path, {"ask": captured("bash-120x40"), "done": captured("idle-after-answer-120x40")}, {})
    pane = drawn.start(tmux)

    async def giving(daemon: Daemon, session: Session) -> tuple[str, Answer]:
        async with asyncio.timeout(60):
            while not daemon.loop.state.prompts:
                await daemon.screens.look_around()
                await asyncio.sleep(0.02)
        (prompt,) = daemon.loop.state.prompts.values()
        return prompt.id, Answer("a", "me", "http", {prompt.questions[0].id: ("allow",)})

    said = settled_while_it_waits(tmp_path, pane, giving)
    assert said == ("taken", "already answered at the desk")
    assert drawn.typed == b""


def test_no_instruction_for_a_session_that_was_told_another_one(tmux: Tmux, tmp_path: Path) -> None:
    """Who was told "too late" must not find that the agent does it all the same."""
    drawn = Drawn(tmp_path, {"idle": captured("idle-after-answer-120x40")}, {})
    pane = drawn.start(tmux)

    async def giving(daemon: Daemon, session: Session) -> tuple[str, Answer]:
        asked = (Question("next", "What next?", free_text=True),)
        ready = Prompt(
            "p1", "ready", "claude", session.id, "/p", "x", 1.0, questions=asked, link="speech", answerable=True
        )
        await daemon.events.post(PromptRaised(1.0, ready))
        return "p1", Answer("a", "me", "http", texts={"next": "go on"})

    said = settled_while_it_waits(tmp_path, pane, giving)
    assert said == ("taken", "already answered at the desk")
    assert drawn.typed == b""


def test_a_look_from_before_the_answer_does_not_give_it_to_the_desk(
    tmux: Tmux, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The screen was being drawn anew when it was looked at, and an answer came between that look and the next:
    its key closed the dialog, and the person was told that the desk had."""
    ask, idle = captured("bash-120x40"), captured("idle-after-answer-120x40")
    drawn = Drawn(tmp_path, {"ask": ask, "blank": "\n", "done": idle}, {("ask", "1"): ["done"]})
    pane = drawn.start(tmux)
    looked, on = asyncio.Event(), SCREENS["claude"]
    monkeypatch.setattr(watcher, "AGAIN_S", 1.0)  # room for an answer between two looks

    def read(screen: str) -> Snapshot:
        shot = on.read(screen)
        if drawn.shown == "blank":
            looked.set()
        return shot

    monkeypatch.setitem(SCREENS, "claude", replace(on, read=read))

    async def act(daemon: Daemon) -> Prompt:
        server = str(pane.tmux.socket)
        try:
            assert isinstance(await daemon.speaker.watch(server, pane.id), Session)
            async with asyncio.timeout(60):
                while not daemon.loop.state.prompts:
                    await daemon.screens.look_around()
                    await asyncio.sleep(0.02)
                (prompt,) = daemon.loop.state.prompts.values()
                drawn.show("blank")
                looking = asyncio.create_task(daemon.screens.look_around())
                await looked.wait()
                drawn.show("ask")
                async with daemon.tmux.lock(server, pane.id):  # a key of ours is on its way
                    answer = Answer("a", "me", "http", {prompt.questions[0].id: ("allow",)})
                    await daemon.loop.answer(prompt.id, answer, 0)
                    drawn.show("done")
                    await looking
                    return daemon.loop.state.prompts.get(prompt.id, prompt)
        finally:
            await daemon.close()

    store = Store.open(tmp_path / "yourcall.db")
    try:
        prompt = uvloop.run(act(Daemon(store, Config(), lambda: None)))
    finally:
        store.close()
    assert prompt.state == "answering"
