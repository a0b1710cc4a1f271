"""What the bot remembers, on the real disk: two who write at once lose nothing of each other's."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from pathlib import Path

import pytest
import uvloop

from yourcall.channels.chat.memory import Chat, Memory
from yourcall.daemon.notify import _Keep
from yourcall.store.sqlite import Store

CODE = "ABCD-EFGH"


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Store]:
    store = Store.open(tmp_path / "yourcall.db")
    yield store
    store.close()


def book_in(store: Store) -> Memory:
    return Memory(_Keep(store, "telegram"), lambda: 1_000.0, CODE)


def test_who_pairs_while_another_chat_is_written_stays_paired(store: Store) -> None:
    """Commands run beside the reading of updates: `/start` writes its chat while somebody's `/pair` is read."""
    book = book_in(store)

    async def both() -> None:
        await book.put_chat(Chat(7))
        await asyncio.gather(book.put_chat(Chat(8)), book.put_chat(Chat(7, current="s1")))

    uvloop.run(both())
    for known in (book, book_in(store)):  # in this life and in the next
        assert known.chats() == {"7": Chat(7, current="s1"), "8": Chat(8)}


def test_a_code_that_is_made_while_another_is_used_works(store: Store) -> None:
    book = book_in(store)

    async def both() -> str:
        _, code = await asyncio.gather(book.pair(CODE, Chat(8), 8, "Ada"), book.invite())
        return await book.pair(code, Chat(9), 9, "Bob")

    assert uvloop.run(both()) == ""
