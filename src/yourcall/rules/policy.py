"""What the rules say to one request: first the most specific deny; then, for every part, an allow or an ask.

Rule: allowed only if every part is; what cannot be taken apart is never allowed; an ask or a hold goes before an
allow unless the allow says more about the part, and one of the project's own file goes before any allow.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from msgspec import Struct
from msgspec.structs import replace

from yourcall.model.action import Action
from yourcall.model.prompts import Answer, Prompt
from yourcall.rules.action_parts import parts
from yourcall.rules.effects.parts import Effects, Facts, Part, settled
from yourcall.rules.effects.table import SHELLS
from yourcall.rules.match import words
from yourcall.rules.rule import Do, RequestContext, Rule, active, covers, lies_in, razes, specific, touches
from yourcall.rules.shell.items import Unread
from yourcall.rules.spelled import may_be_about, may_touch


class PartRuling(Struct, frozen=True):
    """What was said to one part, and by which rule; no rule: nobody said anything, so a person is asked."""

    part: Part
    do: Do
    rule: str = ""


class Ruling(Struct, frozen=True):
    """What the rules say; `why` is a sentence for people, `message` goes to the agent with a deny. `insists`: a
    person is to be asked even where the agent itself would ask nobody."""

    do: Do
    why: str
    rules: tuple[str, ...] = ()
    message: str = ""
    parts: tuple[PartRuling, ...] = ()
    unread: str = ""
    insists: bool = False


class Guard(Struct, frozen=True):
    """The hand on the brake: `paused`, and how many were allowed by rule within the last minute."""

    paused: bool = False
    recent: int = 0
    most: int = 0


def decide(
    rules: Sequence[Rule], asked: Action, facts: Facts, scene: RequestContext, guard: Guard | None = None
) -> Ruling:
    guard = guard or Guard()
    found = parts(asked)
    if isinstance(found, Unread):
        here = [rule for rule in rules if active(rule, scene)]
        return _unread(here, asked, scene, found, guard)
    whole = _shown([settled(part, facts) for part in found])
    here = [rule for rule in indexed(rules).near(asked, whole, scene) if active(rule, scene)]
    ruling = _judged(here, asked, scene, whole)
    if ruling.do == "ask" and not ruling.insists:
        ruling = _insisted(ruling, rules, asked, scene)
    if guard.paused and ruling.do in ("allow", "deny"):
        why = "Rules are paused: everything waits for a person."
        return Ruling("ask", why, parts=ruling.parts, insists=ruling.do == "deny")
    if ruling.do == "allow" and guard.most and guard.recent >= guard.most:
        why = f"More than {guard.most} were allowed by rule within a minute: this one waits for a person."
        return Ruling("ask", why, parts=ruling.parts)
    return ruling


class Indexed:
    """Rules by what they are about: of five hundred, a request has to do with a few."""

    def __init__(self, rules: Sequence[Rule]) -> None:
        self.of = rules
        self.restricting = [rule for rule in rules if rule.do != "allow"]
        self._rest: list[Rule] = []
        self._mcp: list[Rule] = []
        self._hosts: list[Rule] = []
        self._paths: list[Rule] = []
        self._texts: dict[str, list[Rule]] = {}
        self._programs: dict[str, list[Rule]] = {}
        for rule in rules:
            if rule.command:
                for program in {words(pattern)[0] for pattern in rule.command}:
                    self._programs.setdefault(program, []).append(rule)
            elif rule.text:
                self._texts.setdefault(rule.text.strip(), []).append(rule)
            elif rule.mcp:
                self._mcp.append(rule)
            else:
                (self._hosts if rule.host else self._paths if rule.path else self._rest).append(rule)
        self._all_paths = tuple(path for rule in self._paths for path in rule.path)

    def near(self, asked: Action, found: Sequence[Part], scene: RequestContext) -> list[Rule]:
        """Every rule that could have a word in this; the others cannot match any part of it."""
        near = [*self._rest, *self._texts.get(asked.command.strip(), ())]
        near += self._mcp if asked.kind == "mcp" else ()
        near += self._hosts if any(part.hosts for part in found) else ()
        for path in {path for part in found for path in (*part.paths, *part.named)}:
            if lies_in(self._all_paths, path, scene, loose=True):  # one look for all: mostly it is in none
                near += [rule for rule in self._paths if lies_in(rule.path, path, scene, loose=True)]
        near += [rule for rule in self._paths for part in found if part.razed and razes(rule, part, scene)]
        for program in {part.argv[0] or "" for part in found if part.argv} | {"*"}:
            near += self._programs.get(program, ())
        return list({id(rule): rule for rule in near}.values())


_last = Indexed(())


def indexed(rules: Sequence[Rule]) -> Indexed:
    """The index of these very rules; made anew only when others come."""
    global _last
    if _last.of is not rules:
        _last = Indexed(rules)
    return _last


def _insisted(ruling: Ruling, rules: Sequence[Rule], asked: Action, scene: RequestContext) -> Ruling:
    """The same, insisting where a rule may be about what nobody knows of it."""
    left = [each.part for each in ruling.parts if each.do != "allow"]
    obscure = [part for part in left if _obscure(part)]
    if not obscure:
        return ruling
    closed = [part for part in obscure if _closed(part)]
    here = [rule for rule in indexed(rules).restricting if active(rule, scene)]
    may = next((r for r in here for part in closed if may_touch(r, asked, part.text, scene)), None)
    if may is None and any(_untold(part) for part in obscure):
        may = next((r for r in here if r.command and may_touch(r, asked, asked.command, scene)), None)
    may = may or may_be_about(here, asked, obscure, scene)
    return ruling if may is None else replace(ruling, why=ruling.why + _unsure(may), insists=True)


def _unsure(rule: Rule) -> str:
    return f" What it runs is not known for sure, and rule {rule.name} may be about it."


def _obscure(part: Part) -> bool:
    return part.kind == "command" and "unknown" in part.effects


def _shown(found: list[Part]) -> list[Part]:
    """Where nothing does anything (`echo`), it is reading at most: a rule must still say yes."""
    if any(part.effects for part in found):
        return found
    only: Effects = frozenset({"read"})
    return [replace(part, effects=only) for part in found]


def _judged(rules: list[Rule], asked: Action, scene: RequestContext, found: list[Part]) -> Ruling:
    denies = [r for r in rules if r.do == "deny" and any(touches(r, part, asked, scene) for part in found)]
    if denies:
        deny = max(denies, key=specific)
        judged = tuple(
            PartRuling(part, "deny", deny.name) if touches(deny, part, asked, scene) else PartRuling(part, "ask")
            for part in found
        )
        return Ruling("deny", f"Rule {deny.name} denies it.", (deny.name,), deny.message, judged)
    for part in found:
        # A file that nobody named is no reason to say no to the rest; nor may it be read without a person's yes.
        wide = replace(part, effects=part.effects | {"secrets"}) if part.opens else part
        deny = next((r for r in rules if r.do == "deny" and part.opens and touches(r, wide, asked, scene)), None)
        if deny is not None:
            file = _short(part.opens[0].removeprefix(scene.root + "/"))
            why = f"{_short(part.text)} would open {file}, and rule {deny.name} is about that."
            return Ruling("ask", why, (deny.name,), insists=True)
    found = [replace(p, effects=p.effects | {"secrets"}) if p.opens else p for p in found]
    judged = tuple(_one(rules, asked, scene, part) for part in found)
    names = tuple(dict.fromkeys(each.rule for each in judged if each.rule))
    for do, word in (("hold", "asks twice"), ("ask", "asks")):
        by = next((each for each in judged if each.do == do and each.rule), None)
        if by is not None:
            outcome: Do = "hold" if do == "hold" else "ask"
            return Ruling(outcome, f"Rule {by.rule} {word}.", (by.rule,), parts=judged, insists=True)
    missing = next((each.part for each in judged if each.do != "allow"), None)
    if missing is not None:
        what = ", ".join(sorted(missing.effects)).replace("_", " ")
        why = f"No rule allows: {_short(missing.text)} ({what})."
        near = _one(rules, asked, replace(scene, away=False), missing) if scene.away else None
        if near is not None and near.do == "allow":
            why += f" Rule {near.rule} holds only in the folder the session was started in."
        return Ruling("ask", why, parts=judged)
    return Ruling("allow", f"Allowed by rule {', '.join(names)}.", names, parts=judged)


def _one(rules: list[Rule], asked: Action, scene: RequestContext, part: Part) -> PartRuling:
    asks = [r for r in rules if r.do in ("ask", "hold") and touches(r, part, asked, scene)]
    allows = [r for r in rules if r.do == "allow" and part.effects and covers(r, part, asked, scene)]
    ask = max(asks, key=lambda r: (_from_above(r), specific(r), r.do == "hold"), default=None)
    allow = max(allows, key=specific, default=None)
    narrows = allow is not None and bool(allow.of_org)  # whoever is below an organisation may always be stricter
    if ask is not None and (allow is None or narrows or _from_above(ask) or specific(ask) >= specific(allow)):
        return PartRuling(part, ask.do, ask.name)
    if allow is not None:
        return PartRuling(part, "allow", allow.name)
    return PartRuling(part, "ask" if part.effects else "allow")


def _unread(rules: list[Rule], asked: Action, scene: RequestContext, found: Unread, guard: Guard) -> Ruling:
    """Nothing is known of it but its text and its tool: it can be denied or held by those, never allowed. Where a
    rule that restricts may be about it, a person is asked."""
    blank = Part("command", asked.command, effects=frozenset({"unknown"}))
    said = [r for r in rules if not r.command and not r.path and not r.host and touches(r, blank, asked, scene)]
    why = f"It cannot be taken apart ({found.why}), so no rule allows it."
    denies = [r for r in said if r.do == "deny"]
    if denies and not guard.paused:
        deny = max(denies, key=specific)
        return Ruling("deny", f"Rule {deny.name} denies it.", (deny.name,), deny.message, unread=found.why)
    hold = next((r for r in said if r.do == "hold"), None)
    if hold is not None:
        return Ruling("hold", f"{why} Rule {hold.name} asks twice.", (hold.name,), unread=found.why, insists=True)
    may = next((r for r in (*said, *rules) if r in denies or may_touch(r, asked, asked.command, scene)), None)
    if may is not None:
        return Ruling("ask", f"{why} Rule {may.name} may be about it.", unread=found.why, insists=True)
    return Ruling("ask", why, unread=found.why)


def _closed(part: Part) -> bool:
    """`bash -c '…'` with something inside that cannot be taken apart."""
    if "unknown" not in part.effects or not part.argv or part.argv[0] not in _INLINE:
        return False
    return part.argv[0] == "eval" or any(re.fullmatch(r"-\w*c", word or "") for word in part.argv[1:])


_INLINE = SHELLS | {"eval"}


def _untold(part: Part) -> bool:
    """`$x push`: what runs, or with which words, only running it tells."""
    return part.kind == "command" and None in part.argv and "unknown" in part.effects


def _short(text: str) -> str:
    line = " ".join(text.split())
    return line if len(line) <= 80 else line[:79] + "…"


def answer_of(prompt: Prompt, ruling: Ruling) -> Answer | None:
    """The ruling as an answer to this prompt; None where it is not sure what a yes or a no would be."""
    effect = {"allow": "allow_once", "deny": "deny"}.get(ruling.do)
    if effect is None or prompt.kind != "permission" or len(prompt.questions) != 1:
        return None
    (question,) = prompt.questions
    options = [option for option in question.options if option.effect == effect]
    # Codex may offer to write a rule of its own with a no: the plain one is called so.
    plain = [option for option in options if option.id == ruling.do] or options
    if len(plain) != 1:
        return None
    texts = {question.id: ruling.message} if ruling.do == "deny" and ruling.message and question.free_text else {}
    by = f"rule {', '.join(ruling.rules)}"
    return Answer(f"{prompt.id}-rule", by, "rule", {question.id: (plain[0].id,)}, texts, author_certainty="rule")


def _from_above(rule: Rule) -> bool:
    """It restricts for others: an organisation's, or a project's own."""
    return bool(rule.of_org or rule.of_project)
