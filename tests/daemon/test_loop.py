"""The loop around the core: what cannot be written has not happened, and stops nobody."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from yourcall.events import SessionSeen
from yourcall.loop import Loop
from yourcall.model import Session
from yourcall.store.sqlite import Store


def test_what_cannot_be_written_changes_nothing_and_is_no_reason_to_stop(tmp_path: Path) -> None:
    failures: list[Exception] = []

    async def told() -> list[str]:
        loop = Loop(store, lambda _: None, failures.append)
        with pytest.raises(UnicodeEncodeError):
            await loop.post(SessionSeen(1.0, Session("bad", "claude", "/half/a/letter/\udcff")))
        await loop.post(SessionSeen(2.0, Session("good", "claude", "/whole")))
        return list(loop.state.sessions)

    store = Store.open(tmp_path / "yourcall.db")
    try:
        assert asyncio.run(told()) == ["good"]
        assert [session.id for session in store.live()[1]] == ["good"]
    finally:
        store.close()
    assert failures == []
