"""What a permission request over ACP is about, for the rules: from its raw input and its changes.

Rule: only an agent whose row says where the exact command stands is believed about a command; a title is for
people. What is not told exactly is `other`, and no rule for commands or files allows it.
"""

from __future__ import annotations

from yourcall.agents.acp import wording
from yourcall.agents.acp.requests import PERMISSION, Request
from yourcall.agents.acp.table import Row
from yourcall.agents.acp.wire import Permission, decoded
from yourcall.model.action import Action, CallKind

# As `wording.tool_of` calls them.
TOOLS: dict[str, CallKind] = {"Bash": "command", "Edit": "write", "MultiEdit": "write", "Write": "write"}


def asked(row: Row, request: bytes) -> Action | None:
    """None if it is not a request for a tool, or cannot be read."""
    found = decoded(Request, request)
    params = decoded(Permission, found.params) if found is not None and found.method == PERMISSION else None
    if found is None or params is None:
        return None
    call = params.call
    tool = found.tool_name or call.kind or "other"
    if call.kind == "execute" and row.command:
        command, fields = wording.command_of(call, row.command), wording.fields_of(call.rawInput)
        where = fields.get(row.folder) if row.folder else None
        if not command or (where and not (isinstance(where, str) and where.startswith("/"))):
            return Action(tool)  # run in a folder that we do not know it means something else
        unboxed = bool(row.unboxed and fields.get(row.unboxed))
        spelled = isinstance(fields.get(row.command), str)  # the agent gives it to whatever shell it has
        return Action(tool, "command", command=command, unboxed=unboxed, any_shell=spelled)
    changed = tuple(part.path for part in wording.changes(call))
    # Every place that it names must be one it changes: else it does more than it shows.
    if call.kind == "edit" and row.command and changed and set(wording.paths(call)) == set(changed):
        return Action(tool, "write", paths=changed)
    return Action(tool)
