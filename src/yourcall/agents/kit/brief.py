"""How much of a long text a prompt shows: one line in a list, so many letters in a card, and how much is left out.

Rule: what is cut says so. The whole of it stays in the request, for whoever asks.
"""

from __future__ import annotations

LONGEST_TITLE = 200
LONGEST_BODY = 20_000


def line(text: str, otherwise: str = "") -> str:
    """One line for a list."""
    lines = text.strip().splitlines() or [otherwise]
    more = " …" if len(lines) > 1 or len(lines[0]) > LONGEST_TITLE else ""
    return lines[0][:LONGEST_TITLE] + more


def cut(text: str) -> str:
    if len(text) <= LONGEST_BODY:
        return text
    return text[:LONGEST_BODY] + f"\n… {len(text) - LONGEST_BODY:,} more characters (in the request)"


def paragraphs(*parts: str) -> str:
    return cut("\n\n".join(part for part in parts if part.strip()))
