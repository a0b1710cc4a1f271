"""The rules of an organisation: one signed file that counts before everybody's own, and that those only narrow.

Rule: pure. A deny or an ask of it goes before any allow below; an allow of it yields to any deny or ask below.
What it wants of a yes (a passkey, two persons) is joined with the machine's own: the stricter of the two holds.
"""

from __future__ import annotations

import tomllib
from typing import Any, cast

import msgspec
from msgspec import Struct
from msgspec.structs import replace

from yourcall.model.people import AnswerPolicy, Quorum, StepUp
from yourcall.rules.rule import Rule
from yourcall.rules.text import RuleFile, read_sections

# Begins what is signed, so that a signature for anything else is none for this.
SIGNED_AS = b"yourcall organisation rules 1\n"
PREFIX = "org:"  # how its rules are named wherever a decision is told

# What is not said is not wanted.
_LOOSEST = {"risk": "high", "window_minutes": 15.0, "command_line": False, "required": False}
# Where what it says is not known: nothing is left out that it could have said.
STRICTEST = AnswerPolicy(StepUp("unclear", 0.0, True, True))


class _Wanted(Struct, frozen=True, forbid_unknown_fields=True):
    not_by_who_asked: tuple[str, ...] = ()
    quorum: tuple[Quorum, ...] = ()


class _Written(Struct, frozen=True, forbid_unknown_fields=True):
    organisation: str
    serial: int
    step_up: StepUp
    people: _Wanted = _Wanted()


class Organisation(Struct, frozen=True):
    """`serial` goes up with each version, so that an older one is known for what it is."""

    name: str = ""
    serial: int = 0
    policy: AnswerPolicy = STRICTEST
    rules: RuleFile = RuleFile()


def read(text: str, name: str) -> Organisation:
    """What the file says; a mistake anywhere makes all of it unread, and so as strict as can be."""
    try:
        payload = tomllib.loads(text)
        sections = cast("dict[str, Any]", payload.pop("rules", {}))
        payload["step_up"] = {**_LOOSEST, **payload.get("step_up", {})}
        written = msgspec.convert(payload, _Written)
    except (tomllib.TOMLDecodeError, msgspec.ValidationError, RecursionError, TypeError) as error:
        return broken(f"{name}: {error}")
    book = read_sections(sections, text, name)
    if book.problems:
        return Organisation(written.organisation, written.serial, STRICTEST, RuleFile((), book.problems))
    rules = tuple(replace(rule, name=PREFIX + rule.name, of_org=written.organisation) for rule in book.rules)
    policy = AnswerPolicy(written.step_up, written.people.quorum, written.people.not_by_who_asked)
    return Organisation(written.organisation, written.serial, policy, RuleFile(rules))


def broken(why: str) -> Organisation:
    return Organisation(rules=RuleFile(problems=(why,)))


def stricter(one: AnswerPolicy, other: AnswerPolicy) -> AnswerPolicy:
    """Both at once."""
    a, b = one.step_up, other.step_up
    step_up = StepUp(
        risk="unclear" if "unclear" in (a.risk, b.risk) else "high",
        window_minutes=min(a.window_minutes, b.window_minutes),
        command_line=a.command_line or b.command_line,
        required=a.required or b.required,
    )
    named = dict.fromkeys((*one.not_by_who_asked, *other.not_by_who_asked))
    return AnswerPolicy(step_up, (*one.quorum, *other.quorum), tuple(named))


def layer_of(name: str, rules: tuple[Rule, ...]) -> str:
    """Whose rule of this name it is, in a word."""
    if name.startswith(PREFIX):
        return "organisation"
    found = next((rule for rule in rules if rule.name == name), None)
    return "" if found is None else "project" if found.of_project else "yours"
