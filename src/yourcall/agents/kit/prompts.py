"""What the prompts of all agents share: ids that can be derived again, and how much of a long text is shown.

Rule: nothing random. What is cut says so; the whole of it stays in the request."""

from __future__ import annotations

import hashlib

# The letters of every prompt's id, here and in the hook program: read aloud and typed without a mistake.
LETTERS = "abcdefghjkmnpqrstuvwxyz23456789"


def derived_id(*parts: str) -> str:
    """A prompt's id: the same for the same request, told again or read again."""
    digest = hashlib.sha256("\0".join(parts).encode("utf-8", "replace")).digest()
    return "".join(LETTERS[byte % len(LETTERS)] for byte in digest[:10])


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
