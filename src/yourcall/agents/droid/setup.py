"""The hooks we add to droid's settings: the file's text in, its text out; and how to take them out again.

Rule: every hook informs and returns at once; none ever holds or answers anything. Every character that is not ours
stays as it is: `remove(add(text))` is `text`, as long as droid has not written the file anew in between.
"""

from __future__ import annotations

from yourcall.agents.droid.tools import AGENT
from yourcall.agents.kit import hook_settings
from yourcall.agents.kit import setup as kit
from yourcall.agents.kit.hook_settings import Hook
from yourcall.agents.kit.json_edit import Node
from yourcall.agents.setup_spec import Edited, Finding, Version
from yourcall.model.prompts import Refused

# The version that all this was measured with; nothing is known of older ones.
OLDEST: Version = (0, 225, 2)
EVENTS = ("SessionStart", "SessionEnd", "UserPromptSubmit", "Stop", "PreToolUse")
# Only calls that may ask: each hook costs droid some milliseconds, and leaves a line in its history.
MATCHERS = {"PreToolUse": "Execute|Create|Edit|ApplyPatch|AskUser|ExitSpecMode"}
INFORM_S = 10
_AGAIN = "Run `yourcall setup droid`."


def wanted(launcher: str) -> dict[str, Hook]:
    """The hook for each event."""
    return kit.informing(launcher, EVENTS, AGENT, INFORM_S)


def add(text: str | None, launcher: str, versions: list[Version]) -> Edited | Refused:
    """The settings with our hooks; ours of another home or form are replaced."""
    if refused := kit.refused(_too_old(versions), launcher):
        return refused
    ours = wanted(launcher)
    notes: tuple[str, ...] = ()
    if text is not None and not hook_settings.is_blank(text):
        root = hook_settings.parse(text)
        if isinstance(root, Refused):
            return root
        notes = tuple(f"{finding.says} {finding.do}" for finding in _blocking(text, root))
        if kit.as_wanted(hook_settings.entries(text, root), ours, MATCHERS):
            return Edited(text, False, notes)
        text = hook_settings.cut_out(text, root)
    new = hook_settings.put_in(text, ours, MATCHERS)
    return new if isinstance(new, Refused) else Edited(new, True, notes)


def remove(text: str | None) -> Edited | Refused:
    """The settings without our hooks, whichever home they point to."""
    return kit.remove(text)


def check(text: str | None, launcher: str, versions: list[Version]) -> list[Finding]:
    """What is wrong with our hooks in these settings; empty when prompts will reach us."""
    old = _too_old(versions)
    if old is not None:
        return [old]
    wished = wanted(launcher)
    return kit.check(
        text, "droid", _AGAIN, _blocking, lambda ours: kit.faults(ours, wished, launcher, _AGAIN, MATCHERS)
    )


def _too_old(versions: list[Version]) -> Finding | None:
    says = "was not tried; {} was."
    do = "Update it, or name the one you use with --cli. Without hooks its dialogs are still read in tmux."
    return kit.too_old("droid", versions, OLDEST, says, do)


def _blocking(_text: str, _root: Node) -> list[Finding]:
    return []
