"""What a request is about, for the rules.

Rule: only what the tool call itself says counts. A permission that covers more than its call (a folder outside
the project, a tool of an MCP server) is `other`, and no rule for commands or files allows it.
"""

from __future__ import annotations

from urllib.parse import urlsplit

from yourcall.agents.opencode.requests import Kept
from yourcall.agents.opencode.wire import decoded, fields_of
from yourcall.model.action import Action


def asked(request: bytes) -> Action | None:
    """None if it is not a permission of ours, or cannot be read."""
    kept = decoded(Kept, request)
    if kept is None or kept.kind != "permission" or not kept.permission:
        return None
    fields = fields_of(kept.tool_input)
    tool = kept.tool_name or kept.permission
    if kept.permission == "bash":
        command, where = fields.get("command"), fields.get("workdir")
        absolute = where is None or (isinstance(where, str) and where.startswith("/"))
        if isinstance(command, str) and command and absolute:
            return Action(tool, "command", command=command, any_shell=True)
    path = fields.get("file_path")
    if isinstance(path, str) and path.startswith("/"):
        if kept.permission == "edit" and tool in ("edit", "write"):
            return Action(tool, "write", paths=(path,))
        if kept.permission == "read" and tool == "read":
            return Action(tool, "read", paths=(path,))
    url = fields.get("url")
    if kept.permission == "webfetch" and tool == "webfetch" and isinstance(url, str) and (host := _host(url)):
        return Action(tool, "fetch", hosts=(host,))
    return Action(tool)


def _host(url: str) -> str:
    try:
        return urlsplit(url).hostname or ""
    except ValueError:
        return ""
