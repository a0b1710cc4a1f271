"""How often a rule was used is known after a restart too, whatever of the past is still on record."""

from __future__ import annotations

import asyncio
import json
import time
from pathlib import Path

import pytest

from yourcall.agents.codex.agent import CODEX
from yourcall.daemon.loop import Loop
from yourcall.daemon.rules.book import Rulebook
from yourcall.daemon.rules.files import Files, Used
from yourcall.model.events import AnswerGiven, CallSettled, PromptRaised
from yourcall.model.prompts import Option, Prompt, Question
from yourcall.store.sqlite import Store

QUESTION = Question("decision", "?", (Option("allow", "Yes", "allow_once"), Option("deny", "No", "deny")))
REQUEST = json.dumps(
    {"method": "item/commandExecution/requestApproval", "params": {"command": "touch x"}, "tool_name": "Bash"}
).encode()


def asked(number: int, folder: Path) -> Prompt:
    name = f"p{number}"
    return Prompt(
        name, "permission", "codex", "s1", str(folder), "x", time.time(), questions=(QUESTION,), link="socket"
    )


def test_a_rule_that_is_used_up_stays_so_when_the_record_is_pruned(tmp_path: Path) -> None:
    project, home = tmp_path / "shop", tmp_path / "yourcall"
    (project / ".git").mkdir(parents=True)
    home.mkdir()
    (home / "rules.toml").write_text('[once]\ndo = "allow"\neffect = ["write_inside"]\nuses = 1\n')
    store = Store.open(home / "yourcall.db")

    def book() -> Rulebook:
        return Rulebook(home, store, {"codex": CODEX}.get, lambda: 0, lambda _: str(project))

    async def used() -> None:
        loop, now = Loop(store, lambda _: None), time.time()
        told = book().told(asked(1, project), REQUEST, now)
        assert told.answer is not None
        await loop.post(PromptRaised(now, told.prompt), {})
        await loop.post(AnswerGiven(now, "p1", told.answer))
        await loop.post(CallSettled(now, "p1", "allowed", "desk"))

    async def pruned() -> int:
        return await store.prune(time.time() + 60)

    try:
        asyncio.run(used())
        assert book().told(asked(2, project), REQUEST, time.time()).answer is None
        assert asyncio.run(pruned()) > 0
        assert book().told(asked(3, project), REQUEST, time.time()).answer is None
        # The same name, given to another rule later on, begins anew.
        (home / "rules.toml").write_text(
            '[once]\ndo = "allow"\neffect = ["write_inside"]\nuses = 1\nsince = 2020-01-01T00:00:00Z\n'
        )
        assert book().told(asked(4, project), REQUEST, time.time()).answer is not None
        assert book().told(asked(5, project), REQUEST, time.time()).answer is None
    finally:
        store.close()


def test_the_brake_holds_over_a_restart(tmp_path: Path) -> None:
    """Two in a minute are two, whoever was started anew in between."""
    project, home = tmp_path / "shop", tmp_path / "yourcall"
    (project / ".git").mkdir(parents=True)
    home.mkdir()
    (home / "rules.toml").write_text('[inside]\ndo = "allow"\neffect = ["write_inside"]\n')
    store = Store.open(home / "yourcall.db")

    def book() -> Rulebook:
        return Rulebook(home, store, {"codex": CODEX}.get, lambda: 2, lambda _: str(project))

    async def used(number: int, by: Rulebook) -> bool:
        loop, now = Loop(store, lambda _: None), time.time()
        told = by.told(asked(number, project), REQUEST, now)
        await loop.post(PromptRaised(now, told.prompt), {})
        if told.answer is not None:
            await loop.post(AnswerGiven(now, told.prompt.id, told.answer))
        return told.answer is not None

    try:
        first = book()
        assert [asyncio.run(used(number, first)) for number in (1, 2, 3)] == [True, True, False]
        again = book()
        assert not asyncio.run(used(4, again))
        assert again.told(asked(5, project), REQUEST, time.time() + 61).answer is not None
    finally:
        store.close()


def test_a_projects_rule_of_the_same_name_does_not_give_uses_back(tmp_path: Path) -> None:
    """Whoever sends a project could name a rule as the user's own, and that one began to count anew."""
    project, home = tmp_path / "shop", tmp_path / "yourcall"
    (project / ".yourcall").mkdir(parents=True)
    home.mkdir()
    (home / "rules.toml").write_text('[once]\ndo = "allow"\neffect = ["write_inside"]\nuses = 1\n')
    store = Store.open(home / "yourcall.db")
    try:
        book = Rulebook(home, store, {"codex": CODEX}.get, lambda: 0, lambda _: str(project))
        assert book.told(asked(1, project), REQUEST, time.time()).answer is not None
        assert book.told(asked(2, project), REQUEST, time.time()).answer is None
        (project / ".yourcall" / "rules.toml").write_text(
            '[once]\ndo = "deny"\ncommand = "nothing"\nuses = 1\nsince = 2090-01-01T00:00:00Z\n'
        )
        assert book.told(asked(3, project), REQUEST, time.time()).answer is None
        assert {rule.name: rule.of_project for rule in book.book(str(project)).rules} == {
            "once": "",
            "once-2": str(project),
        }
    finally:
        store.close()


def test_counts_that_cannot_be_read_are_not_written_over(tmp_path: Path) -> None:
    """The counts of every other rule went with it: after a restart those that were used up allowed again."""
    files = Files(tmp_path)
    files.keep_used({"a": Used(0.0, 5)})
    before = (tmp_path / "rules.toml.used").read_bytes()
    (tmp_path / "rules.toml.used").write_bytes(b"<<<<<<< " + before)
    with pytest.raises(ValueError, match=r"rules\.toml\.used"):
        files.keep_used({"b": Used(0.0, 1)})
    assert (tmp_path / "rules.toml.used").read_bytes() == b"<<<<<<< " + before


def test_a_clock_that_was_set_back_does_not_hold_the_brake_for_hours(tmp_path: Path) -> None:
    """What was allowed an hour ahead of now counted as of the last minute, until that hour had come."""
    project, home = tmp_path / "shop", tmp_path / "yourcall"
    (project / ".git").mkdir(parents=True)
    home.mkdir()
    (home / "rules.toml").write_text('[inside]\ndo = "allow"\neffect = ["write_inside"]\n')
    store = Store.open(home / "yourcall.db")
    try:
        book = Rulebook(home, store, {"codex": CODEX}.get, lambda: 2, lambda _: str(project))
        ahead, now = time.time() + 3600, time.time()
        assert all(book.told(asked(n, project), REQUEST, ahead).answer is not None for n in (1, 2))
        assert book.told(asked(3, project), REQUEST, now).answer is None  # two in a minute are two all the same
        assert book.told(asked(4, project), REQUEST, now + 61).answer is not None
    finally:
        store.close()
