"""How Codex lays out text: two columns of margin, heads of history at the left edge, words broken after `-` and `/`.

Codex draws no frame, so the width of the pane is known only from the longest line on the screen.
"""

import re

from yourcall.agents.screens import columns, indent

# A cell of the history starts at the left edge with one glyph (• ◦ › ■ ✔ …) and a blank; no dialog line does.
_HEAD = re.compile(r"[^\w\s>_/`'\"(\[{$#-] |[›•◦■]$")


def is_head(line: str) -> bool:
    return _HEAD.match(line) is not None


def wraps(line: str, following: str, limit: int) -> bool:
    """Whether `following` may be the rest of `line`: its first word would not have fitted any more."""
    words = following.split(None, 1)
    return bool(words) and columns(line) + 1 + columns(words[0]) > limit


def joined(parts: list[str], limit: int) -> str:
    """One text of several lines; a word broken after `-` or `/`, or cut at the edge, is put together again."""
    text = ""
    previous = ""
    for part in parts:
        words = part.split()
        if not words:
            continue
        if text:
            text += "" if _is_torn(previous, part, text, words[0], limit) else " "
        text += " ".join(words)
        previous = part
    return text


def _is_torn(previous: str, part: str, text: str, first: str, limit: int) -> bool:
    last = text.rsplit(" ", 1)[-1]
    if last.endswith(("-", "/")) and len(last) > 1:
        return wraps(previous, part, limit)
    # A word longer than a line is cut at the last column.
    return columns(previous) >= limit and columns(last + first) > limit - indent(part)
