"""What a permission is about, in words that no agent owns; an agent's folder says it, the rules read it.

Rule: said from the request as it was sent, never from its title or the screen.
"""

from __future__ import annotations

from typing import Literal

from msgspec import Struct

ActionKind = Literal["command", "read", "write", "fetch", "mcp", "other"]
# What an agent's folder says of its tools, to have their calls shown.
CallKind = Literal["command", "powershell", "read", "write", "fetch", "search", "mcp", "other"]


class Action(Struct, frozen=True):
    """`tool` is the agent's own name for it. `unboxed`: it asks to leave the agent's sandbox. `deep`: it reads
    what lies below its paths, too. `deletes`: those of its paths that are gone afterwards. `any_shell`: nobody
    says which shell runs the command; else it is bash or zsh. `only`: patterns of the files that a search
    opens, hidden ones too; `types`: names of types that it is limited to."""

    tool: str
    kind: ActionKind = "other"
    command: str = ""
    paths: tuple[str, ...] = ()
    hosts: tuple[str, ...] = ()
    server: str = ""
    unboxed: bool = False
    deep: bool = False
    deletes: tuple[str, ...] = ()
    any_shell: bool = False
    only: tuple[str, ...] = ()
    types: tuple[str, ...] = ()


class FileChange(Struct, frozen=True):
    """What becomes of one file. `old` and `new` are the part that is replaced and what takes its place; of a
    `write`, `new` is the whole file; of a `delete`, `old` is. `diff`: a unified diff, where only that is told.
    `to`: where it is moved. `note`: what else is true of it, in a sentence."""

    path: str
    change: Literal["edit", "write", "delete"] = "edit"
    old: str = ""
    new: str = ""
    diff: str = ""
    to: str = ""
    note: str = ""


class InputField(Struct, frozen=True):
    """A field of a tool's input; `value` is its text, or JSON if it is no text."""

    name: str
    value: str


class ActionView(Struct, frozen=True):
    """What a permission would do, in the same words for every agent.

    `tool` is the agent's own name for it, to be shown. `command`: what a shell would be given; `shell` names
    the one that is no POSIX shell. `purpose`: what
    the agent says it is for. `paths`: every file it names. `url`, `host`: where it connects to. `server`, `name`:
    an MCP server and its tool. `unboxed`: it leaves the agent's sandbox. `more`: the fields of the input that
    nothing else here tells. `command_field`: the field of the input that is the command, word for word; an
    edited command goes there. `patch`: the changes are one patch; the prompt's body shows all of it, with what
    is asked besides.
    """

    kind: Literal["command", "read", "write", "fetch", "search", "mcp", "other"]
    tool: str
    command: str = ""
    shell: Literal["", "powershell"] = ""
    background: bool = False
    purpose: str = ""
    paths: tuple[str, ...] = ()
    changes: tuple[FileChange, ...] = ()
    url: str = ""
    host: str = ""
    server: str = ""
    name: str = ""
    unboxed: bool = False
    more: tuple[InputField, ...] = ()
    command_field: str = ""
    patch: bool = False
