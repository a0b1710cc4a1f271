"""Our hook entries inside the text of an agent's settings file: find them, put them in, cut them out.

Rule: an edit adds characters or takes out what it once added; it never moves or reformats anyone else's. So
`cut_out(put_in(text, …))` is `text` byte for byte, as long as nobody rewrote the file in between.

    {"hooks": {Event: [{"matcher": …, "hooks": [{"type": "command", "command": …}]}]}}

Claude Code and Gemini CLI both keep hooks in this shape. Gemini CLI also takes comments: they are looked at as the
white space they stand for, and stay where they are.

Which of the containers around an entry did we make? The white space tells: what we make has some behind its
opening bracket, and so has whatever the agent rewrote; what we found empty has none. Claude Code rewrites the
file when a person allows something for good, and while it does drops the keys of a hook that it does not know: our
mark therefore is in the command itself, the word after `:`, which does nothing with it.
"""

from __future__ import annotations

import json
import re
import shlex
from collections.abc import Mapping

from msgspec import Struct

from yourcall.agents.kit import json_edit
from yourcall.agents.kit.json_edit import Broken, Node, Span
from yourcall.model.prompts import Refused

# `2>/dev/null || :` keeps a launcher that is gone (home deleted) from showing a line on the person's screen.
_TAIL = "2>/dev/null || : yourcall"
_OURS = re.compile(
    r"(?P<launcher>.+?)(?: -b)? [a-z][a-z0-9-]* (?P<event>[A-Za-z]+)(?: \$PPID)? " + re.escape(_TAIL),
    re.DOTALL,
)
# A string is passed over whole: what looks like a comment in it is none.
_COMMENT = re.compile(r'"(?:[^"\\\n]|\\.)*"|//[^\n\r]*|/\*.*?\*/', re.DOTALL)
_BLANK = re.compile(r"\ufeff?[ \t\r\n]*")
_MEND = "Mend it first; nothing was changed."

# How we fill a `{}` that was the whole file: four spaces instead of two say that the braces are not ours.
_NOT_OUR_BRACES = ("\n    ", "\r\n    ")

Hook = dict[str, str | int | bool]


# The event behind `setup claude --ask`: our hook there answers "ask" at once, for the tools that were named.
ASKING = "PreToolUse"


class Entry(Struct, frozen=True):
    """One of our hooks as found: below which event, the (quoted) launcher it calls, its keys as JSON texts, and
    the tools it is limited to."""

    event: str
    launcher: str
    keys: dict[str, str]
    tools: str = ""


def command(launcher: str, event: str, *, detached: bool, agent: str, pid: bool = False) -> str:
    """What the hook runs. Detached, the launcher takes the payload, answers at once and goes on by itself. `pid`:
    it is told the agent's process, for one that does not tell that in the environment."""
    return f"{shlex.quote(launcher)}{' -b' if detached else ''} {agent} {event}{' $PPID' if pid else ''} {_TAIL}"


def is_ours(command: str) -> bool:
    """Does a hook that runs this call us?"""
    return _OURS.fullmatch(command) is not None


def uncommented(text: str) -> str:
    """The text with a blank for each character of a comment: every place in it stays the same."""

    def blank(match: re.Match[str]) -> str:
        return match[0] if match[0].startswith('"') else re.sub(r"[^\n\r]", " ", match[0])

    return _COMMENT.sub(blank, text)


def is_blank(text: str | None) -> bool:
    """No settings at all: no file, or nothing in it."""
    return text is None or _BLANK.fullmatch(text) is not None


def parse(text: str) -> Node | Refused:
    root = json_edit.scan(text)
    if isinstance(root, Broken):
        where = f"line {root.line}, column {root.column}: {root.why}"
        return Refused(f"The settings file is not valid JSON ({where}). {_MEND}")
    if root.kind != "object":
        return Refused(f"The settings file is not a JSON object ({{ … }}). {_MEND}")
    return root


def entries(text: str, root: Node) -> list[Entry]:
    """Our hooks, where the agent sees them: of a key that is written twice only the last one counts."""
    hooks = json_edit.member(root, "hooks")
    events = {item.key or "": item for item in hooks.items} if hooks and hooks.kind == "object" else {}
    return [
        entry
        for name, event in events.items()
        if event.kind == "array"
        for group in event.items
        if (inner := json_edit.member(group, "hooks")) is not None and inner.kind == "array"
        for hook in inner.items
        if (entry := _entry(text, hook, name, _tools(text, group))) is not None
    ]


def _tools(text: str, group: Node) -> str:
    matcher = json_edit.member(group, "matcher")
    return json_edit.string(text[matcher.start : matcher.end]) if matcher and matcher.kind == "string" else ""


def _entry(text: str, hook: Node, event: str, tools: str = "") -> Entry | None:
    if hook.kind != "object":
        return None
    keys = {item.key or "": text[item.start : item.end] for item in hook.items}
    kind, run = keys.get("type", ""), keys.get("command", "")
    if not (kind.startswith('"') and run.startswith('"')) or json_edit.string(kind) != "command":
        return None
    match = _OURS.fullmatch(json_edit.string(run))
    return Entry(event, match["launcher"], keys, tools) if match else None


# --- cutting out


def cut_out(text: str, root: Node, plain: str | None = None) -> str | None:
    """The text without our hooks. None: nothing would be left; a blank text: a blank file is what we found.

    `plain` is the text without its comments, where it has some: then at least those are left.
    """
    gone, spans = _prune(text if plain is None else plain, root, _SETTINGS)
    if plain not in (None, text):
        return _but_comments(text, [(root.items[0].begin, root.items[-1].end)] if gone else spans)
    if not gone:
        return json_edit.cut(text, spans)
    if json_edit.gap(text, root) in _NOT_OUR_BRACES:
        return text[: root.start] + "{}" + text[root.end :]
    return text[: root.start] if root.end == len(text) else None


def _but_comments(text: str, spans: list[Span]) -> str:
    """The text without these spans; a comment in one was put there by a person since, and stays."""
    parts: list[str] = []
    last = 0
    for start, end in sorted(spans):
        names = [each[0] for each in _COMMENT.finditer(text, start, end) if not each[0].startswith('"')]
        # Whatever follows a comment on its line would become part of it.
        wording = "".join(f" {each}\n" if each.startswith("//") else f" {each}" for each in names)
        ends_line = text[end:].lstrip(" \t").startswith(("\r", "\n"))
        parts += (text[last:start], wording.removesuffix("\n") if ends_line else wording)
        last = end
    return "".join(parts) + text[last:]


# Level by level from the root: the settings, `hooks`, an event's list, a group, its list of hooks.
_SETTINGS, _HOOKS, _EVENT, _GROUP, _LIST = range(5)


def _prune(text: str, node: Node, level: int) -> tuple[bool, list[Span]]:
    """Whether the node goes with what we put into it; if not, what to cut out of it."""
    gone: list[bool] = []
    spans: list[Span] = []
    for item in node.items:
        goes = False
        if level == _LIST:
            goes = _entry(text, item, "") is not None
        elif _may_hold_ours(item, level):
            goes, inner = _prune(text, item, level + 1)
            spans += inner
        gone.append(goes)
    if not any(gone):
        return False, spans
    # A group without its list of hooks is an error to the agent, so they go together.
    if level == _GROUP and all(goes for goes, item in zip(gone, node.items, strict=True) if item.key == "hooks"):
        return True, []
    if not all(gone):
        return False, spans + json_edit.without(node, gone)
    if level != _LIST and not json_edit.gap(text, node):
        return False, [(node.start + 1, node.items[-1].end)]
    return True, []


def _may_hold_ours(item: Node, level: int) -> bool:
    if level == _SETTINGS:
        return item.key == "hooks" and item.kind == "object"
    if level == _GROUP:
        return item.key == "hooks" and item.kind == "array"
    return item.kind == ("array" if level == _HOOKS else "object")


# --- putting in


def put_in(
    text: str | None, hooks: dict[str, Hook], matchers: Mapping[str, str] | None = None, plain: str | None = None
) -> str | Refused:
    """The text with these hooks, each below its event; the text holds none of ours yet.

    `matchers` limit the hook of an event to some tools. `plain` is the text without its comments.
    """
    groups = {name: _group(hook, (matchers or {}).get(name, "")) for name, hook in hooks.items()}
    if text is None:
        return "{\n  " + _made_hooks(groups, "\n", "  ", "  ") + "\n}\n"
    if is_blank(text):
        return text + "{\n  " + _made_hooks(groups, "\n", "  ", "  ") + "\n}"
    pieces = _pieces(text if plain is None else plain, groups)
    return pieces if isinstance(pieces, Refused) else json_edit.put(text, pieces)


def _pieces(text: str, groups: dict[str, str]) -> list[tuple[int, str]] | Refused:
    """What to put where."""
    root = parse(text)
    if isinstance(root, Refused):
        return root
    newline = "\r\n" if "\r\n" in text else "\n"
    if text[root.start : root.end] == "{}":
        made = _made_hooks(groups, newline, "    ", "    ")
        return [(root.start + 1, f"{newline}    {made}{newline}")]
    _, broken, indent = json_edit.gap(text, root).rpartition("\n")
    if not broken:
        newline, indent = "", ""
    elif not root.items:
        indent = "  "
    node = json_edit.member(root, "hooks")
    if node is None:
        made = _made_hooks(groups, newline, indent, indent or "  ")
        if not root.items:
            return [(root.start + 1, made)]
        return [(root.items[-1].end, f",{newline + indent or ' '}{made}")]
    if node.kind != "object":
        return Refused(f'"hooks" in the settings file is not an object ({{ … }}). {_MEND}')
    return _into_hooks(text, node, groups, newline + indent * 2 or " ")


def _group(hook: Hook, tools: str) -> str:
    matcher = f'"matcher": {json.dumps(tools)}, ' if tools else ""
    return f'{{{matcher}"hooks": [{json.dumps(hook, ensure_ascii=False)}]}}'


def _made_hooks(groups: dict[str, str], newline: str, indent: str, unit: str) -> str:
    """A `hooks` of our own, one event a line; all on one line where the file is (no `newline`)."""
    before, after = (newline + indent + unit, newline + indent) if newline else (" ", " ")
    body = f",{before}".join(f'"{name}": [ {group} ]' for name, group in groups.items())
    return f'"hooks": {{{before}{body}{after}}}'


def _into_hooks(text: str, hooks: Node, groups: dict[str, str], otherwise: str) -> list[tuple[int, str]] | Refused:
    pieces: list[tuple[int, str]] = []
    fresh: list[str] = []
    for name, group in groups.items():
        event = json_edit.member(hooks, name)
        if event is None:
            fresh.append(f'"{name}": [ {group} ]')
        elif event.kind != "array":
            return Refused(f'"{name}" below "hooks" in the settings file is not a list ([ … ]). {_MEND}')
        elif event.items:
            pieces.append((event.items[-1].end, f",{_between(text, event, ' ')}{group}"))
        else:
            pieces.append((event.start + 1, group))
    between = f",{_between(text, hooks, otherwise)}"
    if hooks.items:
        pieces += [(hooks.items[-1].end, between + made) for made in fresh]
    else:
        pieces.append((hooks.start + 1, between.join(fresh)))
    return pieces


def _between(text: str, container: Node, otherwise: str) -> str:
    """What stands between two items of a container: a new line where its first item has one, else a space."""
    if not container.items:
        return otherwise
    before, broken, indent = json_edit.gap(text, container).rpartition("\n")
    if not broken:
        return " "
    return ("\r\n" if before.endswith("\r") else "\n") + indent
