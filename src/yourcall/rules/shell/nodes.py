"""What one node of the grammar's tree says by itself.

Rule: nothing is decided here; what is not as it must be is `CannotRead`, and the whole command is then unread.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from tree_sitter import Node


class CannotRead(Exception):
    pass


def spelled_out(node: Node, source: bytes) -> str | None:
    """`"$(cat <<'E' … E)"`, the way agents write a long message: the text, for nothing in it is expanded."""
    inner = [child for child in node.children if child.type != '"']
    if len(inner) != 1 or inner[0].type != "command_substitution" or len(inner[0].children) != 3:
        return None
    statement = inner[0].children[1]
    if statement.type != "redirected_statement" or len(statement.children) != 2:
        return None
    command, here = statement.children
    parts = {part.type: text_of(part) for part in here.children}
    whole = set(parts) == {"<<", "heredoc_start", "heredoc_body", "heredoc_end"} and len(here.children) == 4
    if not whole or text_of(command) != "cat" or parts["heredoc_start"][:1] not in ("'", '"'):
        return None
    # From the line behind the mark up to the mark again, as a shell takes it; the grammar may leave blanks out.
    ends = {part.type: part for part in here.children}
    first = source.index(b"\n", ends["heredoc_start"].end_byte) + 1
    return source[first : ends["heredoc_end"].start_byte].decode().rstrip("\n")


# What may give a variable another value without an assignment that the grammar sees.
_SETTERS = (
    frozenset(
        {"eval", "source", ".", "read", "getopts", "mapfile", "readarray", "let", "unset", "builtin", "command"}
    )
    | {
        "time",
        "exec",
        "typeset",
        "local",
        "declare",
        "readonly",
        "integer",
        "float",
        "vared",
        "noglob",
        "nocorrect",
    }
    | {"-", "zparseopts", "zstyle", "sysread", "print"}
)


def assigned(root: Node) -> dict[str, int]:
    """How often each variable gets a value; empty where that cannot be told."""
    count: dict[str, int] = {}
    stack = [root]
    while stack:
        node = stack.pop()
        if node.type in ("variable_assignment", "for_statement"):
            names = [text_of(child) for child in node.children if child.type == "variable_name"]
            for name in names:
                count[name] = count.get(name, 0) + 1
        elif node.type == "command_name":
            text = text_of(node)
            if text in _SETTERS or not re.fullmatch(r"[\w./+-]+", text):
                return {}
        stack.extend(node.children)
    return count


def inside(node: Node, first: str, last: str) -> list[Node]:
    children = node.children
    if children[0].type != first or children[-1].type != last:
        raise CannotRead("a group is not whole")
    return children[1:-1]


def text_of(node: Node) -> str:
    return (node.text or b"").decode().strip(" \t\n") if not node.is_named else (node.text or b"").decode()
