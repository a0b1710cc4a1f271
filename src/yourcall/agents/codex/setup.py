"""The hooks we add to Codex's `hooks.json`: the file's text in, its text out; and how to take them out again.

Rule: every hook informs and returns at once, for Codex shows no dialog while one runs. Every character that is not
ours stays as it is: `remove(add(text))` is `text`. Codex runs a hook only once the person has trusted it: that is
looked at, explained, and never forged.
"""

from __future__ import annotations

import json
import re
import tomllib
from typing import Any, cast

from yourcall.agents.kit import hook_settings, json_edit
from yourcall.agents.kit import setup as kit
from yourcall.agents.kit.hook_settings import Hook
from yourcall.agents.kit.json_edit import Node
from yourcall.agents.setup_spec import Edited, Finding, Version
from yourcall.model.prompts import Refused

AGENT = "codex"

# The oldest that was measured: its hooks are the same as those of 0.166.0, and it skips names it does not know.
OLDEST: Version = (0, 142, 5)
# A plain `codex` starts or joins the shared app-server since then; 0.150.1 does not.
DAEMON_SINCE: Version = (0, 158, 0)

# Measured: this version takes a `description` in the file; 0.142.5 skips a file that has one.
DESCRIPTION_SINCE: Version = (0, 150, 1)

# None of them comes with every tool call. Interrupt and SessionEnd are not known to 0.150.1, which skips them.
EVENTS = (
    "SessionStart",
    "UserPromptSubmit",
    "PermissionRequest",
    "SubagentStop",
    "Stop",
    "Interrupt",
    "SessionEnd",
)

# The launcher answers within milliseconds; this only bounds a machine that hangs. For Interrupt and SessionEnd
# Codex takes no more than this, and puts a warning on the person's screen otherwise.
INFORM_SECONDS = 3

_AGAIN = "Run `yourcall setup codex`."
REVIEW = (
    "Codex runs new hooks only after you have trusted them: its next start says “Hooks need review”. Choose"
    " “Trust all and continue” there, or look at each one with “Review hooks”. Until then nothing reaches yourcall"
    " this way."
)


def wanted(launcher: str) -> dict[str, Hook]:
    """The hook for each event. Any change of this text makes Codex ask for a review again."""
    return kit.informing(launcher, EVENTS, AGENT, INFORM_SECONDS)


def add(text: str | None, launcher: str, versions: list[Version]) -> Edited | Refused:
    """The hooks file with our hooks; ours of another home or form are replaced."""
    if refused := kit.refused(_too_old(versions), launcher):
        return refused
    ours = wanted(launcher)
    if text is not None and not hook_settings.is_blank(text):
        root = hook_settings.parse(text)
        if isinstance(root, Refused):
            return root
        unread = _unread(text, root, versions)
        if unread is not None:
            return Refused(f"{unread.says} {unread.do} Then run this again; nothing was changed.")
        if kit.as_wanted(hook_settings.entries(text, root), ours):
            return Edited(text, False)
        text = hook_settings.cut_out(text, root)
    new = hook_settings.put_in(text, ours)
    return new if isinstance(new, Refused) else Edited(new, True, (REVIEW,))


def remove(text: str | None) -> Edited | Refused:
    """The hooks file without our hooks, whichever home they point to."""
    return kit.remove(text)


def check(text: str | None, launcher: str, versions: list[Version]) -> list[Finding]:
    """What is wrong with our hooks in this file; empty when they will be called, once they are trusted."""
    old = _too_old(versions)
    if old is not None:
        return [old]

    def skipped(text: str, root: Node) -> list[Finding]:
        unread = _unread(text, root, versions)
        return [] if unread is None else [unread]

    return kit.check(
        text, "Codex", _AGAIN, skipped, lambda ours: kit.faults(ours, wanted(launcher), launcher, _AGAIN)
    )


def _unread(text: str, root: Node, versions: list[Version]) -> Finding | None:
    """Why Codex would skip this whole file, with no more than a warning. Keys of a hook that it does not know, and
    names of events, do no harm."""
    known = (
        {"hooks", "description"} if min(versions, default=DESCRIPTION_SINCE) >= DESCRIPTION_SINCE else {"hooks"}
    )
    strange = sorted({item.key or "" for item in root.items} - known)
    if text.startswith("\ufeff"):
        what = "it begins with a byte order mark"
    elif strange:
        what = f'it has {", ".join(map(repr, strange))} beside "hooks"'
    elif twice := _written_twice(root):
        what = f"{twice!r} is written twice"
    else:
        return None
    return Finding("unaccepted", f"Codex skips the whole hooks file, because {what}.", "Take that out.")


def _written_twice(root: Node) -> str:
    for node in (root, json_edit.member(root, "hooks")):
        keys = [item.key or "" for item in (node.items if node is not None else ())]
        for key in keys:
            if keys.count(key) > 1:
                return key
    return ""


def blocked(config: str | None) -> list[Finding]:
    """What in `config.toml` keeps hooks from running at all."""
    features = _table(_config(config), "features")
    if features.get("hooks") is False:
        says = "`hooks` is off below [features] in config.toml, so Codex calls no hook at all."
        return [
            Finding("disabled", says, "Take it out there to get prompts of sessions without the control socket.")
        ]
    return []


def untrusted(text: str | None, config: str | None, path: str) -> list[str]:
    """Our hooks in the file at `path` that Codex has no trust for: the events, as we name them.

    Whether the trust is for this very text only Codex can say; if it is not, Codex asks again by itself.
    """
    state = _table(_table(_config(config), "hooks"), "state")
    return [
        event
        for event, place in _places(text)
        if not _table(state, f"{path}:{_snake(event)}:{place}").get("trusted_hash")
    ]


def _places(text: str | None) -> list[tuple[str, str]]:
    """Where each of our hooks stands, as Codex counts: the group below its event, and the hook in the group."""
    try:
        hooks = _table(json.loads(text or "{}"), "hooks")
    except (ValueError, RecursionError):
        return []
    return [
        (event, f"{group}:{at}")
        for event, groups in hooks.items()
        for group, each in enumerate(_list(groups))
        for at, hook in enumerate(_list(_table(each).get("hooks")))
        if hook_settings.is_ours(str(_table(hook).get("command", "")))
    ]


def _config(text: str | None) -> dict[str, Any]:
    try:
        return tomllib.loads(text or "")
    except (ValueError, RecursionError):
        return {}


def _table(value: object, key: str | None = None) -> dict[str, Any]:
    if key is not None:
        value = _table(value).get(key)
    return cast("dict[str, Any]", value) if isinstance(value, dict) else {}


def _list(value: object) -> list[Any]:
    return cast("list[Any]", value) if isinstance(value, list) else []


def _snake(event: str) -> str:
    return re.sub(r"(?<!^)(?=[A-Z])", "_", event).lower()


def _too_old(versions: list[Version]) -> Finding | None:
    says = "was not measured with hooks; {} is the first that was."
    do = "Update it (`codex update`), or name the one you use with --cli. In tmux its dialogs are read anyway."
    return kit.too_old("Codex", versions, OLDEST, says, do)
