"""How Codex lays out text: a margin of two columns, history at the left edge, words broken after `-` and `/`.

Codex draws no frame, so the width of the pane is known only from the longest line on the screen.
"""

import re

from yourcall.agents.kit.text import columns, indent

# A cell of the history starts at the left edge with one glyph (• ◦ › ■ ✔ …) and a blank; no dialog line does.
_HEAD = re.compile(r"[^\w\s>_/`'\"(\[{$#-] |[›•◦■]$")
_BROKEN = re.compile(r"[^-]-$|/$")
# Where a line could have been broken; a line without such a place may end in the middle of a word.
_PIECES = {False: re.compile(r"\s"), True: re.compile(r"[\s/-]")}
MARGIN = 2  # columns that Codex leaves free on the right


def is_head(line: str) -> bool:
    return _HEAD.match(line) is not None


def wraps(line: str, following: str, limit: int) -> bool:
    """Whether `following` may be the rest of `line`: its first word would not have fitted any more."""
    words = following.split(None, 1)
    return bool(words) and columns(line) + 1 + columns(words[0]) > limit - MARGIN


def joined(parts: list[str], *, breaks: bool = True) -> str:
    """One text of several lines, given with their indents; a word torn apart is put together again.

    A word longer than a line is cut at the last column. `breaks`: it is also broken after `-` and `/`, as
    everywhere but in what an approval shows.
    """
    widest = max(map(columns, parts), default=0)
    text = ""
    previous = ""
    for part in parts:
        words = part.split()
        if not words:
            continue
        last = text.rsplit(" ", 1)[-1]
        torn = breaks and _BROKEN.search(last) is not None
        if columns(previous) == widest and not _PIECES[breaks].search(previous.strip()):
            torn = torn or columns(last + words[0]) > widest - indent(part)
        text += ("" if torn or not text else " ") + " ".join(words)
        previous = part
    return text
