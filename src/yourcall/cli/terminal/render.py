"""How things look in a terminal: hostile text made harmless, columns that fit, times a person can read.

Rule: whatever an agent, a model or a file name wrote goes through `safe` before it is printed; nothing it holds
can move the cursor, colour a line, hide itself or turn the reading direction.
"""

from __future__ import annotations

import os
import shutil
import sys
import time
import unicodedata
from collections.abc import Iterable, Sequence
from pathlib import Path

import click

# Letters and symbols that draw nothing: a command could hide in them although they are no control characters.
_BLANK = frozenset("\u115f\u1160\u17b4\u17b5\u2800\u3164\uffa0")


def safe(text: object, *, lines: bool = False) -> str:
    """The text with everything a terminal would act on, or a reader would not see, shown as visible marks.

    `lines` keeps line breaks and tabs (as spaces); without it the result is one line.
    """
    out: list[str] = []
    for char in str(text).replace("\r\n", "\n") if lines else str(text):
        if char == "\n" and lines:
            out.append("\n")
        elif char == "\t" and lines:
            out.append("    ")
        else:
            out.append(_visible(char))
    return "".join(out)


def _visible(char: str) -> str:
    if " " <= char <= "~":
        return char
    code = ord(char)
    if code < 0x20:
        return chr(0x2400 + code)  # the control pictures: ␛ ␇ ␍ ␊
    if code == 0x7F:
        return "␡"
    hidden = unicodedata.category(char) in ("Cc", "Cf", "Cs", "Zl", "Zp") or char in _BLANK
    if hidden or 0xE0100 <= code <= 0xE01EF:
        return f"<U+{code:04X}>"
    return char


def width(text: str) -> int:
    """How many cells a text takes that `safe` has seen."""
    cells = 0
    for char in text:
        if unicodedata.combining(char) or 0xFE00 <= ord(char) <= 0xFE0F:
            continue
        cells += 2 if unicodedata.east_asian_width(char) in "WF" else 1
    return cells


def clip(text: str, room: int) -> str:
    """The text in at most `room` cells, with … where something was left out."""
    if width(text) <= room:
        return text
    kept, used = "", 0
    for char in text:
        used += width(char)
        if used > room - 1:
            break
        kept += char
    return kept + "…" if room > 0 else ""


def columns() -> int:
    """The terminal's width; a pipe gets enough for a log line, so that nothing is cut that need not be."""
    return shutil.get_terminal_size((80, 24)).columns if sys.stdout.isatty() else 160


def style(text: str, colour: str = "", *, bold: bool = False, dim: bool = False) -> str:
    """Coloured on a terminal, plain in a pipe or where NO_COLOR is set."""
    if not sys.stdout.isatty() or os.environ.get("NO_COLOR") or os.environ.get("TERM") == "dumb":
        return text
    return click.style(text, fg=colour or None, bold=bold or None, dim=dim or None)


def table(heads: Sequence[str], rows: Iterable[Sequence[str]], colours: Sequence[str] = ()) -> str:
    """Left-aligned columns; the last one takes the room that is left, the others at most a third of the width."""
    body = [[safe(cell) for cell in row] for row in rows]
    total, last = columns(), len(heads) - 1
    widths = [
        min(max(width(row[i]) for row in [[*heads], *body]), total // 3 if i != last else total)
        for i in range(len(heads))
    ]
    widths[last] = max(min(widths[last], total - sum(widths[:last]) - 2 * last), 12)
    out = [_row(heads, widths, ["bold"] * len(heads))]
    out += [_row(row, widths, colours) for row in body]
    return "\n".join(out)


def _row(cells: Sequence[str], widths: Sequence[int], colours: Sequence[str]) -> str:
    parts: list[str] = []
    for i, cell in enumerate(cells):
        text = clip(cell, widths[i])
        padding = " " * (widths[i] - width(text)) if i < len(cells) - 1 else ""
        colour = colours[i] if i < len(colours) else ""
        painted = style(text, bold=True) if colour == "bold" else style(text, colour) if colour else text
        parts.append(painted + padding)
    return "  ".join(parts).rstrip()


def wrapped(text: str, indent: int = 0, total: int = 0) -> str:
    """Text of a person or a model over as many lines as it takes; words are kept, long ones are cut hard.

    `total`: the width to fit, if it is not the terminal's.
    """
    room = max((total or columns()) - indent, 20)
    lead = " " * indent
    return "\n".join(lead + piece for line in safe(text, lines=True).split("\n") for piece in _pieces(line, room))


def _pieces(line: str, room: int) -> list[str]:
    pieces: list[str] = []
    while width(line) > room:
        cut, used = 0, 0
        while used + width(line[cut]) <= room:
            used += width(line[cut])
            cut += 1
        space = line.rfind(" ", 1, cut + 1)
        # Only the single space at the break is dropped: indentation and runs of spaces mean something in code.
        pieces.append(line[:space] if space > 0 else line[:cut])
        line = line[space + 1 :] if space > 0 else line[cut:]
    return [*pieces, line]


def span(seconds: float) -> str:
    """A duration in the unit a person would use: 120 ms, 4.2 s, 3 min, 2 h, 5 d."""
    if seconds < 0:
        return "0 s"
    if seconds < 1:
        return f"{seconds * 1000:.0f} ms"
    if seconds < 10:
        return f"{seconds:.1f} s"
    for size, unit in ((86400, "d"), (3600, "h"), (60, "min")):
        if seconds >= 2 * size or (unit == "min" and seconds >= 90):
            return f"{seconds / size:.0f} {unit}"
    return f"{seconds:.0f} s"


def clock(at: float, *, precise: bool = False) -> str:
    """The local time; with the date when it was not today, with milliseconds when steps are compared."""
    then = time.localtime(at)
    today = then[:3] == time.localtime()[:3]
    text = time.strftime("%H:%M:%S" if today else "%Y-%m-%d %H:%M:%S", then)
    return f"{text}.{int(at % 1 * 1000):03d}" if precise else text


def ago(at: float) -> str:
    return f"{clock(at)} ({span(time.time() - at)} ago)"


def short(folder: str) -> str:
    """A folder as a person says it: ~ for the home."""
    home = str(Path.home())
    if folder == home or folder.startswith(home.rstrip("/") + "/"):
        return safe("~" + folder[len(home.rstrip("/")) :])
    return safe(folder)
