"""A JSON text as a tree of offsets, so that an edit can touch a few characters and leave the rest as it was.

Rule: what is accepted here is exactly JSON (plus a byte order mark in front), so a text we would edit is a text
its owner can read; anything else is a `Broken` with its place, and nobody writes over it.
"""

from __future__ import annotations

import json
import re
from typing import Literal

from msgspec import Struct

NodeKind = Literal["object", "array", "string", "number", "word"]

# Settings files are a few kilobytes. Beyond this it is not one, and a person should look at it first.
LONGEST = 2_000_000
# Deeper than any settings file, and far from where other JSON readers give up.
DEEPEST = 200

_SPACE = re.compile(r"[ \t\n\r]*")
_SCALAR = re.compile(
    r'(?P<string>"[^"\\\x00-\x1f]*(?:\\(?:["\\/bfnrt]|u[0-9a-fA-F]{4})[^"\\\x00-\x1f]*)*")'
    r"|(?P<number>-?(?:0|[1-9][0-9]*)(?:\.[0-9]+)?(?:[eE][+-]?[0-9]+)?)"
    r"|(?P<word>true|false|null)"
)
_KINDS: dict[str, NodeKind] = {"string": "string", "number": "number", "word": "word"}


class Node(Struct, frozen=True):
    """One value: `text[start:end]`. A member of an object has its key and where that key begins."""

    kind: NodeKind
    start: int
    end: int
    items: tuple[Node, ...] = ()
    key: str | None = None
    key_start: int = -1

    @property
    def begin(self) -> int:
        """Where it begins as a child of its parent: at the key, if it has one."""
        return self.start if self.key is None else self.key_start


class Broken(Struct, frozen=True):
    """Why and where a text is not JSON; line and column count from 1."""

    line: int
    column: int
    why: str


class _Stop(Exception):
    """Ends the walk at the first character that cannot be JSON."""

    def __init__(self, at: int, why: str) -> None:
        super().__init__(why)
        self.at = at
        self.why = why


def scan(text: str) -> Node | Broken:
    """The tree of a JSON text."""
    if len(text) > LONGEST:
        return Broken(1, 1, f"it is longer than {LONGEST:,} characters")
    try:
        root = _value(text, _skip(text, 1 if text.startswith("\ufeff") else 0), 0)
        at = _skip(text, root.end)
        if at != len(text):
            raise _Stop(at, "expected the end of the file")
        return root
    except _Stop as stop:
        line = text.count("\n", 0, stop.at) + 1
        return Broken(line, stop.at - text.rfind("\n", 0, stop.at), stop.why)


def string(raw: str) -> str:
    """What a JSON string, quotes included, stands for."""
    return str(json.loads(raw))


def member(node: Node, key: str) -> Node | None:
    """The value of a key; of a key written twice the last, as every reader of JSON in JavaScript takes it."""
    return next((item for item in reversed(node.items) if item.key == key), None)


def gap(text: str, container: Node) -> str:
    """The white space between the opening bracket and what follows it."""
    return text[container.start + 1 : _skip(text, container.start + 1)]


Span = tuple[int, int]


def without(container: Node, gone: list[bool]) -> list[Span]:
    """What to cut so that the marked items, but not all of them, leave the container.

    An item goes together with everything since the end of the item before it, which is exactly what putting
    it after that item added; items at the front take the way to the first that stays.
    """
    items = container.items
    first = gone.index(False)
    spans = [(items[0].begin, items[first].begin)] if first else []
    return spans + [(items[i - 1].end, items[i].end) for i in range(first + 1, len(items)) if gone[i]]


def cut(text: str, spans: list[Span]) -> str:
    kept: list[str] = []
    last = 0
    for start, end in sorted(spans):
        kept.append(text[last:start])
        last = end
    return "".join(kept) + text[last:]


def put(text: str, pieces: list[tuple[int, str]]) -> str:
    """Insert each piece at its offset; pieces at the same offset keep their order."""
    parts: list[str] = []
    last = 0
    for at, piece in sorted(pieces, key=lambda each: each[0]):
        parts += (text[last:at], piece)
        last = at
    return "".join(parts) + text[last:]


def _skip(text: str, at: int) -> int:
    match = _SPACE.match(text, at)
    return match.end() if match else at


def _value(text: str, at: int, depth: int) -> Node:
    if text.startswith(("{", "["), at):
        if depth == DEEPEST:
            raise _Stop(at, f"it is nested more than {DEEPEST} levels deep")
        return _container(text, at, depth)
    match = _SCALAR.match(text, at)
    if match is None:
        raise _Stop(at, "expected a value")
    return Node(_KINDS[match.lastgroup or ""], at, match.end())


def _container(text: str, start: int, depth: int) -> Node:
    is_object = text[start] == "{"
    kind, closing = ("object", "}") if is_object else ("array", "]")
    items: list[Node] = []
    at = _skip(text, start + 1)
    while not (text.startswith(closing, at) and not items):
        items.append(_member(text, at, depth) if is_object else _value(text, at, depth + 1))
        at = _skip(text, items[-1].end)
        if text.startswith(closing, at):
            break
        if not text.startswith(",", at):
            raise _Stop(at, f"expected a comma or {closing}")
        at = _skip(text, at + 1)
    return Node(kind, start, at + 1, tuple(items))


def _member(text: str, key_start: int, depth: int) -> Node:
    match = _SCALAR.match(text, key_start)
    if match is None or match.lastgroup != "string":
        raise _Stop(key_start, "expected a key in double quotes")
    at = _skip(text, match.end())
    if not text.startswith(":", at):
        raise _Stop(at, "expected a colon after the key")
    value = _value(text, _skip(text, at + 1), depth + 1)
    return Node(value.kind, value.start, value.end, value.items, string(match.group()), key_start)
