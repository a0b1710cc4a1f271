"""The raw material of a Claude Code screen: clean lines, the rules that frame them, and where text was wrapped.

Nothing here knows a word of the CLI; only glyphs, columns and widths.
"""

import re
import unicodedata

# A pane is at most a few hundred rows; a caller may pass scrollback, of which only the end can be live.
MOST_LINES = 500
MOST_COLUMNS = 1000

_ESCAPES = re.compile(
    r"\x1b(?:\[[0-?]*[ -/]*[@-~]|\][^\x07\x1b]*(?:\x07|\x1b\\)?|[PX^_][^\x1b]*(?:\x1b\\)?|[ -/]*[0-~])"
)
_CONTROLS = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f]")


def clean(text: str) -> list[str]:
    """Lines without escapes, control bytes, trailing blanks and trailing empty lines."""
    if "\x1b" in text:
        text = _ESCAPES.sub("", text)
    if _CONTROLS.search(text):
        text = _CONTROLS.sub("", text)
    lines = text.expandtabs().rstrip(" \n").split("\n")[-MOST_LINES:]
    # NBSP at a line's end is part of the empty composer, so only plain blanks are cut.
    return [line[:MOST_COLUMNS].rstrip(" ") for line in lines]


def flat(parts: list[str]) -> str:
    """One text of several lines: a wrap or a newline becomes one space."""
    return " ".join(" ".join(parts).split())


def joined(parts: list[str], limit: int) -> str:
    """Like `flat`, but a word that was cut because it is longer than a line is put together again."""
    text = ""
    full = False
    for part in parts:
        words = part.split()
        if not words:
            continue
        cut = full and columns(text.rsplit(" ", 1)[-1] + words[0]) > limit - indent(part)
        text = text + ("" if cut or not text else " ") + " ".join(words)
        full = columns(part) >= limit - 4
    return text


def indent(line: str) -> int:
    return len(line) - len(line.lstrip())


def columns(line: str) -> int:
    """Terminal columns, which differ from characters for wide and combining ones."""
    if line.isascii():
        return len(line)
    width = 0
    for char in line:
        if char >= "\u0300" and unicodedata.combining(char):
            continue
        width += 2 if unicodedata.east_asian_width(char) in "WF" else 1
    return width


def cut(line: str, column: int) -> str:
    """The part of a line left of a terminal column."""
    if line.isascii():
        return line[:column].rstrip()
    kept = 0
    for at, char in enumerate(line):
        kept += columns(char)
        if kept > column:
            return line[:at].rstrip()
    return line.rstrip()


def is_rule(line: str, glyph: str = "─") -> bool:
    """A line drawn across the dialog, possibly with a name set into it near its right end."""
    if glyph not in line:
        return False
    body = line.strip(" ")
    if len(body) < 10 or not body.startswith(glyph * 8):
        return False
    return body.count(glyph) == len(body) or (body[-1] == glyph and body.count(glyph) * 2 > len(body))


def is_edge(line: str) -> bool:
    """The raised edge of a sheet that slid over the conversation; a notice may be set into it."""
    return line.endswith("▔")


def wraps(line: str, following: str, limit: int) -> bool:
    """Whether `following` is the rest of `line`: its first word would not have fitted any more."""
    words = following.split(None, 1)
    if not words:
        return False
    first = words[0]
    if len(words) == 1 and columns(following) > limit - 4:
        first = first[0]  # a word longer than a line is cut anywhere
    # Claude Code leaves up to two columns free on the right.
    return columns(line) + 1 + columns(first) > limit - 2


def paragraphs(lines: list[str]) -> list[list[str]]:
    """Runs of lines without a blank one between them."""
    found: list[list[str]] = []
    open_run = False
    for line in lines:
        if not line.strip():
            open_run = False
        elif open_run:
            found[-1].append(line)
        else:
            found.append([line])
            open_run = True
    return found
