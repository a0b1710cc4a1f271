"""Are our hooks in an agent's settings what this yourcall would write there?

Rule: each fault is a sentence and what helps. A key that a person added to one of our hooks is no fault.
"""

from __future__ import annotations

import json
import shlex
from collections.abc import Callable, Mapping, Sequence

from yourcall.agents.kit import hook_settings
from yourcall.agents.kit.hook_settings import Entry, Hook
from yourcall.agents.kit.json_edit import Node
from yourcall.agents.kit.setup import Finding
from yourcall.model.prompts import Refused

NO_MATCHERS: Mapping[str, str] = {}


def check(
    text: str | None,
    agent: str,
    again: str,
    blocking: Callable[[str, Node], list[Finding]],
    faults: Callable[[list[Entry]], list[Finding]],
) -> list[Finding]:
    """What is wrong in this text. `blocking`: what keeps hooks from running at all; `faults`: with ours."""
    missing = Finding("missing", f"{agent} isn't connected yet.", again)
    if text is None or hook_settings.is_blank(text):
        return [missing]
    root = hook_settings.parse(text)
    if isinstance(root, Refused):
        return [Finding("broken", root.reason, f"{agent} cannot read it either.")]
    ours = hook_settings.entries(text, root)
    return blocking(text, root) + (faults(ours) if ours else [missing])


def misplaced(ours: Sequence[Entry], hooks: Mapping[str, Hook], launcher: str, again: str) -> list[Finding]:
    """Those that are missing, and those that call another yourcall."""
    found: list[Finding] = []
    absent = [name for name in hooks if name not in {entry.event for entry in ours}]
    if absent:
        found.append(Finding("partial", f"Some of our hooks are missing: {', '.join(absent)}.", again))
    elsewhere = sorted({entry.launcher for entry in ours} - {shlex.quote(launcher)})
    if elsewhere:
        says = f"Our hooks call {', '.join(elsewhere)}, not this yourcall ({launcher})."
        found.append(Finding("moved", says, again))
    return found


def faults(
    ours: Sequence[Entry],
    hooks: Mapping[str, Hook],
    launcher: str,
    again: str,
    matchers: Mapping[str, str] = NO_MATCHERS,
) -> list[Finding]:
    found = misplaced(ours, hooks, launcher, again)
    if not found and not as_wanted(ours, hooks, matchers):
        says = "Our hooks are there, but not in the form that this yourcall writes."
        found.append(Finding("outdated", says, again))
    return found


def as_wanted(ours: Sequence[Entry], hooks: Mapping[str, Hook], matchers: Mapping[str, str] = NO_MATCHERS) -> bool:
    """Each wanted hook is there once and in its exact form; other keys a person added to it do not matter."""
    return sorted(entry.event for entry in ours) == sorted(hooks) and all(
        entry.tools == matchers.get(entry.event, "")
        and all(json.loads(entry.keys.get(key, "null")) == value for key, value in hooks[entry.event].items())
        for entry in ours
    )
