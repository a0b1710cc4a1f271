"""What an ACP agent's tool call is about, in plain words: its command, its files, what would change in them.

Rule: text from the agent is passed on as it is (every front end renders it inert) and never cut silently.
"""

from __future__ import annotations

import re
import shlex
from collections.abc import Sequence
from typing import cast

import msgspec

from yourcall.agents.acp import wire
from yourcall.agents.acp.wire import Call, Part
from yourcall.agents.jsonrpc import Problem
from yourcall.agents.kit.wire import decoded, fields_of, text_of
from yourcall.core import line_diff

Fields = dict[str, object]
_SHELL = re.compile(r"(?:(?:/usr(?:/local)?|/opt/homebrew)?/bin/)?(?:ba|z)sh")


def command_of(call: Call, name: str) -> str:
    """The exact command, from the raw input: a text, or the words of a command line."""
    value = fields_of(call.rawInput).get(name) if name else None
    if isinstance(value, str):
        return value
    words = cast("list[object]", value) if isinstance(value, list) else []
    if not words or not all(isinstance(word, str) for word in words):
        return ""
    argv = cast("list[str]", words)
    # `./bash` is anybody's program, and `sh` reads some commands otherwise: those stay as they are.
    wrapped = len(argv) == 3 and _SHELL.fullmatch(argv[0]) and argv[1] in ("-lc", "-c")
    return argv[2] if wrapped else shlex.join(argv)


def reason_of(call: Call, name: str) -> str:
    """What a call is for: in its raw input, or else in the words it shows."""
    return (text_of(fields_of(call.rawInput), name) if name else "") or said(call)


def said(call: Call) -> str:
    """The words among what a call shows."""
    return "\n".join(part.content.text for part in call.content or [] if part.content and part.content.text)


def changes(call: Call) -> list[Part]:
    return [part for part in call.content or [] if part.type == "diff" and part.path]


def paths(call: Call) -> tuple[str, ...]:
    """Every file the call names, each once."""
    names = [part.path for part in changes(call)] + [place.path for place in call.locations or []]
    return tuple(dict.fromkeys(path for path in names if path))


def diff(parts: Sequence[Part]) -> str:
    """What would change, as a unified diff."""
    lines: list[str] = []
    work = line_diff.Work()
    for part in parts:
        lines += line_diff.of_texts(part.path, part.oldText or "", part.newText or "", work=work)
    return "\n".join(lines)


def tool_of(call: Call, command: str, why: str, ends: str = "") -> tuple[str, object]:
    """A name for the tool and its input, in the words front ends know: what a command is, what a change is."""
    changed = changes(call)
    if call.kind == "execute" or command:
        return "Bash", {"command": command or call.title or "", "description": why}
    if len(changed) == 1 and not changed[0].oldText:
        return "Write", {"file_path": changed[0].path, "content": changed[0].newText or ""}
    if changed:
        edits = [
            {"file_path": part.path, "old_string": part.oldText or "", "new_string": part.newText or ""}
            for part in changed
        ]
        return ("Edit", edits[0]) if len(edits) == 1 else ("MultiEdit", {"edits": edits})
    given: object = call.rawInput if fields_of(call.rawInput) else {"title": call.title or ""}
    return name_of(call, ends) or call.kind or "other", given


def name_of(call: Call, ends: str) -> str:
    """The tool's own name, where the id of the call begins with it."""
    name, value, _ = call.toolCallId.partition(ends) if ends else ("", "", "")
    return name[:100] if value and name.isidentifier() else ""


def reason(problem: Problem | None) -> str:
    """An error in its own words; the plain `Internal error` hides them in its data."""
    if problem is None:
        return ""
    text = decoded(str, problem.data) or ""
    fields = fields_of(problem.data)
    details = text or text_of(fields, "details") or text_of(fields, "message")
    message = problem.message or ""
    if message.startswith("{"):  # an answer of the model's service, as it came
        told_whole = decoded(wire.Failed, message.encode("utf-8", "replace"))
        message = told_whole.error.message or message if told_whole else message
    parts = [message, details if details != message else ""]
    return ": ".join(part.strip() for part in parts if part.strip())


def encoded(value: object) -> bytes:
    return msgspec.json.encode(value)
