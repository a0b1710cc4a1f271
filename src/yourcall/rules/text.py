"""Rules as people write and read them: one section of TOML each, and one sentence each.

Rule: a file that cannot be understood is a sentence that names the section; its other rules still count, but no
allow of a file with a mistake in it does (a deny that was meant might be missing).
"""

from __future__ import annotations

import re
import tomllib
from datetime import UTC, date, datetime
from difflib import get_close_matches
from typing import Any, cast

import msgspec
from msgspec import Struct
from msgspec.structs import fields, replace

from yourcall.rules.effects.parts import EFFECTS
from yourcall.rules.rule import Rule, problem

NAME = re.compile(r"[a-z0-9][a-z0-9-]{0,63}")
_LISTS = frozenset(
    {"tool", "effect", "command", "path", "host", "mcp", "agent", "project", "machine", "mode", "days"}
)
# People say "ask twice"; one word is easier to keep apart.
_DO = {"ask twice": "hold", "ask-twice": "hold", "hold": "hold", "allow": "allow", "deny": "deny", "ask": "ask"}
_SAYS = 'do = "allow", "deny", "ask" or "ask twice"'
_KINDS = {"uses": "a whole number", "whole": "true or false", "subagent": "true or false"}
_FIELDS = tuple(field.name for field in fields(Rule) if field.name not in ("name", "of_project", "of_org"))


class RuleFile(Struct, frozen=True):
    """The rules of one file, in its order, and what is wrong with it."""

    rules: tuple[Rule, ...] = ()
    problems: tuple[str, ...] = ()


def read(text: str, name: str, of_project: str = "") -> RuleFile:
    try:
        payload = tomllib.loads(text)
    except (tomllib.TOMLDecodeError, RecursionError) as error:
        return RuleFile(problems=(f"{name} is not TOML: {error}",))
    return read_sections(payload, text, name, of_project)


def read_sections(told: dict[str, Any], text: str, name: str, of_project: str = "") -> RuleFile:
    """The same, of sections that were read already. `text`: where they stand, for the lines of mistakes."""
    rules: list[Rule] = []
    problems: list[str] = []
    for section, payload in told.items():
        rule = _rule(section, payload, of_project)
        if isinstance(rule, _Wrong):
            line = _line(text, section, rule.key)
            problems.append(f"{name}{f', line {line}' if line else ''}, [{section}]: {rule.reason}.")
        else:
            rules.append(rule)
    if problems:
        rules = [rule for rule in rules if rule.do != "allow"]
    return RuleFile(tuple(rules), tuple(problems))


class _Wrong(Struct, frozen=True):
    """What is wrong with a section, and which of its keys it is about."""

    reason: str
    key: str = ""


def _rule(section: str, payload: object, of_project: str) -> Rule | _Wrong:
    if not isinstance(payload, dict):
        return _Wrong("stands outside of a section; a rule is a section, [name]", section)
    if not NAME.fullmatch(section):
        return _Wrong("a rule's name is made of small letters, digits and dashes")
    table = dict(cast("dict[str, object]", payload))
    for key in table:
        if key not in _FIELDS:
            near = get_close_matches(key, _FIELDS, 1)
            text = f"; {near[0]!r} is meant?" if near else f"; there are: {', '.join(_FIELDS)}"
            return _Wrong(f"a rule knows no {key!r}{text}", key)
    if "do" not in table:
        return _Wrong(f"says nothing; {_SAYS}")
    if str(table["do"]).strip() not in _DO:
        return _Wrong(f"do = {table['do']!r} says nothing; {_SAYS}", "do")
    table["do"] = _DO[str(table["do"]).strip()]
    for key in _LISTS & set(table):
        value = table[key]
        table[key] = [value] if isinstance(value, str) else value
    for effect in (
        cast("list[object]", table.get("effect", [])) if isinstance(table.get("effect", []), list) else []
    ):
        if effect not in EFFECTS:
            return _Wrong(f"there is no effect {effect!r}; there are: {', '.join(EFFECTS)}", "effect")
    for key in ("until", "since"):
        if key in table:
            at = _time(table[key])
            if at is None:
                return _Wrong(f"{key} is a date or a time, such as 2030-01-31 or 2030-01-31T18:00:00Z", key)
            table[key] = at
    try:
        rule = msgspec.convert({**table, "name": section, "of_project": of_project}, Rule)
    except msgspec.ValidationError as error:
        key = str(error).partition(" - at `$.")[2].strip("`").split("[")[0]
        kind = "a text, or a list of texts" if key in _LISTS else _KINDS.get(key, "a text")
        return _Wrong(f"{key} is {kind}", key) if key else _Wrong(str(error))
    wrong = problem(rule)
    return _Wrong(wrong) if wrong else rule


def _line(text: str, section: str, key: str) -> int:
    """Where a section, or a key of it, stands; 0 if it cannot be told (an inline table, a dotted name)."""
    head = 0
    for number, line in enumerate(text.splitlines(), 1):
        if re.match(r"\s*\[", line):
            if head:
                break
            quoted = rf"\s*\[\s*[\"']?{re.escape(section)}[\"']?\s*\]"
            head = number if re.match(quoted, line) else 0
        elif (head or key == section) and key and re.match(rf"\s*[\"']?{re.escape(key)}[\"']?\s*[=.]", line):
            return number
    return head


def _time(value: object) -> float | None:
    try:
        if isinstance(value, datetime):
            return (value if value.tzinfo else value.astimezone()).timestamp()
        if isinstance(value, date):
            return datetime(value.year, value.month, value.day).astimezone().timestamp()
    except (ValueError, OverflowError):  # the first days of the first year, or the last of the last
        return None
    return None


# --- writing ------------------------------------------------------------------------------------------------


def section(rule: Rule) -> str:
    """The rule as a section of a file."""
    lines = [f"[{rule.name}]"]
    for name in _FIELDS:
        value = getattr(rule, name)
        if value in ((), "", None, False) or (name == "since" and not value):
            continue
        if name == "do":
            value = "ask twice" if value == "hold" else value
        lines.append(f"{name} = {_toml(name, value)}")
    return "\n".join(lines) + "\n"


def _toml(name: str, value: object) -> str:
    if name in ("until", "since") and isinstance(value, float | int):
        return datetime.fromtimestamp(value, UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, tuple):
        items = [_toml("", each) for each in cast("tuple[object, ...]", value)]
        return items[0] if len(items) == 1 else f"[{', '.join(items)}]"
    if isinstance(value, str):
        return _string(value)
    return str(value)


def _string(text: str) -> str:
    """A basic string; JSON escapes the same way, but for what TOML wants escaped and JSON does not."""
    return msgspec.json.encode(text).decode().replace("\x7f", "\\u007f")


def without(text: str, name: str) -> str | None:
    """The file's text without this rule's section; None if it has none. Comments of others stay."""
    lines = text.splitlines(keepends=True)
    heads = [at for at, line in enumerate(lines) if re.match(r"\s*\[", line)]
    for number, at in enumerate(heads):
        if re.match(rf"\s*\[\s*[\"']?{re.escape(name)}[\"']?\s*\]", lines[at]):
            end = heads[number + 1] if number + 1 < len(heads) else len(lines)
            # A comment right above the next section belongs to that one.
            while end < len(lines) and end - 1 > at and lines[end - 1].lstrip().startswith("#"):
                end -= 1
            return "".join([*lines[:at], *lines[end:]])
    return None


def named(rule: Rule, taken: set[str]) -> Rule:
    """The rule under a name that is free."""
    name, number = rule.name, 2
    while name in taken:
        name = f"{rule.name}-{number}"
        number += 1
    return replace(rule, name=name)


# --- in words -----------------------------------------------------------------------------------------------

_DOES = {"allow": "Allow", "deny": "Deny", "ask": "Ask about", "hold": "Ask twice about"}
_CLASS = {
    "read": "reading",
    "read_outside": "reading outside of the project",
    "write_inside": "writing in the project",
    "write_outside": "writing outside of the project",
    "delete": "deleting",
    "network": "the network",
    "install": "installing",
    "history_rewrite": "rewriting history",
    "secrets": "secrets",
    "privilege": "more privileges",
    "unknown": "what is not known",
}


def in_words(rule: Rule) -> str:
    """One sentence that says exactly what the rule is about; nothing it narrows is left out."""
    what: list[str] = []
    if rule.text:
        what.append(f"the very command `{rule.text.strip()}`")
    if rule.command:
        more = "" if rule.whole else " …"
        what.append("commands " + " or ".join(f"`{pattern}{more}`" for pattern in rule.command))
    if rule.tool:
        what.append("the tool " + " or ".join(rule.tool))
    if rule.mcp:
        what.append("the MCP tool " + " or ".join(rule.mcp))
    if rule.effect:
        near = rule.do == "allow" and "read_outside" not in rule.effect
        said = [
            "reading in the project" if near and effect == "read" else _CLASS[effect] for effect in rule.effect
        ]
        what.append(("for " if what else "") + ", ".join(said))
    elif rule.command and rule.do == "allow":
        what.append("doing what it usually does")
    if rule.path:
        what.append("on " + " or ".join(rule.path))
    if rule.host:
        what.append("at " + " or ".join(rule.host))
    everywhere = "in this project only" if rule.of_project else "in every project"
    where = [f"in {' or '.join(rule.project)}"] if rule.project else [everywhere]
    where += [f"by {' or '.join(rule.agent)}"] if rule.agent else []
    where += [f"on {' or '.join(rule.machine)}"] if rule.machine else []
    where += [f"in mode {' or '.join(rule.mode)}"] if rule.mode else []
    if rule.subagent is not None:
        where.append("by subagents only" if rule.subagent else "not by subagents")
    where += [f"{rule.hours}"] if rule.hours else []
    where += [", ".join(rule.days)] if rule.days else []
    where += [f"{rule.uses} times" if rule.uses > 1 else "once"] if rule.uses else []
    where += [f"until {datetime.fromtimestamp(rule.until, UTC):%Y-%m-%d %H:%M} UTC"] if rule.until else []
    said = f"{_DOES[rule.do]} {' '.join(what) or 'everything'}, {', '.join(where)}."
    return f"{said} It is told: {rule.message}" if rule.message else said
