"""What a permission request over ACP is about, for the rules: from its raw input and its changes.

Rule: only an agent whose row says where the exact command stands is believed about a command; a title is for
people. What is not told exactly is `other`, and no rule for commands or files allows it.
"""

from __future__ import annotations

from yourcall.agents.acp import words
from yourcall.agents.acp.asks import PERMISSION, Request
from yourcall.agents.acp.table import Row
from yourcall.agents.acp.wire import Permission, decoded
from yourcall.core.asked import Asked


def asked(row: Row, request: bytes) -> Asked | None:
    """None if it is not a request for a tool, or cannot be read."""
    found = decoded(Request, request)
    params = decoded(Permission, found.params) if found is not None and found.method == PERMISSION else None
    if found is None or params is None:
        return None
    call = params.call
    tool = found.tool_name or call.kind or "other"
    if call.kind == "execute" and row.command:
        command, fields = words.command_of(call, row.command), words.fields_of(call.rawInput)
        where = fields.get(row.folder) if row.folder else None
        if not command or (where and not (isinstance(where, str) and where.startswith("/"))):
            return Asked(tool)  # run in a folder that we do not know it means something else
        unboxed = bool(row.unboxed and fields.get(row.unboxed))
        return Asked(tool, "command", command=command, unboxed=unboxed)
    changed = tuple(part.path for part in words.changes(call))
    # Every place that it names must be one it changes: else it does more than it shows.
    if call.kind == "edit" and row.command and changed and set(words.paths(call)) == set(changed):
        return Asked(tool, "write", paths=changed)
    return Asked(tool)
