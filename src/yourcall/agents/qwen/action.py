"""What Qwen Code's permission request is about, for the rules: from its tool's input, as the model made it.

Rule: only tools whose input we know are more than `other`; what is odd about an input makes it `other`.
"""

from __future__ import annotations

import re
from urllib.parse import urlsplit

import msgspec
from msgspec import Raw, Struct

from yourcall.agents.qwen.requests import EDIT, SHELL, WRITE, fields_of, text_of
from yourcall.model.action import Action

_HOST = re.compile(r"[a-z0-9_][a-z0-9_.-]*")


class Request(Struct, frozen=True):
    """What is stored of a request: its id in the channel, and the call. Views read `tool_input` by this name."""

    request_id: str
    tool_name: str
    tool_input: Raw


def decoded(request: bytes) -> Request | None:
    try:
        return msgspec.json.decode(request, type=Request)
    except (ValueError, RecursionError):
        return None


def asked(request: bytes) -> Action | None:
    """None if it is not a request for a tool, or cannot be read."""
    found = decoded(request)
    if found is None or not found.tool_name:
        return None
    tool, fields = found.tool_name, fields_of(found.tool_input)
    if tool.startswith("mcp__"):
        return Action(tool, "mcp", server=tool.removeprefix("mcp__").partition("__")[0])
    path = text_of(fields, "file_path")
    match tool:
        case _ if tool == SHELL and text_of(fields, "command"):
            if fields.get("directory"):
                return Action(tool)  # in another folder than the session's it may mean something else
            return Action(tool, "command", command=text_of(fields, "command"), any_shell=True)
        case _ if tool in (EDIT, WRITE) and path:
            return Action(tool, "write", paths=(path,))
        case "read_file" if path:
            return Action(tool, "read", paths=(path,))
        case "web_fetch":
            return Action(tool, "fetch", hosts=_host(text_of(fields, "url")))
        case _:
            return Action(tool)


def _host(url: str) -> tuple[str, ...]:
    """The one host of the address; none if it is dressed up as another."""
    try:
        found = urlsplit(url)
        host = found.hostname or ""
    except ValueError:
        return ()
    plain = url.isascii() and found.username is None and "\\" not in url and found.scheme in ("http", "https")
    return (host.rstrip("."),) if plain and _HOST.fullmatch(host) else ()
