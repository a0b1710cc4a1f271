"""The raw material of any captured screen: clean lines, terminal columns, and text put together again.

Nothing here knows a word or a glyph of one CLI; what differs between them stays in the agent's own folder.
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
    # NBSP at a line's end is part of the empty composer of one CLI, so only plain blanks are cut.
    return [line[:MOST_COLUMNS].rstrip(" ") for line in lines]


def flat(parts: list[str]) -> str:
    """One text of several lines: a wrap or a newline becomes one space."""
    return " ".join(" ".join(parts).split())


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
