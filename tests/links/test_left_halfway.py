"""What was begun and cut short, by a crash or by whoever asked for it: told as what it is, and nothing stays."""

from __future__ import annotations

import asyncio
import time
from pathlib import Path

from yourcall.config import Config
from yourcall.events import AnswerGiven, PromptRaised, SessionSeen
from yourcall.model import Answer, Prompt, Question, Session
from yourcall.store.sqlite import Store
from yourcall.switchboard import Switchboard

NEXT = Question("next", "What next?", free_text=True)


def test_an_instruction_that_a_crash_cut_short_is_told_as_unsure(tmp_path: Path) -> None:
    """It is on record and may have been typed, or not: it is not on its way any more, and nobody carries it."""
    ready = Prompt(
        "p1", "ready", "claude", "s1", "/p", "ready", 1.0, questions=(NEXT,), link="speech", held=True
    )

    async def before() -> None:
        daemon = Switchboard(store, Config(), lambda: None)
        daemon.loop._perform = lambda _: None  # the power fails
        await daemon.post(SessionSeen(1.0, Session("s1", "claude", "/p")))
        await daemon.post(PromptRaised(1.0, ready))
        await daemon.post(AnswerGiven(time.time(), "p1", Answer("a", "me", "http", texts={"next": "go on"})))
        assert daemon.state.prompts["p1"].state == "answering"

    async def after() -> tuple[str, str]:
        daemon = Switchboard(store, Config(), lambda: None)
        await daemon.recover()
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
        asyncio.run(before())
        result, detail = asyncio.run(after())
        assert result == "too_late"
        assert "not known whether the agent took that" in detail
    finally:
        store.close()
