"""What a request of Codex's app-server is about, for the rules: from the request itself.

Rule: a request that asks for more than one command or one change (a folder for good, typing into a running
command, further permissions) is `other`, or leaves the sandbox; no rule for commands allows it.
"""

from __future__ import annotations

import msgspec
from msgspec import Struct

from yourcall.agents.codex import wording
from yourcall.agents.codex.requests import CHANGE, COMMAND, Params, Request
from yourcall.agents.codex.wire import Change, decoded
from yourcall.model.action import Action, CallKind

TOOLS: dict[str, CallKind] = {"Bash": "command", "apply_patch": "write"}


class _Changes(Struct, frozen=True):
    changes: list[Change] = []


def asked(request: bytes) -> Action | None:
    found = decoded(Request, request)
    params = decoded(Params, found.params) if found is not None else None
    if found is None or params is None:
        return None
    if found.method == COMMAND and params.kind != "writeStdin":
        reached = params.networkApprovalContext
        if reached is not None:
            return Action("Network", "fetch", hosts=(reached.host,) if reached.host else ())
        command = wording.unwrapped(params.command or "")
        more = params.additionalPermissions is not None
        return Action(found.tool_name or "Bash", "command", command=command, unboxed=more) if command else None
    if found.method == CHANGE and not params.grantRoot:
        try:
            changes = msgspec.json.decode(found.tool_input, type=_Changes).changes
        except (ValueError, RecursionError):
            return None
        if not changes or not all(change.path for change in changes):
            return None
        # A file that is moved is written where it goes, and gone where it was.
        moved = [change.kind.move_path for change in changes if change.kind.move_path]
        gone = tuple(c.path for c in changes if c.kind.type == "delete" or c.kind.move_path)
        paths = tuple(dict.fromkeys([*(change.path for change in changes), *moved]))
        return Action(found.tool_name or "apply_patch", "write", paths=paths, deletes=gone)
    return Action(found.tool_name or found.method)
