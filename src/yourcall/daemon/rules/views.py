"""The desk at which people see to the rules: what goes over the wire, from the book.

Rule: a rule is shown in the same words before it is made and after; every change of the file is made by `Files`.
"""

from __future__ import annotations

import statistics
import time
from collections import Counter, defaultdict
from collections.abc import Callable

from msgspec.structs import replace

from yourcall.core.redact import masked
from yourcall.daemon.rules.book import PAST, RecordedPast, Rulebook, Tried
from yourcall.daemon.settings_record import LONGEST_DETAIL, rules_state
from yourcall.model.events import SettingsChanged
from yourcall.model.prompts import Kind, Prompt, Refused
from yourcall.rules.organisation import layer_of
from yourcall.rules.organisation import read as read_organisation
from yourcall.rules.policy import Ruling
from yourcall.rules.rule import Rule, problem
from yourcall.rules.text import in_words, read, section
from yourcall.server.wire import (
    Do,
    PartView,
    ProposalView,
    ReportView,
    RuleRequest,
    RulesView,
    RuleView,
    RulingView,
    SavingView,
    TriedView,
    WaitView,
)


class RuleViews:
    def __init__(
        self, book: Rulebook, shelf: RecordedPast, note: Callable[[SettingsChanged], object] = lambda _: None
    ) -> None:
        self._book = book
        self._shelf = shelf
        self._note = note

    def listed(self, cwd: str = "", /) -> RulesView:
        book = self._book.book(cwd)
        used = self._counts(book.rules)
        paused = self._book.files.paused()
        return RulesView(
            str(self._book.files.path),
            tuple(_view(rule, used[rule.name]) for rule in book.rules),
            book.problems,
            paused is not None,
            paused.by if paused else "",
            paused.at if paused else 0.0,
        )

    def explained(self, prompt: Prompt, /) -> RulingView | Refused:
        ruling = self._book.explain(prompt)
        return ruling if isinstance(ruling, Refused) else self._ruling(ruling, prompt.cwd)

    def tested(self, command: str, cwd: str, agent: str, /) -> RulingView:
        return self._ruling(self._book.test(command, cwd, agent), cwd)

    async def proposed(self, prompt: Prompt, do: Do = "allow", /) -> ProposalView | Refused:
        proposal = await self._book.propose(prompt, do)
        now = self._book.explain(prompt)
        if isinstance(proposal, Refused):
            return proposal
        if isinstance(now, Refused):
            return now
        return ProposalView(_view(proposal.rule), _tried(proposal.tried), self._ruling(now, prompt.cwd))

    async def tried(self) -> TriedView:
        return _tried(await self._book.tried(None))

    async def tried_with(self, organisation: str, /) -> TriedView | Refused:
        """What an organisation's file would have decided, together with the rules here."""
        found = read_organisation(organisation, "The file")
        if found.rules.problems:
            return Refused(found.rules.problems[0])
        return _tried(await self._book.tried(None, found))

    async def added(self, prompt: Prompt | None, asked: RuleRequest, by: str, /) -> RuleView | Refused:
        rule = self._book.like(prompt, asked.do) if prompt is not None else _written(asked.text)
        if isinstance(rule, Refused):
            return rule
        rule = replace(
            rule,
            since=float(int(time.time())),
            by=by,
            uses=asked.uses or rule.uses,
            until=asked.until or rule.until,
        )
        rule = replace(rule, message=asked.message) if asked.message else rule
        wrong = problem(rule)
        if wrong:
            return Refused(f"This rule cannot be made: {wrong}.")
        made = self._book.files.add(rule)
        if isinstance(made, Refused):
            return made
        self._changed("made", made.name, by, in_words(made))
        return _view(made)

    def removed(self, name: str, by: str, /) -> Refused | None:
        wrong = self._book.files.remove(name)
        if wrong is None:
            self._changed("removed", name, by)
        return wrong

    def undone(self, removed: str, by: str, /) -> Refused | None:
        wrong = self._book.files.undo(removed)
        if wrong is None:
            self._changed("undone", removed or "the last change", by)
        return wrong

    def _changed(self, what: str, about: str, by: str, detail: str = "") -> None:
        state = rules_state(self._book.files.home)
        self._note(SettingsChanged(time.time(), "rules", what, about, by, masked(detail)[:LONGEST_DETAIL], state))

    def pause(self, by: str, /) -> None:
        at = time.time()
        self._book.files.pause(at, by)
        self._note(SettingsChanged(at, "pause", "paused", "rules", by, state="paused"))

    def resume(self, by: str, /) -> None:
        self._book.files.resume()
        self._note(SettingsChanged(time.time(), "pause", "resumed", "rules", by))

    async def report(self) -> ReportView:
        waits: dict[tuple[str, Kind], list[float]] = defaultdict(list)
        decided: Counter[str] = Counter()
        for prompt in self._shelf.prompts(open_only=False, limit=PAST):
            if prompt.state == "open":
                continue
            by_rule = prompt.answer is not None and prompt.answer.via == "rule"
            who = "rule" if by_rule else {"desk": "desk", "ended": "nobody"}.get(prompt.state, "here")
            decided[who] += 1
            if not by_rule and prompt.state != "ended":
                waits[(prompt.cwd, prompt.kind)].append(_waited(prompt))
        rows = [
            WaitView(
                cwd, kind, len(each), round(statistics.median(each), 3), round(max(each), 3), round(sum(each), 3)
            )
            for (cwd, kind), each in waits.items()
        ]
        rows.sort(key=lambda row: -row.total)
        savings = tuple(
            SavingView(in_words(found.rule), section(found.rule), found.taps)
            for found in await self._book.savings()
        )
        return ReportView(dict(decided), tuple(rows), savings)

    def _ruling(self, ruling: Ruling, cwd: str) -> RulingView:
        rules = self._book.book(cwd).rules
        parts = tuple(
            PartView(
                each.part.text, tuple(sorted(each.part.effects)), each.do, each.rule, layer_of(each.rule, rules)
            )
            for each in ruling.parts
        )
        return RulingView(ruling.do, ruling.why, ruling.rules, ruling.message, parts)

    def _counts(self, rules: tuple[Rule, ...]) -> Counter[str]:
        """How often each was used; a name that was given again starts anew."""
        since = {rule.name: rule.since for rule in rules}
        found: Counter[str] = Counter()
        for prompt in self._shelf.prompts(open_only=False, limit=PAST):
            if prompt.answer is not None and prompt.answer.via == "rule":
                names = prompt.answer.by.removeprefix("rule ").split(", ")
                found.update(name for name in names if prompt.opened_at >= since.get(name, 0.0))
        return found


def _waited(prompt: Prompt) -> float:
    """Until it was answered, here or at the desk."""
    answer_id = prompt.answer.id if prompt.answer else ""
    first = next((m for m in prompt.history if m.state != "open" and m.answer_id in ("", answer_id)), None)
    end = first.at if first else prompt.closed_at or prompt.opened_at
    return max(0.0, end - prompt.opened_at)


def _written(text: str) -> Rule | Refused:
    book = read(text, "The rule")
    if book.problems:
        return Refused(book.problems[0])
    if len(book.rules) != 1:
        return Refused("Write one rule: one section, such as [no-pushing], and below it what it does.")
    return book.rules[0]


def _view(rule: Rule, used: int = 0) -> RuleView:
    wording, text = in_words(rule), section(rule)
    return RuleView(
        rule.name, rule.do, wording, text, rule.of_project, used, rule.uses, rule.until, rule.since, rule.by
    )


def _tried(tried: Tried) -> TriedView:
    return TriedView(tried.looked, tried.decided, tried.same, tried.other, tried.examples)
