"""The book of rules, open: what they say to a prompt now, what they would have said, and what a new one would.

Rule: answers nothing itself; the daemon carries a ruling like any other answer.
"""

from __future__ import annotations

import asyncio
import os
import time
from collections import Counter, deque
from collections.abc import AsyncIterator, Callable
from pathlib import Path
from typing import Protocol

from msgspec import Struct
from msgspec.structs import replace

from yourcall.agents.registry import USUAL
from yourcall.agents.spec import Agent
from yourcall.core.safety import chosen
from yourcall.daemon.rules.files import Files, Used
from yourcall.daemon.rules.lazy_rules import RuleDecision
from yourcall.daemon.rules.paths import facts_of, project_of, scene_of
from yourcall.model.action import Action
from yourcall.model.prompts import Prompt, Refused
from yourcall.rules.action_parts import parts
from yourcall.rules.effects.parts import Facts
from yourcall.rules.organisation import Organisation
from yourcall.rules.policy import Guard, Ruling, answer_of, decide
from yourcall.rules.proposal import like
from yourcall.rules.rule import Do, Rule
from yourcall.rules.shell.items import Unread
from yourcall.rules.text import RuleFile, named

# The ways in which what was asked is known for sure, and an answer goes to exactly that request.
LINKS = frozenset({"hook", "stdio", "socket", "plugin", "git"})
# How much of the past a proposal is tried on; each prompt costs about a millisecond.
PAST = 1_000
# People are asked between two pieces of such a trial.
PIECE = 20


class RecordedPast(Protocol):
    """The prompts on record, and what was asked."""

    def body(self, id: str, /) -> bytes | None: ...
    def prompts(self, *, open_only: bool, limit: int, before: float | None = None) -> list[Prompt]: ...


class Tried(Struct, frozen=True):
    """What a rule would have decided over the recorded past, and what people had said to the same prompts."""

    looked: int = 0
    decided: int = 0
    same: int = 0
    other: int = 0
    examples: tuple[str, ...] = ()


class Proposal(Struct, frozen=True):
    rule: Rule
    tried: Tried


class Saving(Struct, frozen=True):
    """A rule that would have answered `taps` prompts that a person allowed one by one."""

    rule: Rule
    taps: int


class Rulebook:
    def __init__(
        self,
        home: Path,
        shelf: RecordedPast,
        agents: Callable[[str], Agent | None],
        burst: Callable[[], int],
        folder: Callable[[str], str] = lambda _: "",
    ) -> None:
        self.files = Files(home)
        self._shelf = shelf
        self._agents = agents
        self._burst = burst
        self._folder = folder
        self._user = os.path.realpath(Path.home())
        self._allowed: deque[float] | None = None  # when rules allowed something; None: not looked up yet
        self._used: Counter[str] = Counter()
        self._counted: set[tuple[str, float]] = set()
        self._written: tuple[tuple[Rule, ...], frozenset[str]] = ((), frozenset())
        self._limited: tuple[tuple[Rule, ...], list[Rule]] = ((), [])
        # Where a session was first seen, and its project: wherever its agent goes later.
        self._roots: dict[str, tuple[str, str]] = {}

    # -- now

    def told(self, prompt: Prompt, request: bytes, at: float) -> RuleDecision:
        """What the rules make of a prompt that comes up now."""
        asked = self._about(prompt, request)
        root = self._root(prompt)
        book = self.files.book(root)
        # What is wrong with a file may hide a deny.
        wrong = next(iter(book.problems), "")
        if asked is None or not book.rules:
            return RuleDecision(prompt, insists=wrong if asked is not None else _unread(book))
        if self._allowed is None:
            self._allowed = self._lately(at)
        if self._allowed and self._allowed[-1] > at:  # the clock was set back: they are no later than now
            self._allowed = deque(min(each, at) for each in self._allowed)
        while self._allowed and self._allowed[0] <= at - 60:
            self._allowed.popleft()
        guard = Guard(self.files.paused() is not None, len(self._allowed), self._burst())
        ruling = self._ruled(prompt, asked, at, root, guard=guard)
        answer = answer_of(prompt, ruling)
        if answer is None:
            return RuleDecision(
                replace(prompt, needs_confirmation=ruling.do == "hold"),
                insists=ruling.why if ruling.insists else wrong,
            )
        self._used.update(ruling.rules)
        self._keep(ruling.rules)
        if ruling.do == "allow":
            self._allowed.append(at)
        return RuleDecision(replace(prompt, answerable=True), answer)

    def against(self, prompt: Prompt, request: bytes, at: float) -> RuleDecision:
        """Only what the rules have against a prompt, for somebody who can allow nothing: a deny, or why a person
        is to be asked. Nothing is counted."""
        asked = self._about(prompt, request)
        root = self._root(prompt)
        book = self.files.book(root)
        wrong = next(iter(book.problems), "")
        if asked is None:
            return RuleDecision(prompt, insists=_unread(book))
        ruling = self._ruled(prompt, asked, at, root, guard=Guard(self.files.paused() is not None))
        if ruling.do == "allow":
            return RuleDecision(prompt)
        answer = answer_of(prompt, ruling)
        why = ruling.why if ruling.insists or ruling.do == "deny" else wrong
        return RuleDecision(prompt, answer, "" if answer is not None else why)

    def _lately(self, at: float) -> deque[float]:
        """What rules allowed in the last minute, before we were started: a restart does not loosen the brake."""
        found: deque[float] = deque()
        for prompt in reversed(self._shelf.prompts(open_only=False, limit=2 * self._burst() + PIECE)):
            answer = prompt.answer
            if answer is not None and answer.via == "rule" and prompt.opened_at > at - 60:
                found.extend(prompt.opened_at for each in chosen(prompt, answer) if each.effect == "allow_once")
        return found

    def explain(self, prompt: Prompt) -> Ruling | Refused:
        """What the rules say to this prompt as they are now, brakes aside."""
        asked = self._about(prompt, self._shelf.body(prompt.request) or b"")
        if asked is None:
            return Refused("No rule ever answers this prompt: it is for a person.")
        return self._ruled(prompt, asked, prompt.opened_at, self._root(prompt))

    def effects(self, prompt: Prompt) -> frozenset[str] | None:
        """All that it would do; None if it cannot be taken apart."""
        ruling = self.explain(prompt)
        if isinstance(ruling, Refused) or ruling.unread or not ruling.parts:
            return None
        return frozenset(effect for each in ruling.parts for effect in each.part.effects)

    def test(self, command: str, cwd: str, agent: str) -> Ruling:
        """What the rules would say to a command in a folder."""
        now = time.time()
        prompt = Prompt("test", "permission", agent or USUAL, "test", cwd, command, now)
        asked = Action("Bash", "command", command=command)
        return self._ruled(prompt, asked, now, project_of(cwd, self._user))

    def _about(self, prompt: Prompt, request: bytes) -> Action | None:
        """What it asks, if rules may answer it at all: no trust, no plan, nothing only seen on a screen."""
        if prompt.kind != "permission" or prompt.link not in LINKS:
            return None
        agent = self._agents(prompt.agent)
        return agent.action(request) if agent is not None and agent.action is not None else None

    def _ruled(
        self,
        prompt: Prompt,
        asked: Action,
        at: float,
        root: str,
        guard: Guard | None = None,
        only: Rule | None = None,
        instead: tuple[Rule, ...] | None = None,
    ) -> Ruling:
        rules = (self.files.book(root).rules if instead is None else instead) if only is None else (only,)
        started_in, _ = self._roots.get(prompt.session_id, ("", ""))
        used = {} if only else self._uses(rules)
        scene = scene_of(prompt, root, self._user, at, used, started_in, self._projects(rules))
        return decide(rules, asked, self._facts(asked, prompt.cwd, root), scene, guard)

    def _projects(self, rules: tuple[Rule, ...]) -> frozenset[str]:
        """All that these rules write for a project."""
        if self._written[0] is not rules:
            self._written = (rules, frozenset(each for rule in rules for each in rule.project))
        return self._written[1]

    def _facts(self, asked: Action, cwd: str, root: str) -> Facts:
        found = parts(asked)
        return facts_of(() if isinstance(found, Unread) else found, cwd, root, self._user)

    def _root(self, prompt: Prompt) -> str:
        """The project of its session. A request's own folder may be the model's to choose (Codex): it counts only
        where nothing is known of the session."""
        return self._ground(prompt)[1]

    def _ground(self, prompt: Prompt) -> tuple[str, str]:
        """Where its session was started, and the project there."""
        match = self._roots.get(prompt.session_id)
        if match is None:
            if len(self._roots) > 5_000:
                self._roots.clear()
            folder = self._folder(prompt.session_id) or prompt.cwd
            match = self._roots[prompt.session_id] = (folder, project_of(folder, self._user))
        return match

    def _uses(self, rules: tuple[Rule, ...]) -> dict[str, int]:
        """How often the rules that count were used; the first time, the record is asked."""
        if self._limited[0] is not rules:
            self._limited = (rules, [rule for rule in rules if rule.uses is not None])
        for rule in self._limited[1]:
            mark = (rule.name, rule.since)
            if mark not in self._counted:
                self._counted.add(mark)
                on_record = sum(
                    rule.name in _names(prompt.answer.by)
                    for prompt in self._shelf.prompts(open_only=False, limit=5_000)
                    if prompt.answer is not None and prompt.answer.via == "rule" and prompt.opened_at >= rule.since
                )
                self._used[rule.name] = max(on_record, self._kept(rule))
        return self._used

    def _kept(self, rule: Rule) -> int:
        """How often it was used, whatever of the past has been forgotten since; not known: it is used up."""
        kept = self.files.used()
        if kept is None:
            return rule.uses or 0
        used = kept.get(rule.name, Used())
        return used.times if used.since == rule.since else 0

    def _keep(self, names: tuple[str, ...]) -> None:
        """Before the answer goes out. If it cannot be written, it does not, and a person is asked."""
        counts = {r.name: Used(r.since, self._used[r.name]) for r in self._limited[1] if r.name in names}
        if counts:
            self.files.keep_used(counts)

    # -- from a prompt to a rule

    def book(self, cwd: str) -> RuleFile:
        """The user's rules, and those of the project this folder lies in."""
        return self.files.book(project_of(cwd, self._user) if cwd else "")

    def like(self, prompt: Prompt, do: Do = "allow") -> Rule | Refused:
        """The rule for prompts like this one, under a name that is free."""
        asked = self._about(prompt, self._shelf.body(prompt.request) or b"")
        if asked is None:
            return Refused("No rule can be made of this prompt: it is for a person.")
        root = self._root(prompt)
        rule = like(asked, self._facts(asked, prompt.cwd, root), do)
        if isinstance(rule, Refused):
            return rule
        if self._ruled(prompt, asked, prompt.opened_at, root, only=rule).do != do:
            return Refused(
                "No rule can be made of this: it runs in another folder than its session was started in, where "
                "the same words may mean other files."
            )
        return named(rule, {each.name for each in self.files.book(root).rules})

    async def propose(self, prompt: Prompt, do: Do = "allow") -> Proposal | Refused:
        """ "Always, like this": the rule, and what it would have decided so far. Nothing is changed by it."""

        rule = self.like(prompt, do)
        return rule if isinstance(rule, Refused) else Proposal(rule, await self.tried(rule))

    async def tried(self, rule: Rule | None, above: Organisation | None = None) -> Tried:
        """This rule alone, or all of them (None), over the recorded past. `above`: with the rules of an
        organisation in the place of those that hold now."""
        looked = decided = same = other = 0
        examples: list[str] = []
        async for prompt, asked in self._past():
            timeless = None if rule is None else replace(rule, until=None, uses=None)
            root = project_of(prompt.cwd, self._user)
            rules = self.files.book(root, above).rules if above is not None else None
            ruling = self._ruled(prompt, asked, prompt.opened_at, root, only=timeless, instead=rules)
            looked += 1
            if ruling.do not in ("allow", "deny"):
                continue
            decided += 1
            text = _said(prompt)
            same += text == ruling.do
            other += text not in ("", ruling.do)
            if prompt.title not in examples and len(examples) < 5:
                examples.append(prompt.title)
        return Tried(looked, decided, same, other, tuple(examples))

    async def savings(self) -> list[Saving]:
        """The rules that would have saved most taps, of those that nobody has made yet."""

        counts: Counter[Rule] = Counter()
        async for prompt, asked in self._past():
            if _said(prompt) != "allow" or (prompt.answer is not None and prompt.answer.via == "rule"):
                continue
            root = project_of(prompt.cwd, self._user)
            if self._ruled(prompt, asked, prompt.opened_at, root).do != "ask":
                continue
            rule = like(asked, self._facts(asked, prompt.cwd, root))
            if not isinstance(rule, Refused):
                counts[rule] += 1
        return [Saving(rule, taps) for rule, taps in counts.most_common(10) if taps > 1]

    async def _past(self) -> AsyncIterator[tuple[Prompt, Action]]:
        rows = self._shelf.prompts(open_only=False, limit=PAST)
        for number, prompt in enumerate(rows):
            if number % PIECE == 0:
                await asyncio.sleep(0)
            asked = self._about(prompt, self._shelf.body(prompt.request) or b"")
            if asked is not None:
                yield prompt, asked


def _unread(book: RuleFile) -> str:
    """Why a person is to be asked about what cannot be read: a rule that restricts may be about it."""
    may = next((rule.name for rule in book.rules if rule.do != "allow"), "")
    return f"what it asks cannot be read, and rule {may} may be about it" if may else next(iter(book.problems), "")


def _names(by: str) -> list[str]:
    return by.removeprefix("rule ").split(", ")


def _said(prompt: Prompt) -> str:
    """What became of it, as a rule would have said it: a person's yes or no, here or at the desk."""
    return {"allowed": "allow", "denied": "deny", "stopped": "deny"}.get(prompt.outcome or "", "")
