"""By what a call is known: the same for what a hook tells of it, what its dialog shows, and what its record holds.

Rule: it is made of what is run or changed, and of nothing that one of the three leaves out or wraps.
"""

from __future__ import annotations

import hashlib

import msgspec
from msgspec import Struct

from yourcall.agents.kit.composer import squeezed
from yourcall.agents.kit.wire import decoded
from yourcall.model.screen import Reading

CALL = "call:"
SHELL = "Bash"  # what hooks call it
PATCH = "apply_patch"


class ToolInput(Struct, frozen=True):
    command: str = ""
    description: str | None = ""


class Shell(Struct, frozen=True):
    cmd: str


def about(input: bytes) -> ToolInput:
    return decoded(ToolInput, input) or ToolInput()


def mark(tool: str, input: bytes) -> str:
    """Of a call that a hook told of."""
    command = about(input).command
    return _mark(tool, squeezed(command).encode("utf-8", "replace") if command else _sorted(input))


def of_record(name: str, namespace: str, arguments: str, patch: str) -> str:
    """Of a call as the model made it; empty for one whose end tells nothing: a refusal of a server's tool is
    written as that tool's own output would be."""
    given = arguments.encode("utf-8", "replace")
    if namespace:
        return ""
    if name == PATCH and patch:
        return _mark(PATCH, squeezed(patch).encode("utf-8", "replace"))
    shell = decoded(Shell, given) if name == "exec_command" else None
    return _mark(SHELL, squeezed(shell.cmd).encode("utf-8", "replace")) if shell is not None else ""


def of_dialog(reading: Reading) -> str:
    """Of the command that a dialog shows; empty if it shows none, or not all of it."""
    asked = reading.question or ""
    whole = reading.kind == "permission" and "run the following command" in asked and not reading.clipped
    command = squeezed(reading.target or "") if whole else ""
    return _mark(SHELL, command.encode("utf-8", "replace")) if command else ""


def _mark(tool: str, text: bytes) -> str:
    return CALL + hashlib.sha256(tool.encode("utf-8", "replace") + b"\0" + text).hexdigest()


def _sorted(input: bytes) -> bytes:
    fields = decoded(dict[str, object], input)
    return input if fields is None else msgspec.json.encode(fields, order="sorted")
