#!/usr/bin/env python3
"""Draw captured terminal screens as one SVG picture: each in a dark window, one below the other.

    tmux capture-pane -e -p -t %0 > a.ansi
    python3 tools/screen_svg.py --title "your terminal" a.ansi --title "elsewhere" b.ansi > picture.svg

Rule: what is drawn is what was captured, letter by letter on the grid; nothing is written that was not on the
screen but the title of the window. Same input, same bytes, so that a test can tell whether a picture is current.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from html import escape
from itertools import groupby
from pathlib import Path
from unicodedata import combining, east_asian_width

CELL_W, CELL_H, SIZE = 8.4, 19.0, 14
PAD, BAR, GAP, MARGIN = 16.0, 34.0, 18.0, 2.0
INK, PAPER, EDGE, BAR_PAPER, TITLE_INK = "#d7dae0", "#16181d", "#30343d", "#1f2229", "#9aa1ad"
DOTS = ("#ff5f57", "#febc2e", "#28c840")
FONT = "ui-monospace,'SF Mono',SFMono-Regular,Menlo,Consolas,'DejaVu Sans Mono','Liberation Mono',monospace"

# The sixteen named colours, soft enough for long reading on a dark window.
NAMED = (
    "#2b2f37", "#ef6b73", "#8fce7e", "#e8c268", "#6cb2f5", "#c792ea", "#62c9c4", "#c9ced8",
    "#7b8290", "#ff8b92", "#a9e29a", "#f5d78e", "#8fc7ff", "#d9b0f5", "#86e0db", "#ffffff",
)  # fmt: skip

SEQUENCE = re.compile(r"\x1b\[([0-9;:]*)([@-~])|\x1b\][^\x07\x1b]*(?:\x07|\x1b\\)|\x1b[()][A-Za-z0-9]|\x1b.")

# Block elements as rectangles (x, y, width, height in cells): a font would leave gaps between the rows.
_QUADRANTS = {"▘": "1", "▝": "2", "▖": "3", "▗": "4", "▀": "12", "▄": "34", "▌": "13", "▐": "24", "█": "1234"}
_QUADRANTS |= {"▛": "123", "▜": "124", "▙": "134", "▟": "234", "▚": "14", "▞": "23"}
_CORNER = {"1": (0.0, 0.0), "2": (0.5, 0.0), "3": (0.0, 0.5), "4": (0.5, 0.5)}
RULES = {"─": "", "━": "", "╌": "4 4.4", "┄": "3 2.6"}  # lines that run across cells, and how they are dashed


@dataclass(frozen=True)
class Style:
    ink: str = ""
    paper: str = ""
    bold: bool = False
    dim: bool = False
    italic: bool = False
    underline: bool = False
    inverse: bool = False


@dataclass(frozen=True)
class Cell:
    column: int
    text: str
    style: Style


@dataclass
class Screen:
    title: str
    rows: list[list[Cell]] = field(default_factory=list)

    @property
    def columns(self) -> int:
        return max((cell.column + _width(cell.text) for row in self.rows for cell in row), default=0)


def read_screen(text: str, title: str) -> Screen:
    """The cells of a captured screen; blank lines above and below everything are left out."""
    style = Style()
    rows: list[list[Cell]] = []
    for line in text.rstrip("\n").split("\n"):
        row: list[Cell] = []
        column = at = 0
        for found in SEQUENCE.finditer(line):
            column = _write(row, line[at : found.start()], column, style)
            if found[2] == "m":
                style = _styled(style, found[1])
            at = found.end()
        _write(row, line[at:], column, style)
        while row and row[-1].text == " " and not row[-1].style.paper and not row[-1].style.inverse:
            row.pop()
        rows.append(row)
    while rows and not rows[-1]:
        rows.pop()
    while rows and not rows[0]:
        del rows[0]
    return Screen(title, rows)


def _write(row: list[Cell], text: str, column: int, style: Style) -> int:
    for letter in text:
        if combining(letter) and row:
            row[-1] = replace(row[-1], text=row[-1].text + letter)
        elif letter.isprintable() or letter == "\u00a0":
            row.append(Cell(column, letter, style))
            column += _width(letter)
    return column


def _width(letter: str) -> int:
    return 2 if east_asian_width(letter[0]) in "WF" else 1


def _styled(style: Style, said: str) -> Style:
    """The style after one `ESC [ … m`."""
    codes = iter([int(code or 0) for code in re.split("[;:]", said or "0")])
    for code in codes:
        match code:
            case 0:
                style = Style()
            case 1:
                style = replace(style, bold=True)
            case 2:
                style = replace(style, dim=True)
            case 3:
                style = replace(style, italic=True)
            case 4:
                style = replace(style, underline=True)
            case 7:
                style = replace(style, inverse=True)
            case 22:
                style = replace(style, bold=False, dim=False)
            case 23:
                style = replace(style, italic=False)
            case 24:
                style = replace(style, underline=False)
            case 27:
                style = replace(style, inverse=False)
            case 38:
                style = replace(style, ink=_extended(codes))
            case 39:
                style = replace(style, ink="")
            case 48:
                style = replace(style, paper=_extended(codes))
            case 49:
                style = replace(style, paper="")
            case _ if 30 <= code <= 37 or 90 <= code <= 97:
                style = replace(style, ink=NAMED[code - 30 if code < 90 else code - 82])
            case _ if 40 <= code <= 47 or 100 <= code <= 107:
                style = replace(style, paper=NAMED[code - 40 if code < 100 else code - 92])
            case _:
                continue
    return style


def _extended(codes: Iterator[int]) -> str:
    """The colour behind 38 or 48: one of 256, or red, green and blue."""
    if next(codes, 0) == 2:
        return "#" + "".join(f"{min(next(codes, 0), 255):02x}" for _ in range(3))
    number = next(codes, 0)
    if number < 16:
        return NAMED[number]
    if number < 232:
        steps = (0, 95, 135, 175, 215, 255)
        red, green, blue = (steps[(number - 16) // part % 6] for part in (36, 6, 1))
        return f"#{red:02x}{green:02x}{blue:02x}"
    grey = 8 + 10 * (min(number, 255) - 232)
    return f"#{grey:02x}{grey:02x}{grey:02x}"


def draw(screens: list[Screen], about: str) -> str:
    """The whole picture; `about` is read to those who cannot see it."""
    columns = max(screen.columns for screen in screens)
    width = columns * CELL_W + 2 * PAD + 2 * MARGIN
    heights = [BAR + len(screen.rows) * CELL_H + 2 * PAD - 4 for screen in screens]
    height = sum(heights) + GAP * (len(screens) - 1) + 2 * MARGIN
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{width:g}" height="{height:g}" '
        f'viewBox="0 0 {width:g} {height:g}" role="img" font-family="{escape(FONT)}" font-size="{SIZE}">',
        f"<title>{escape(about)}</title>",
    ]
    top = MARGIN
    for screen, tall in zip(screens, heights, strict=True):
        parts += window(screen, top, width - 2 * MARGIN, tall)
        top += tall + GAP
    return "\n".join([*parts, "</svg>", ""])


def window(screen: Screen, top: float, width: float, height: float) -> list[str]:
    x = MARGIN
    parts = [
        f'<rect x="{x:g}" y="{top:g}" width="{width:g}" height="{height:g}" rx="10" fill="{PAPER}" '
        f'stroke="{EDGE}"/>',
        f'<path d="M{x:g} {top + BAR:g}v-{BAR - 10:g}a10 10 0 0 1 10-10h{width - 20:g}a10 10 0 0 1 10 10'
        f'v{BAR - 10:g}z" fill="{BAR_PAPER}" stroke="{EDGE}"/>',
    ]
    middle = top + BAR / 2
    parts += [
        f'<circle cx="{x + 18 + 19 * n:g}" cy="{middle:g}" r="5.5" fill="{dot}"/>' for n, dot in enumerate(DOTS)
    ]
    parts.append(
        f'<text x="{x + width / 2:g}" y="{middle + 4.5:g}" fill="{TITLE_INK}" font-size="13" '
        f"font-family=\"system-ui,-apple-system,'Segoe UI','DejaVu Sans',sans-serif\" text-anchor=\"middle\">"
        f"{escape(screen.title)}</text>"
    )
    rows = [_row(row, x + PAD, top + BAR + PAD - 2 + n * CELL_H) for n, row in enumerate(screen.rows)]
    # All backgrounds first: one of a lower row must not cover what reaches down from the row above.
    return [
        *parts,
        *(paper for papers, _ in rows for paper in papers),
        *(mark for _, marks in rows for mark in marks),
    ]


def _row(row: list[Cell], left: float, top: float) -> tuple[list[str], list[str]]:
    """The backgrounds, and what stands on them, in runs of one style."""
    papers: list[str] = []
    marks: list[str] = []
    for (style, kind), run in groupby(row, key=lambda cell: (cell.style, _kind(cell.text))):
        cells = list(run)
        ink, paper = style.ink or INK, style.paper
        if style.inverse:
            ink, paper = paper or PAPER, ink
        x = left + cells[0].column * CELL_W
        wide = sum(_width(cell.text) for cell in cells) * CELL_W
        if paper:
            papers.append(f'<rect x="{x:.1f}" y="{top:g}" width="{wide:.1f}" height="{CELL_H:g}" fill="{paper}"/>')
        faint = ' opacity="0.6"' if style.dim else ""
        match kind:
            case "text":
                marks += _text(cells, left, top, ink, style, faint)
            case "elbow":
                marks += [_elbow(cell, left, top, ink, faint) for cell in cells]
            case "block":
                marks += [mark for cell in cells for mark in _block(cell, left, top, ink, faint)]
            case dashes:
                y = top + CELL_H / 2
                dash = f' stroke-dasharray="{RULES[dashes]}"' if RULES[dashes] else ""
                marks.append(f'<path d="M{x:.1f} {y:g}h{wide:.1f}" stroke="{ink}"{dash}{faint}/>')
    return papers, marks


def _kind(letter: str) -> str:
    if letter == "⎿":
        return "elbow"
    return letter if letter in RULES else "block" if letter in _QUADRANTS else "text"


def _text(cells: list[Cell], left: float, top: float, ink: str, style: Style, faint: str) -> list[str]:
    """Words, each pinned to its columns: whatever font the reader has, the grid holds."""
    marks: list[str] = []
    looks = ' font-weight="600"' if style.bold else ""
    looks += ' font-style="italic"' if style.italic else ""
    looks += ' text-decoration="underline"' if style.underline else ""
    for blank, run in groupby(cells, key=lambda cell: cell.text in " \u00a0"):
        word = list(run)
        if blank:
            continue
        x, y = left + word[0].column * CELL_W, top + CELL_H * 0.72
        wide = sum(_width(cell.text) for cell in word) * CELL_W
        said = escape("".join(cell.text for cell in word), quote=False)
        marks.append(
            f'<text x="{x:.1f}" y="{y:g}" textLength="{wide:.1f}" lengthAdjust="spacingAndGlyphs" '
            f'fill="{ink}"{looks}{faint}>{said}</text>'
        )
    return marks


def _elbow(cell: Cell, left: float, top: float, ink: str, faint: str) -> str:
    """The corner that agents put before a result; many fonts do not have it."""
    x, y = left + (cell.column + 0.3) * CELL_W, top + CELL_H * 0.15
    path = f"M{x:.1f} {y:.1f}v{CELL_H * 0.42:.1f}h{CELL_W * 0.7:.1f}"
    return f'<path d="{path}" fill="none" stroke="{ink}"{faint}/>'


def _block(cell: Cell, left: float, top: float, ink: str, faint: str) -> Iterator[str]:
    for quadrant in _QUADRANTS[cell.text]:
        across, down = _CORNER[quadrant]
        x, y = left + (cell.column + across) * CELL_W, top + down * CELL_H
        # Whole pixels, and a hair larger than its quarter: neighbours then meet without a seam.
        yield (
            f'<rect x="{x:.1f}" y="{y:.1f}" width="{CELL_W / 2 + 0.5:.1f}" height="{CELL_H / 2 + 0.5:.1f}" '
            f'fill="{ink}" shape-rendering="crispEdges"{faint}/>'
        )


def main(words: list[str]) -> int:
    screens: list[Screen] = []
    title, about = "", "A terminal"
    rest = iter(words)
    for word in rest:
        if word == "--title":
            title = next(rest, "")
        elif word == "--about":
            about = next(rest, "")
        elif word.startswith("-"):
            print((__doc__ or "").strip(), file=sys.stderr)
            return 2
        else:
            screens.append(read_screen(Path(word).read_text(encoding="utf-8"), title))
    if not screens:
        print((__doc__ or "").strip(), file=sys.stderr)
        return 2
    sys.stdout.write(draw(screens, about))
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
