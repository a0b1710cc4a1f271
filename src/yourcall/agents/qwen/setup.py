"""What we add to Qwen Code's settings, the file's text in and its text out: hooks that inform, and the two
files of its dual output; and how to take both out again.

Rule: no hook holds or answers anything. Every character that is not ours stays as it is, comments too:
`remove(add(text))` is `text`. A person's own dual output is left alone.
"""

from __future__ import annotations

import json

from yourcall.agents.kit import hook_settings, json_edit
from yourcall.agents.kit import setup as kit
from yourcall.agents.kit.hook_settings import Hook
from yourcall.agents.kit.json_edit import Node
from yourcall.agents.qwen.requests import AGENT
from yourcall.agents.session_spec import ChannelFiles
from yourcall.agents.setup_spec import Edited, Finding, Version
from yourcall.model.prompts import Refused

# The version that all this was measured with; older ones have no, or another, dual output and other hooks.
OLDEST: Version = (0, 24, 0)

# PermissionRequest comes only when a dialog is about to open: it is for sessions outside of tmux. With
# PostToolBatch the CLI also tells its channel of refusals (8 of 8, else 0 of 4); it does not mean that a call ran.
EVENTS = ("SessionStart", "SessionEnd", "UserPromptSubmit", "Stop", "PermissionRequest", "PostToolBatch")

# The launcher answers within milliseconds; this bounds a machine that hangs. In this CLI it is in seconds.
INFORM_S = 10

FILES = ChannelFiles(AGENT, "ev-", "in-", (b'{"type":"control_', b'{"type":"system"', b'{"type":"user"'))
KEY = "dualOutput"
# The CLI puts the pane's id here. A file is renamed once it is in use, so another pane of this name gets its own.
PANE = "${TMUX_PANE}.jsonl"

_AGAIN = "Run `yourcall setup qwen`."


def wanted(launcher: str) -> dict[str, Hook]:
    """The hook for each event."""
    return kit.informing(launcher, EVENTS, AGENT, INFORM_S, "yourcall")


def channel(launcher: str) -> dict[str, str]:
    """The dual output that this yourcall watches."""
    folder = f"{launcher.rpartition('/')[0]}/{FILES.folder}"
    return {"jsonFile": f"{folder}/{FILES.writes}{PANE}", "inputFile": f"{folder}/{FILES.reads}{PANE}"}


def add(text: str | None, launcher: str, versions: list[Version]) -> Edited | Refused:
    """The settings with our hooks and our dual output; ours of another home or form are replaced."""
    # The CLI puts values in place of $NAME in its settings.
    if refused := kit.refused(_too_old(versions), launcher, forbidden="$"):
        return refused
    notes: list[str] = []
    bare = text
    if text is not None and not hook_settings.is_blank(text):
        root = _parse(text)
        if isinstance(root, Refused):
            return root
        plain = hook_settings.uncommented(text)
        notes = [f"{finding.says} {finding.do}" for finding in _blocking(plain, root)]
        if not _faults(plain, root, launcher):
            return Edited(text, False, tuple(notes))
        bare = _without_ours(text)
    new = hook_settings.put_in(
        bare, wanted(launcher), None, hook_settings.uncommented(bare) if bare is not None else None
    )
    if isinstance(new, Refused):
        return new
    root = _parse(new)
    if isinstance(root, Refused):
        return root
    if json_edit.member(root, KEY) is None:
        new = _with_channel(new, root, channel(launcher))
    else:
        notes.append(_OTHERS)
    return Edited(new, True, tuple(notes))


_OTHERS = (
    f"The settings name a `{KEY}` of your own, which is left as it is: permissions are then answered by keys in"
    " tmux. Take it out and run this again to have them answered by their ids."
)


def _with_channel(text: str, root: Node, files: dict[str, str]) -> str:
    last = root.items[-1].end
    newline = "\r\n" if "\r\n" in text else "\n"
    _, broken, indent = json_edit.gap(hook_settings.uncommented(text), root).rpartition("\n")
    between = f",{newline}{indent}" if broken else ", "
    return json_edit.put(text, [(last, f'{between}"{KEY}": {json.dumps(files, ensure_ascii=False)}')])


def remove(text: str | None) -> Edited | Refused:
    """The settings without our hooks and our dual output, whichever home they point to."""
    if text is None or hook_settings.is_blank(text):
        return Edited(text, False)
    root = _parse(text)
    if isinstance(root, Refused):
        return root
    new = _without_ours(text)
    return Edited(new, new != text)


def _without_ours(text: str) -> str | None:
    root = _parse(text)
    if isinstance(root, Refused):
        return text
    ours = [item.key == KEY and _is_ours(hook_settings.uncommented(text), item) for item in root.items]
    if any(ours):
        text = "{}" if all(ours) else json_edit.cut(text, json_edit.without(root, ours))
        root = _parse(text)
        if isinstance(root, Refused):
            return text
    return hook_settings.cut_out(text, root, hook_settings.uncommented(text))


def _values(text: str, node: Node) -> dict[str, str]:
    return {
        item.key or "": json_edit.string(text[item.start : item.end])
        for item in node.items
        if item.kind == "string"
    }


def _is_ours(text: str, node: Node) -> bool:
    """Both files lie in a folder that a yourcall watches, and nothing else stands there."""
    values = _values(text, node) if node.kind == "object" else {}
    return (
        sorted(values) == ["inputFile", "jsonFile"]
        and len(node.items) == 2
        and values["jsonFile"].endswith(f"/{FILES.folder}/{FILES.writes}{PANE}")
        and values["inputFile"].endswith(f"/{FILES.folder}/{FILES.reads}{PANE}")
    )


def check(text: str | None, launcher: str, versions: list[Version]) -> list[Finding]:
    """What is wrong with what we added to these settings; empty when prompts will reach us."""
    old = _too_old(versions)
    if old is not None:
        return [old]
    plain = hook_settings.uncommented(text) if text is not None else None
    return kit.check(
        plain,
        "Qwen Code",
        _AGAIN,
        _blocking,
        lambda _ours: _faults(plain or "", json_edit.scan(plain or ""), launcher),
    )


def _faults(text: str, root: object, launcher: str) -> list[Finding]:
    if not isinstance(root, Node):
        return []
    findings = kit.faults(hook_settings.entries(text, root), wanted(launcher), launcher, _AGAIN)
    files = json_edit.member(root, KEY)
    if not findings and files is None:
        says = f"`{KEY}` is missing, so permissions are answered by keys only."
        findings.append(Finding("partial", says, _AGAIN))
    elif (
        not findings and files is not None and _is_ours(text, files) and _values(text, files) != channel(launcher)
    ):
        findings.append(Finding("moved", f"`{KEY}` names files of another yourcall.", _AGAIN))
    return findings


def own_channel(text: str | None) -> bool:
    """Do these settings name a dual output that is not ours?"""
    root = _parse(text) if text and not hook_settings.is_blank(text) else None
    files = json_edit.member(root, KEY) if isinstance(root, Node) else None
    return files is not None and not _is_ours(hook_settings.uncommented(text or ""), files)


def blocked(text: str | None) -> list[Finding]:
    """What in these settings (of any scope, or the administrator's) keeps hooks from running at all."""
    return kit.blocked(text, _blocking, comments=True)


def _parse(text: str) -> Node | Refused:
    return hook_settings.parse(hook_settings.uncommented(text))


def _too_old(versions: list[Version]) -> Finding | None:
    says = "was not tried with hooks and dual output; {} was."
    return kit.too_old("Qwen Code", versions, OLDEST, says, "Update it, or name the one you use with --cli.")


def _blocking(text: str, root: Node) -> list[Finding]:
    value = json_edit.member(root, "disableAllHooks")
    if value is None or text[value.start : value.end] != "true":
        return []
    says = "`disableAllHooks` is on, so Qwen Code calls no hook at all."
    return [Finding("disabled", says, "Take it out of the settings to get prompts here.")]
