"""Comments on the lines of a change, as one instruction: each with its file, its line, and the line itself.

Rule: what is quoted stays in its place; nothing in it can look like another comment.
"""

from __future__ import annotations

from collections.abc import Sequence

from msgspec import Struct

LONGEST_CODE = 300


class Comment(Struct, frozen=True):
    """`old`: the line is one that was removed, and counts in the file as it was."""

    path: str
    line: int
    text: str
    code: str = ""
    old: bool = False


def instruction(comments: Sequence[Comment]) -> str:
    """In the order of the files and their lines."""
    ordered = sorted(comments, key=lambda each: (each.path, each.line, each.old))
    what = "A comment on your changes" if len(ordered) == 1 else f"{len(ordered)} comments on your changes"
    return "\n\n".join([f"{what}:", *map(_one, ordered)])


def _one(comment: Comment) -> str:
    where = f"{_plain(comment.path)}:{comment.line}{' (a line that was removed)' if comment.old else ''}"
    code = _plain(comment.code)[:LONGEST_CODE].rstrip()
    text = "\n".join(f"  {line}".rstrip() for line in comment.text.strip().splitlines())
    return "\n".join(part for part in (where, f"> {code}" if code else "", text) if part)


def _plain(text: str) -> str:
    """On one line."""
    return " ".join(text.splitlines())
