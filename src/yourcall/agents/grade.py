"""How far an agent is understood: which kinds of prompt are noticed, answered and confirmed, and how.

Rule: an agent's own folder declares it, and only what a test with the real program has shown; what is empty is not
done. `yourcall agents` prints it.
"""

from __future__ import annotations

from msgspec import Struct

from yourcall.model import Kind


class Reach(Struct, frozen=True):
    """By what a prompt of one kind is noticed, how an answer goes, and what confirms it; '' is not at all."""

    noticed: str
    answered: str = ""
    confirmed: str = ""


class Grade(Struct, frozen=True):
    """`tested`: the versions of the CLI that the tests drive. `needs`: what this much asks for."""

    cli: str
    tested: tuple[str, ...]
    kinds: dict[Kind, Reach]
    needs: str = ""
