"""A tool call in neutral words, from the tool's name and its input: the part that all agents share.

Rule: an agent's folder says which of its tools does what (`kinds`); everything else is told by the input's own
fields. Nothing that goes with a yes is left out: a field that no other part tells stands in `more`.
"""

from __future__ import annotations

import re
import shlex
from collections.abc import Mapping
from typing import cast
from urllib.parse import urlsplit

import msgspec

from yourcall.agents.kit.wire import text_of
from yourcall.model.action import ActionView, CallKind, FileChange, InputField

Fields = Mapping[str, object]

# How a tool of an MCP server is named: `mcp__server__tool`, or with single underscores.
MCP = "mcp_"

_COMMANDS = ("command", "cmd")
_PATHS = ("file_path", "notebook_path", "path", "filePath")
_BY_COMMAND = frozenset({"command", "cmd", "description", "timeout", "run_in_background"})
_BY_CHANGE = frozenset(
    {*_PATHS, "old_string", "new_string", "replace_all", "edits", "new_source", "content", "fileDiff"}
)
_HOST = re.compile(r"[a-z0-9_][a-z0-9_.-]*")
_SHELL = re.compile(r"(?:^|/)(?:ba|z|da)?sh$")
_NOTEBOOK = {"delete": "The cell is deleted.", "insert": "A cell is added."}


def action(tool: str, fields: Fields, kinds: Mapping[str, CallKind], cwd: str = "") -> ActionView:
    """What the call would do. A tool that `kinds` does not name is told by the shape of its input."""
    kind = kinds.get(tool) or ("mcp" if tool.startswith(MCP) else _by_shape(fields))
    if kind == "mcp":
        return _mcp(tool, fields)
    lines: frozenset[str] = frozenset({"description"})
    changes: tuple[FileChange, ...] = ()
    command, url = "", ""
    match kind:
        case "command" | "powershell":
            command, lines = command_in(fields), _BY_COMMAND if command_in(fields) else frozenset[str]()
        case "write":
            changes, lines = _changes(fields)
        case "fetch":
            url, lines = text_of(fields, "url"), frozenset({"url"})
        case "read":
            lines = frozenset(_PATHS)
        case _:
            lines = frozenset()
    paths = [text_of(fields, *_PATHS), *(change.path for change in changes), *(each.to for each in changes)]
    return ActionView(
        kind="command" if kind == "powershell" else kind,
        tool=tool,
        command=command,
        shell="powershell" if kind == "powershell" else "",
        background=fields.get("run_in_background") is True,
        purpose=text_of(fields, "description"),
        paths=tuple(dict.fromkeys(path for path in paths if path)),
        changes=changes,
        url=url,
        host=text_of(fields, "host") or host_shown(url),
        unboxed=fields.get("dangerouslyDisableSandbox") is True,
        more=_more(fields, lines, cwd),
        command_field=next((name for name in _COMMANDS if command and fields.get(name) == command), ""),
        patch=kind == "write" and "changes" in fields,
    )


def command_in(fields: Fields) -> str:
    """The command a tool would run, as a shell would be given it; empty for a tool that runs none."""
    value = fields.get("command") or fields.get("cmd")
    if not isinstance(value, list):
        return value if isinstance(value, str) else ""
    argv = [str(word) for word in cast("list[object]", value)]
    # `bash -lc '…'` is how some agents spell what is in the quotes.
    wrapped = len(argv) == 3 and _SHELL.search(argv[0]) and argv[1] in ("-c", "-lc")
    return argv[2] if wrapped else shlex.join(argv)


def _by_shape(fields: Fields) -> CallKind:
    if command_in(fields):
        return "command"
    if any(name in fields for name in ("old_string", "new_string", "new_source", "edits", "fileDiff")):
        return "write"
    if "content" in fields and text_of(fields, *_PATHS):
        return "write"
    return "fetch" if text_of(fields, "url") else "other"


def _mcp(tool: str, fields: Fields) -> ActionView:
    double = tool.startswith(f"{MCP}_")
    server, _, name = tool.removeprefix(MCP).lstrip("_").partition("__" if double else "_")
    if not tool.startswith(MCP):
        server, name = text_of(fields, "serverName"), text_of(fields, "toolName")
    return ActionView("mcp", tool, server=server, name=name, more=_more(fields, frozenset(), ""))


def _changes(fields: Fields) -> tuple[tuple[FileChange, ...], frozenset[str]]:
    """What becomes of which file, and the fields that are told by that."""
    whole = text_of(fields, *_PATHS)
    if isinstance(fields.get("changes"), list):
        patches = [_patch(each) for each in cast("list[object]", fields["changes"])]
        file_changes = tuple(patch for patch in patches if patch is not None)
        return (file_changes, frozenset({"changes"})) if len(file_changes) == len(patches) else ((), frozenset())
    if text_of(fields, "fileDiff"):
        return (FileChange(whole, "edit", diff=text_of(fields, "fileDiff")),), _BY_CHANGE | {"newContent"}
    if "edits" in fields:
        edits = _dicts(fields["edits"])
        if edits is None:
            return (), frozenset(_PATHS)
        return tuple(_edit(each, whole) for each in edits), _BY_CHANGE
    if "new_source" in fields or "edit_mode" in fields:
        note = _NOTEBOOK.get(text_of(fields, "edit_mode"), "What the cell holds now is replaced.")
        return (FileChange(whole, "edit", new=text_of(fields, "new_source"), note=note),), _BY_CHANGE
    if "content" in fields:
        return (FileChange(whole, "write", new=text_of(fields, "content")),), _BY_CHANGE
    if "old_string" in fields or "new_string" in fields:
        return (_edit(fields, whole),), _BY_CHANGE
    return (), frozenset(_PATHS)


def _edit(fields: Fields, whole: str) -> FileChange:
    every = fields.get("replace_all") is True
    return FileChange(
        text_of(fields, *_PATHS) or whole,
        "edit",
        old=text_of(fields, "old_string"),
        new=text_of(fields, "new_string"),
        note="Every occurrence in the file." if every else "",
    )


class _Kind(msgspec.Struct, frozen=True):
    type: str = ""
    move_path: str | None = None


class _Patch(msgspec.Struct, frozen=True):
    path: str
    kind: _Kind = _Kind()
    diff: str = ""


def _patch(value: object) -> FileChange | None:
    """One file of a patch: a new file's text, a deleted file's, or a unified diff."""
    try:
        patch = msgspec.convert(value, type=_Patch)
    except (ValueError, RecursionError):
        return None
    match patch.kind.type:
        case "add":
            return FileChange(patch.path, "write", new=patch.diff)
        case "delete":
            return FileChange(patch.path, "delete", old=patch.diff)
        case _:
            return FileChange(patch.path, "edit", diff=patch.diff, to=patch.kind.move_path or "")


def _dicts(value: object) -> list[dict[str, object]] | None:
    """All of them, or None if one of them is something else."""
    every = cast("list[object]", value) if isinstance(value, list) else [None]
    found = [cast("dict[str, object]", each) for each in every if isinstance(each, dict)]
    return found if len(found) == len(every) else None


def host_shown(url: str) -> str:
    """The host of an address, for people to read."""
    try:
        return urlsplit(url).hostname or ""
    except ValueError:
        return ""


def host_allowed(url: str) -> tuple[str, ...]:
    """The one host that a rule may allow; none if the address is dressed up as another."""
    try:
        parts = urlsplit(url)
        host = parts.hostname or ""
    except ValueError:
        return ()
    plain = url.isascii() and parts.username is None and "\\" not in url and parts.scheme in ("http", "https")
    return (host.rstrip("."),) if plain and _HOST.fullmatch(host) else ()


def _more(fields: Fields, lines: frozenset[str], cwd: str) -> tuple[InputField, ...]:
    input_fields: list[InputField] = []
    for name, value in fields.items():
        text = value if isinstance(value, str) else _spelt(value)
        # A field that is told elsewhere is a text, a flag or a list; as an object nobody understood it.
        if text in ("", "null") or (name in lines and type(value) is not dict) or (name == "cwd" and value == cwd):
            continue
        input_fields.append(InputField(name, text))
    return tuple(input_fields)


def _spelt(value: object) -> str:
    try:
        return msgspec.json.encode(value).decode()
    except (ValueError, TypeError, RecursionError):
        return repr(value)
