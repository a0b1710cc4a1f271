"""Hooks of ours in an agent's settings: what is written, how it is taken out, and what is wrong with it.

Rule: each fault is a sentence and what helps. A key that a person added to one of our hooks is no fault. Settings
with comments keep them: hooks are looked for in the text without.
"""

from __future__ import annotations

import json
import shlex
from collections.abc import Callable, Mapping, Sequence

from yourcall.agents.kit import hook_settings
from yourcall.agents.kit.hook_settings import Entry, Hook
from yourcall.agents.kit.json_edit import Node
from yourcall.agents.setup_spec import Edited, Finding, Version, show_version
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
    findings: list[Finding] = []
    absent = [name for name in hooks if name not in {entry.event for entry in ours}]
    if absent:
        findings.append(Finding("partial", f"Some of our hooks are missing: {', '.join(absent)}.", again))
    elsewhere = sorted({entry.launcher for entry in ours} - {shlex.quote(launcher)})
    if elsewhere:
        says = f"Our hooks call {', '.join(elsewhere)}, not this yourcall ({launcher})."
        findings.append(Finding("moved", says, again))
    return findings


def faults(
    ours: Sequence[Entry],
    hooks: Mapping[str, Hook],
    launcher: str,
    again: str,
    matchers: Mapping[str, str] = NO_MATCHERS,
) -> list[Finding]:
    findings = misplaced(ours, hooks, launcher, again)
    if not findings and not as_wanted(ours, hooks, matchers):
        says = "Our hooks are there, but not in the form that this yourcall writes."
        findings.append(Finding("outdated", says, again))
    return findings


def as_wanted(ours: Sequence[Entry], hooks: Mapping[str, Hook], matchers: Mapping[str, str] = NO_MATCHERS) -> bool:
    """Each wanted hook is there once and in its exact form; other keys a person added to it do not matter."""
    return sorted(entry.event for entry in ours) == sorted(hooks) and all(
        entry.tools == matchers.get(entry.event, "")
        and all(json.loads(entry.keys.get(key, "null")) == value for key, value in hooks[entry.event].items())
        for entry in ours
    )


def informing(
    launcher: str, events: Sequence[str], agent: str, timeout: int, name: str | None = None
) -> dict[str, Hook]:
    """A hook for each event that informs us and returns at once. `name`: what the agent shows while it runs."""
    named: Hook = {} if name is None else {"name": name}
    return {
        event: {
            "type": "command",
            **named,
            "command": hook_settings.command(launcher, event, detached=True, agent=agent, pid=True),
            "timeout": timeout,
        }
        for event in events
    }


def refused(old: Finding | None, launcher: str, forbidden: str = "") -> Refused | None:
    """Why no hook can be written: the agent is too old, or the launcher's path can't stand in its settings."""
    if old is not None:
        return Refused(f"{old.says} {old.do}")
    if not launcher.isprintable() or (forbidden and forbidden in launcher):
        return Refused(f"The path {launcher!r} cannot stand in a settings file: choose a plainer one with --home.")
    return None


def too_old(title: str, versions: Sequence[Version], oldest: Version, says: str, do: str) -> Finding | None:
    """`says`: what the installed version lacks; `{}` in it is the first version that has it."""
    installed = min(versions, default=oldest)
    if installed >= oldest:
        return None
    return Finding("too_old", f"{title} {show_version(installed)} {says.format(show_version(oldest))}", do)


def remove(text: str | None, *, comments: bool = False) -> Edited | Refused:
    """The settings without our hooks, whichever home they point to."""
    if text is None or hook_settings.is_blank(text):
        return Edited(text, False)
    plain = hook_settings.uncommented(text) if comments else None
    root = hook_settings.parse(text if plain is None else plain)
    if isinstance(root, Refused):
        return root
    new = hook_settings.cut_out(text, root, plain)
    return Edited(new, new != text)


def blocked(
    text: str | None, blocking: Callable[[str, Node], list[Finding]], *, comments: bool = False
) -> list[Finding]:
    """What in these settings (of any scope, or the administrator's) keeps hooks from running at all."""
    if text is None or hook_settings.is_blank(text):
        return []
    plain = hook_settings.uncommented(text) if comments else text
    root = hook_settings.parse(plain)
    return blocking(plain, root) if isinstance(root, Node) else []
