"""What Claude's permission request is about, for the rules: from its tool's input, as it was sent.

Rule: only tools whose input we know are more than `other`; what is odd about an input makes it `other`.
"""

from __future__ import annotations

import re
from urllib.parse import urlsplit

import msgspec
from msgspec import Raw, Struct

from yourcall.agents.claude.tools import Fields, input_of, paths, text_of
from yourcall.model.action import Action, ActionKind, CallKind

_HOST = re.compile(r"[a-z0-9_][a-z0-9_.-]*")
_NOTHING = re.compile(rb"\s*\{\s*\}\s*")  # a tool of a server may need no words
# With one of these, running the command is not all that Bash does.
_MORE_THAN_A_COMMAND = frozenset({"_simulatedSedEdit", "allowed_domains"})
_READS = frozenset({"Read", "Glob", "Grep", "LS", "NotebookRead"})
_ONE_FILE = frozenset({"Read", "NotebookRead"})
_WRITES = frozenset({"Edit", "MultiEdit", "NotebookEdit", "Write"})

TOOLS: dict[str, CallKind] = {
    "Bash": "command",
    "PowerShell": "powershell",
    "WebFetch": "fetch",
    "WebSearch": "search",
    **dict.fromkeys(_READS, "read"),
    **dict.fromkeys(_WRITES, "write"),
}


class _Request(Struct, frozen=True):
    tool_name: str = ""
    tool_input: Raw = Raw(b"{}")


def asked(request: bytes) -> Action | None:
    """None if it is not a request for a tool, or cannot be read."""
    try:
        found = msgspec.json.decode(request, type=_Request)
    except (ValueError, RecursionError):
        return None
    fields = input_of(found.tool_input)
    tool = found.tool_name
    if not tool or (not fields and not _NOTHING.fullmatch(bytes(found.tool_input))):
        return None
    if tool.startswith("mcp__"):
        server, _, _ = tool.removeprefix("mcp__").partition("__")
        return Action(tool, "mcp", server=server)
    kind: ActionKind = "read" if tool in _READS else "write" if tool in _WRITES else "other"
    match tool:
        case "Bash" if text_of(fields, "command"):
            if fields.keys() & _MORE_THAN_A_COMMAND:
                return Action(tool)
            free = fields.get("dangerouslyDisableSandbox") not in (None, False, "false")
            return Action(tool, "command", command=text_of(fields, "command"), unboxed=free)
        case "WebFetch":
            return Action(tool, "fetch", hosts=_host(fields))
        case _ if kind != "other":
            only = (text_of(fields, "glob"),) if tool == "Grep" and text_of(fields, "glob") else ()
            types = (text_of(fields, "type"),) if tool == "Grep" and text_of(fields, "type") else ()
            named = _paths(tool, fields)
            if not named and tool in _ONE_FILE:
                return Action(tool)  # which file it reads, nobody can tell
            return Action(tool, kind, paths=named, deep=tool == "Grep", only=only, types=types)
        case _:
            return Action(tool)


def _paths(tool: str, fields: Fields) -> tuple[str, ...]:
    """Every path that the call could mean, whichever of its fields the tool looks at; and where a search goes that
    its pattern leads elsewhere, or to a file by name."""
    every = [*paths(fields), *(text_of(fields, name) for name in ("file_path", "notebook_path", "path"))]
    if tool in ("Glob", "Grep"):
        pattern = text_of(fields, "pattern" if tool == "Glob" else "glob")
        fixed = pattern.split("*", 1)[0].split("?", 1)[0]
        # Only named besides the folder it is searched in, not instead of it.
        every += [] if not fixed else [fixed] if any(every) else [".", fixed]
        every += [".."] if re.search(r"(?:^|[/{,])\.\.(?:[/},]|$)", pattern[len(fixed) :]) else []
        every += [".."] if re.search(r"[{,]\.\.(?:[/},]|$)", pattern) else []
    return tuple(dict.fromkeys(path for path in every if path))


def _host(fields: Fields) -> tuple[str, ...]:
    """The one host of the address; none if it is dressed up as another."""
    url = text_of(fields, "url")
    try:
        found = urlsplit(url)
        host = found.hostname or ""
    except ValueError:
        return ()
    plain = url.isascii() and found.username is None and "\\" not in url and found.scheme in ("http", "https")
    return (host.rstrip("."),) if plain and _HOST.fullmatch(host) else ()
