"""Ids made from what they name, so that the same request, told again or read again, has the same one.

Rule: nothing random; short enough to be read aloud and typed.
"""

from __future__ import annotations

import hashlib

# The letters of every prompt's id, here and in the hook program: read aloud and typed without a mistake.
LETTERS = "abcdefghjkmnpqrstuvwxyz23456789"


def derived_id(*parts: str) -> str:
    """A prompt's id: the same for the same request, told again or read again."""
    digest = hashlib.sha256("\0".join(parts).encode("utf-8", "replace")).digest()
    return "".join(LETTERS[byte % len(LETTERS)] for byte in digest[:10])
