"""What setup changes in Copilot CLI's settings: the flag that lets it run extensions, of which ours is a file.

Rule: every character that is not ours stays as it is, and a flag that the person has set themselves is theirs. A
second, unknown flag (which Copilot keeps, and does not read) says that the first one is ours. The consent that
Copilot asks for at the start is never written here: it is the person's.
"""

from __future__ import annotations

from yourcall.agents.kit import json_edit
from yourcall.agents.kit.hook_settings import is_blank, parse
from yourcall.agents.kit.json_edit import Node
from yourcall.agents.kit.setup import too_old
from yourcall.agents.setup_spec import Edited, Finding, Version
from yourcall.model.prompts import Refused

FLAGS = "enabledFeatureFlags"
FLAG = "EXTENSIONS"
OURS = "yourcall"

# The first version that everything was tried with; extensions are older, and not the same.
OLDEST: Version = (1, 0, 102)

_AGAIN = "Run `yourcall setup copilot`."
_FRESH = f'{{\n  "{FLAGS}": {{\n    "{FLAG}": true,\n    "{OURS}": true\n  }}\n}}\n'


def add(
    text: str | None, _launcher: str, versions: list[Version], _ask: tuple[str, ...] | None
) -> Edited | Refused:
    """The settings with the flag."""
    old = _too_old(versions)
    if old is not None:
        return Refused(f"{old.says} {old.do}")
    if text is None or is_blank(text):
        return Edited((text or "") + _FRESH, True)
    root = parse(text)
    if isinstance(root, Refused):
        return root
    if _enabled(text, root):
        return Edited(text, False)
    flags = json_edit.member(root, FLAGS)
    if flags is None:
        return Edited(_put(text, root, f'"{FLAGS}": {{ "{FLAG}": true, "{OURS}": true }}'), True)
    if flags.kind != "object":
        return Refused(f'"{FLAGS}" in the settings file is not an object ({{ … }}). Mend it first.')
    if json_edit.member(flags, FLAG) is not None:
        return Refused(f"`{FLAGS}.{FLAG}` is switched off in the settings. Take that out, then run this again.")
    return Edited(_put(text, flags, f'"{FLAG}": true, "{OURS}": true'), True)


def remove(text: str | None) -> Edited | Refused:
    """The settings without the flag, if it is ours."""
    if text is None or is_blank(text):
        return Edited(text, False)
    root = parse(text)
    if isinstance(root, Refused):
        return root
    flags = json_edit.member(root, FLAGS)
    if flags is None or flags.kind != "object" or json_edit.member(flags, OURS) is None:
        return Edited(text, False)
    if {item.key for item in flags.items} - {FLAG, OURS}:
        gone = [item.key in (FLAG, OURS) for item in flags.items]
        return Edited(json_edit.cut(text, json_edit.without(flags, gone)), True)
    if len(root.items) == 1:
        return Edited("", True)  # nothing else is in the file
    gone = [item.key == FLAGS for item in root.items]
    return Edited(json_edit.cut(text, json_edit.without(root, gone)), True)


def check(text: str | None, _launcher: str, versions: list[Version]) -> list[Finding]:
    """Why Copilot would not run our extension."""
    old = _too_old(versions)
    if old is not None:
        return [old]
    if text is None or is_blank(text):
        return [_missing()]
    root = parse(text)
    if isinstance(root, Refused):
        return [Finding("broken", root.reason, "Copilot CLI cannot read it either.")]
    return [] if _enabled(text, root) else [_missing()]


def _missing() -> Finding:
    return Finding("missing", "Copilot CLI does not run extensions with these settings.", _AGAIN)


def _enabled(text: str, root: Node) -> bool:
    """Does Copilot run extensions? All that is experimental includes them."""
    flags = json_edit.member(root, FLAGS)
    flag = json_edit.member(flags, FLAG) if flags is not None and flags.kind == "object" else None
    if flag is not None:
        return _true(text, flag)
    every = json_edit.member(root, "experimental")
    return every is not None and _true(text, every)


def _true(text: str, node: Node) -> bool:
    return text[node.start : node.end] == "true"


def _put(text: str, into: Node, piece: str) -> str:
    """One more member at the end, laid out as the others are."""
    if not into.items:
        return json_edit.put(text, [(into.start + 1, piece)])
    between = json_edit.gap(text, into) or " "
    return json_edit.put(text, [(into.items[-1].end, f",{between}{piece}")])


def _too_old(versions: list[Version]) -> Finding | None:
    says = "was not tried with an extension; {} was the first."
    return too_old("Copilot CLI", versions, OLDEST, says, "Update it, or name the one you use with --cli.")
