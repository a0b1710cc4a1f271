"""What Codex asks for in plain words: a command, its rules, a change, permissions.

Rule: text from the model is passed on as it is (every front end renders it inert) and never cut silently; what we
add ourselves states the exact scope.
"""

from __future__ import annotations

import re
import shlex
from collections.abc import Sequence

import msgspec
from msgspec import Struct

from yourcall.agents.codex.wire import Change
from yourcall.agents.kit import prompts


class Place(Struct, frozen=True):
    type: str = ""
    path: str = ""
    pattern: str = ""
    value: msgspec.Raw = msgspec.Raw(b"{}")


class Access(Struct, frozen=True):
    access: str = ""
    path: Place = Place()


class FileSystem(Struct, frozen=True):
    read: list[str] | None = None
    write: list[str] | None = None
    entries: list[Access] | None = None


class Network(Struct, frozen=True):
    enabled: bool | None = None


class Permissions(Struct, frozen=True):
    network: Network | None = None
    fileSystem: FileSystem | None = None


_SHELL = re.compile(r"(?:(?:/usr(?:/local)?|/opt/homebrew)?/bin/)?(?:ba|z)sh")


def unwrapped(command: str) -> str:
    """`/bin/bash -lc 'touch x'` is how Codex runs `touch x`; anything else stays as it is: the shell is the
    model's to choose (`./bash -lc ls`), and `sh` reads some commands otherwise."""
    try:
        words = shlex.split(command)
    except ValueError:
        return command
    wrapped = len(words) == 3 and _SHELL.fullmatch(words[0]) and words[1] in ("-lc", "-c")
    return words[2] if wrapped else command


def typed(command: str) -> tuple[str, str]:
    """`write_stdin --session-id 7 'yes\n'` is how Codex tells of input: the terminal, and what goes into it."""
    try:
        words = shlex.split(command)
    except ValueError:
        return "", command
    told = len(words) == 4 and words[:2] == ["write_stdin", "--session-id"]
    return (words[2], words[3]) if told else ("", command)


def prefix(rule: Sequence[str]) -> str:
    """The beginning of a command that a rule is about, as a person would type it."""
    return shlex.join(rule)


def diff(changes: Sequence[Change]) -> str:
    """All changes as one unified diff; a new file has all its lines marked as new."""
    return "\n".join(_diff(change) for change in changes)


def _diff(change: Change) -> str:
    match change.kind.type:
        case "add":
            return f"--- /dev/null\n+++ {change.path}\n{_marked('+', change.diff)}"
        case "delete":
            return f"--- {change.path}\n+++ /dev/null\n{_marked('-', change.diff)}"
        case _:
            to = change.kind.move_path or change.path
            return f"--- {change.path}\n+++ {to}\n{change.diff.rstrip()}"


def _marked(sign: str, text: str) -> str:
    return "\n".join(sign + each for each in text.splitlines())


def changes_title(changes: Sequence[Change]) -> str:
    if not changes:
        return "Change files"
    verb = {"add": "Add", "delete": "Delete"}.get(changes[0].kind.type, "Edit")
    more = f" and {len(changes) - 1} more" if len(changes) > 1 else ""
    return prompts.line(f"{verb} {changes[0].path}{more}")


def permissions(asked: Permissions) -> list[str]:
    """What is asked for, one sentence each; what we cannot name is said to be there."""
    lines: list[str] = []
    if asked.network is not None and asked.network.enabled:
        lines.append("Use the network")
    files = asked.fileSystem
    if files is None:
        return lines
    verbs = {"read": "Read", "write": "Write", "deny": "Be kept out of"}
    for entry in files.entries or []:
        place = entry.path.path or entry.path.pattern or bytes(entry.path.value).decode("utf-8", "replace")
        lines.append(f"{verbs.get(entry.access, entry.access)} {place}")
    if not files.entries:
        lines += [f"Read {path}" for path in files.read or []]
        lines += [f"Write {path}" for path in files.write or []]
    return lines
