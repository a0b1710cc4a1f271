"""The book of rules, closed: without a rules file and a question about rules, nothing of it is even loaded.

Rule: costs one look at the disk for a prompt that no rule is about; opened once, it stays open.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING

from msgspec import Struct

from yourcall.daemon.rules.organisation import folder_of
from yourcall.model.events import SettingsChanged
from yourcall.model.people import AnswerPolicy
from yourcall.model.prompts import Answer, Prompt

if TYPE_CHECKING:
    from yourcall.agents.spec import Agent
    from yourcall.daemon.rules.book import RecordedPast, Rulebook
    from yourcall.daemon.rules.views import RuleViews

FILE = "rules.toml"
PAUSED = "paused"
LOCKED = "locked"


class RuleDecision(Struct, frozen=True):
    """`insists`: why a person is to be asked, even where the agent itself would ask nobody; empty: it may do as it
    does."""

    prompt: Prompt
    answer: Answer | None = None
    insists: str = ""


class LazyRules:
    def __init__(
        self,
        home: Path,
        shelf: RecordedPast,
        agents: Callable[[str], Agent | None],
        burst: Callable[[], int],
        folder: Callable[[str], str] = lambda _: "",
        note: Callable[[SettingsChanged], object] = lambda _: None,
    ) -> None:
        """`folder`: where a session, by its id, was started. `note`: records who changed the rules."""
        self._home = home
        self._note = note
        self._given = (home, shelf, agents, burst, folder)

    @property
    def paused(self) -> bool:
        return (self._home / PAUSED).exists() or (self._home / LOCKED).exists()

    def policy(self, own: AnswerPolicy) -> AnswerPolicy:
        """What is wanted before a yes counts: the machine's own, and the organisation's where there is one."""
        if folder_of(self._home) is None:
            return own
        from yourcall.rules.organisation import STRICTEST, stricter

        organisation = self.book.files.organisation.now
        return stricter(own, organisation.policy if organisation is not None else STRICTEST)

    def desk(self) -> RuleViews:
        return self._desk

    @cached_property
    def _desk(self) -> RuleViews:
        from yourcall.daemon.rules.views import RuleViews

        return RuleViews(self.book, self._given[1], self._note)

    @cached_property
    def book(self) -> Rulebook:
        from yourcall.daemon.rules.book import Rulebook

        return Rulebook(*self._given)

    def effects(self, prompt: Prompt) -> frozenset[str] | None:
        """What a prompt would do, by the names that rules use; None if nobody can tell."""
        if prompt.kind != "permission":
            return frozenset()
        return self.book.effects(prompt)

    def told(self, prompt: Prompt, request: bytes, at: float) -> RuleDecision:
        """The prompt as the rules want it shown, and their answer to it if they have one."""
        # Both: the folder of a request may be the model's to choose, and the rules are those of its session.
        written = self._written(prompt.cwd) or self._written(self._given[4](prompt.session_id))
        if prompt.kind != "permission" or not written:
            return RuleDecision(prompt)
        return self.book.told(prompt, request, at)

    def _written(self, cwd: str) -> bool:
        """Is there a rules file here, in the home or in a folder around this one?"""
        if (self._home / FILE).exists() or folder_of(self._home) is not None:
            return True
        if not cwd.startswith("/") or "\0" in cwd:
            return False
        here = os.path.realpath(cwd)  # as the book looks for the project
        folders = (here, *map(str, Path(here).parents))
        return any(os.path.exists(os.path.join(folder, ".yourcall", FILE)) for folder in folders)
