"""Wrap the prose of the docs at 100 columns.

    python tools/wrap_docs.py            rewrites the pages
    python tools/wrap_docs.py --check    names the pages that are out of shape, and exits 1

Rule: what a page renders to never changes. Code blocks, tables, headings, HTML and generated parts stay as is.
"""

from __future__ import annotations

import re
import sys
from pathlib import Path

ROOT = Path(__file__).parent.parent
PAGES = sorted([*ROOT.glob("*.md"), *(ROOT / "docs").rglob("*.md")])
WIDTH = 100
FENCE = re.compile(r" *(```|~~~)")
ITEM = re.compile(r"( *)((?:[-*+]|\d+[.)]) +)(.*)")
AS_IT_IS = re.compile(r" *(#{1,6} |\||<|>|\[[^\]]+\]: |(?:-{3,}|={3,}|\*{3,})\s*$)")
# A word that would mean something else at the start of a line.
MEANS_MORE = re.compile(r"(?:[-*+]+|=+|#{1,6}|\d+[.)])$|[>|<]|```|~~~|\[[^\]]+\]:$")
# Inline code and a link's target are not broken apart.
WORD = re.compile(r"(?:``.*?``|`[^`]*`|\]\([^)]*\)|\S)+")


def wrapped(text: str) -> str:
    """The page with its paragraphs and list items filled."""
    lines: list[str] = []
    paragraph: list[str] = []
    first = rest = ""  # what a paragraph's first line begins with, and the others
    fence = generated = ""

    def flush() -> None:
        nonlocal first, rest
        if paragraph:
            lines.extend(filled(" ".join(paragraph), first, rest))
            paragraph.clear()
        first = rest = ""

    for line in text.split("\n"):
        opening = FENCE.match(line)
        if "<!-- generated" in line or (generated and "<!-- end -->" in line):
            flush()
            generated = "" if "<!-- end -->" in line else "generated"
            lines.append(line)
        elif opening and not generated and fence in ("", opening.group(1)):
            flush()
            fence = "" if fence else opening.group(1)
            lines.append(line)
        elif fence or generated or not line.strip() or AS_IT_IS.match(line):
            flush()
            lines.append(line)
        elif (item := ITEM.fullmatch(line)) and (first or not paragraph):
            flush()
            first = item.group(1) + item.group(2)
            rest = " " * len(first)
            paragraph.append(item.group(3))
        else:
            if not paragraph:
                first = rest = line[: len(line) - len(line.lstrip())]
            paragraph.append(line.strip())
            if line.endswith(("  ", "\\")):  # a line break that is meant
                lines.extend(filled(" ".join(paragraph), first, rest))
                lines[-1] += "  " if line.endswith("  ") else ""
                paragraph.clear()
                first = rest
    flush()
    return "\n".join(lines)


def filled(text: str, first: str, rest: str) -> list[str]:
    lines, line = [], first
    for word in WORD.findall(text):
        empty = line in (first, rest) and (not lines or line == rest)
        if not empty and len(line) + 1 + len(word) > WIDTH and not MEANS_MORE.match(word):
            lines.append(line)
            line = rest + word
        else:
            line += word if empty else " " + word
    return [*lines, line]


def main() -> int:
    pages = {page: (text := page.read_text("utf-8"), wrapped(text)) for page in PAGES}
    off = {page: new for page, (text, new) in pages.items() if text != new}
    if "--check" in sys.argv:
        print("".join(f"{page.relative_to(ROOT)}\n" for page in off), end="")
        return bool(off)
    for page, new in off.items():
        page.write_text(new, "utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
