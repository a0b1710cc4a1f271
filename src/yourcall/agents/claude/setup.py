"""The hooks we add to Claude Code's settings: the file's text in, its text out; and how to take them out again.

Rule: nothing is written that an installed Claude Code does not accept, and every character that is not ours stays
as it is: `remove(add(text))` is `text`.
"""

from __future__ import annotations

import json
import re

from msgspec import Struct

from yourcall.agents.kit import hook_settings, json_edit
from yourcall.agents.kit import setup as kit
from yourcall.agents.kit.hook_settings import Entry, Hook
from yourcall.agents.kit.json_edit import Node
from yourcall.agents.setup_spec import Edited as Edited
from yourcall.agents.setup_spec import Finding as Finding
from yourcall.agents.setup_spec import Version as Version
from yourcall.agents.setup_spec import parse_version as parse_version
from yourcall.agents.setup_spec import show_version as show_version
from yourcall.model.prompts import Refused


class HookEvent(Struct, frozen=True):
    """`since`: the first version whose settings know the name. `waits`: the hook holds the agent's request."""

    since: Version
    waits: bool = False


AGENT = "claude"

# PermissionRequest came with this version (2.0.44 does not know it); without it there is nothing to answer.
OLDEST: Version = (2, 0, 45)

# Old versions skip the user's *whole* settings file, permission rules included, when it holds one event name that
# they do not know. So a name is written only where the oldest Claude Code installed lists it itself; `since`
# was read in those lists (2.1.62 lacks Elicitation; 2.1.77 lacks StopFailure). The informing events are the few
# that the lifecycle needs, and none of them comes with every tool call: even a hook that does nothing costs Claude
# some milliseconds a call, and the transcript tells the end of a call better than PostToolUse does.
EVENTS: dict[str, HookEvent] = {
    "SessionStart": HookEvent(OLDEST),
    "SessionEnd": HookEvent(OLDEST),
    "UserPromptSubmit": HookEvent(OLDEST),
    "Stop": HookEvent(OLDEST),
    "StopFailure": HookEvent((2, 1, 78)),
    "Notification": HookEvent(OLDEST),
    "PermissionRequest": HookEvent(OLDEST, waits=True),
    "Elicitation": HookEvent((2, 1, 63), waits=True),
    "ElicitationResult": HookEvent((2, 1, 63)),
}

# 2.1.14 does not know the key `async` and would wait for the hook; there the launcher detaches itself.
ASYNC_SINCE: Version = (2, 1, 15)

# A day: a prompt waits until somebody answers, and Claude's own dialog is open all that time.
WAIT_SECONDS = 86400
# Informing takes milliseconds; this only bounds a hook that meets a hung machine.
INFORM_SECONDS = 10
# When this is over, Claude runs the tool. The hook takes milliseconds, and 7 s at most without a daemon; on a
# machine that is brought to its knees it must still come to its end.
RULED_SECONDS = 60

# A tool as Claude's own matcher takes it: a name, or a pattern over names. It stands in a `|` list.
TOOL_NAME = re.compile(r"[A-Za-z0-9_.*-]{1,100}")

# `setup claude --rules`: before these run, yourcall's rules are asked. Reading asks nobody inside of a project.
RULED = "Bash|Edit|MultiEdit|NotebookEdit|WebFetch|Write|mcp__.*"

_AGAIN = "Run `yourcall setup claude`."

# Our plugin's name; behind it stands that of the marketplace it came from.
PLUGIN = "yourcall@"


def wanted(launcher: str, versions: list[Version], tools: str = "") -> dict[str, Hook]:
    """The hook for each event, as the oldest of these versions accepts it; for none, the most careful form.

    `tools`: before these run, Claude is told to ask, whatever its permission mode.
    """
    oldest = min(versions, default=OLDEST)
    hooks: dict[str, Hook] = {}
    for name, event in EVENTS.items():
        if event.since > oldest:
            continue
        asynchronous = not event.waits and oldest >= ASYNC_SINCE
        hooks[name] = {
            "type": "command",
            "command": hook_settings.command(
                launcher, name, detached=not event.waits and not asynchronous, agent=AGENT
            ),
            "timeout": WAIT_SECONDS if event.waits else INFORM_SECONDS,
        }
        if asynchronous:
            hooks[name]["async"] = True
    if tools:
        word = "Rules" if tools == RULED else hook_settings.ASKING
        asking = hook_settings.command(launcher, word, detached=False, agent=AGENT)
        hooks[hook_settings.ASKING] = {"type": "command", "command": asking, "timeout": RULED_SECONDS}
    return hooks


def add(
    text: str | None, launcher: str, versions: list[Version], ask: tuple[str, ...] | None = None
) -> Edited | Refused:
    """The settings with our hooks, as these versions accept them; ours of another home or form are replaced.

    `ask` names the tools Claude must ask for in every mode; None leaves that as it is.
    """
    wrong = next((tool for tool in ask or () if not TOOL_NAME.fullmatch(tool)), None)
    if wrong is not None:
        return Refused(
            f"{wrong!r} is no tool's name; name it as Claude does, such as Bash, Write or mcp__github__.*"
        )
    if refused := kit.refused(_too_old(versions), launcher):
        return refused
    if ask is None and has_plugin(text) and not connected(text):
        return Edited(text, False, ("The yourcall plugin connects Claude Code already.",))
    tools = "|".join(dict.fromkeys(ask)) if ask is not None else asked_for(text)
    hooks = wanted(launcher, versions, tools)
    notes = _notes(versions, hooks)
    if text is not None and not hook_settings.is_blank(text):
        root = hook_settings.parse(text)
        if isinstance(root, Refused):
            return root
        notes += tuple(f"{finding.says} {finding.do}" for finding in _blocking(text, root))
        if _as_wanted(hook_settings.entries(text, root), hooks, tools):
            return Edited(text, False, notes)
        text = hook_settings.cut_out(text, root)
    new = hook_settings.put_in(text, hooks, {hook_settings.ASKING: tools})
    return new if isinstance(new, Refused) else Edited(new, True, notes)


def asked_for(text: str | None) -> str:
    """The tools that an earlier `--ask` named, as they stand in the settings."""
    root = None if text is None else json_edit.scan(text)
    if text is None or not isinstance(root, Node):
        return ""
    entries = hook_settings.entries(text, root)
    return next((entry.tools for entry in entries if entry.event == hook_settings.ASKING), "")


def has_plugin(text: str | None) -> bool:
    """These settings enable our plugin, whose hooks call us wherever these settings' own do not."""
    root = None if text is None else json_edit.scan(text)
    plugins = json_edit.member(root, "enabledPlugins") if isinstance(root, Node) else None
    items = plugins.items if plugins is not None and plugins.kind == "object" else ()
    return text is not None and any(
        (item.key or "").startswith(PLUGIN) and text[item.start : item.end] == "true" for item in items
    )


def connected(text: str | None) -> bool:
    """These settings have hooks of ours."""
    root = None if text is None else json_edit.scan(text)
    return text is not None and isinstance(root, Node) and bool(hook_settings.entries(text, root))


def remove(text: str | None) -> Edited | Refused:
    """The settings without our hooks, whichever home they point to."""
    return kit.remove(text)


def blocked(text: str | None) -> list[Finding]:
    """What in these settings, of a person or a project, keeps hooks from running at all."""
    return kit.blocked(text, _blocking)


def check(text: str | None, launcher: str, versions: list[Version]) -> list[Finding]:
    """What is wrong with our hooks in these settings; empty when prompts will reach us."""
    old = _too_old(versions)
    if old is not None:
        return [old]
    tools = asked_for(text)
    if has_plugin(text) and not connected(text):
        return blocked(text)
    return kit.check(text, "Claude Code", _AGAIN, _blocking, lambda ours: _faults(ours, launcher, versions, tools))


def _faults(ours: list[Entry], launcher: str, versions: list[Version], tools: str) -> list[Finding]:
    hooks = wanted(launcher, versions, tools)
    here = {entry.event for entry in ours}
    findings: list[Finding] = []
    # Of an unknown version we only know the least that it accepts: more than that is not a fault.
    extra = sorted(here - hooks.keys()) if versions else []
    if extra:
        oldest = show_version(min(versions))
        says = f"Claude Code {oldest} does not know {', '.join(extra)} and may skip the whole settings file."
        findings.append(Finding("unaccepted", says, _AGAIN))
    findings += kit.misplaced(ours, hooks, launcher, _AGAIN)
    if not findings and versions and not _as_wanted(ours, hooks, tools):
        says = "Our hooks are there, but not in the form that suits the Claude Code installed now."
        findings.append(Finding("outdated", says, _AGAIN))
    return findings


def _as_wanted(ours: list[Entry], hooks: dict[str, Hook], tools: str) -> bool:
    """Each wanted hook is there once and in its exact form; other keys a person added to it do not matter."""
    if any(entry.tools != tools for entry in ours if entry.event == hook_settings.ASKING):
        return False
    return sorted(entry.event for entry in ours) == sorted(hooks) and all(
        _same(entry.keys.get(key), hooks[entry.event].get(key))
        for entry in ours
        for key in ("type", "command", "timeout", "async")
    )


def _same(raw: str | None, value: str | int | bool | None) -> bool:
    if raw is None or value is None:
        return raw is None and value is None
    return json_edit.string(raw) == value if raw.startswith('"') else raw == json.dumps(value)


def _too_old(versions: list[Version]) -> Finding | None:
    says = "cannot hand a permission to anyone; {} is the first that can."
    do = "Update it (`claude update`), or name the one you use with --cli, then run `yourcall setup claude`."
    return kit.too_old("Claude Code", versions, OLDEST, says, do)


def _notes(versions: list[Version], hooks: dict[str, Hook]) -> tuple[str, ...]:
    if not versions:
        least = f"only what every version since {show_version(OLDEST)} accepts is written"
        return (f"Which Claude Code is installed is not known, so {least}. Run this again once it is.",)
    left_out = ", ".join(name for name in EVENTS if name not in hooks)
    oldest = show_version(min(versions))
    return (f"Left out, because Claude Code {oldest} does not know it: {left_out}.",) if left_out else ()


def _blocking(text: str, root: Node) -> list[Finding]:
    findings: list[Finding] = []
    if _is_true(text, root, "disableAllHooks"):
        says = "`disableAllHooks` is on, so Claude Code calls no hook at all."
        findings.append(Finding("disabled", says, "Take it out of the settings to get prompts here."))
    return findings


def _is_true(text: str, root: Node, key: str) -> bool:
    value = json_edit.member(root, key)
    return value is not None and text[value.start : value.end] == "true"
