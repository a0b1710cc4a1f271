"""What a permission request of Copilot CLI is about, for the rules: from the request itself.

Rule: a request for a path, or for an address that a command uses, is `other`: its box does not tell all that a yes
allows, so no rule for commands, files or hosts answers it.
"""

from __future__ import annotations

from yourcall.agents.copilot.requests import PERMISSION, Request, changed, host_of, unboxed
from yourcall.agents.copilot.wire import Permission, decoded
from yourcall.model.action import Action


def asked(body: bytes) -> Action | None:
    """None if it is no request for a permission, or cannot be read."""
    found = decoded(Request, body)
    params = decoded(Permission, found.data) if found is not None and found.event == PERMISSION else None
    if found is None or params is None:
        return None
    request, tool = params.promptRequest, found.tool_name or "other"
    match request.kind:
        case "commands" if request.fullCommandText:
            return Action(tool, "command", command=request.fullCommandText, unboxed=unboxed(request))
        case "write" if (change := changed(request))[0]:
            return Action(tool, "write", paths=change[0], deletes=change[1])
        case "read" if path := request.resolvedPath or request.path:
            return Action(tool, "read", paths=(path,))
        case "url" if params.call is not None and params.call.tool == "web_fetch":
            host = host_of(request.url)
            return Action(tool, "fetch", hosts=(host,) if host else ())
        case "mcp":
            return Action(tool, "mcp", server=request.serverName)
        case _:
            return Action(tool)
