"""What a device may do: read, answer, steer, rules, admin.

Rule: each route names the one scope that it needs; a device has the scopes that were given to it at the machine,
and no route on the network gives it more.
"""

from __future__ import annotations

from collections.abc import Collection
from typing import Literal, get_args

Scope = Literal["read", "answer", "steer", "rules", "admin"]

ALL: tuple[Scope, ...] = get_args(Scope)

# A script is given what most of them need. Whoever paired a phone with a code from the desk is the owner.
FOR_SCRIPT: tuple[Scope, ...] = ("read", "answer")
FOR_PHONE: tuple[Scope, ...] = ("read", "answer", "steer", "rules")

MEANING: dict[Scope, str] = {
    "read": "see prompts, sessions, rules and the history",
    "answer": "answer prompts, and raise questions of its own",
    "steer": "give instructions, press keys, start and stop sessions, send files",
    "rules": "make and remove rules, pause and resume them",
    "admin": "rename and revoke devices",
}


def in_order(given: Collection[str]) -> tuple[Scope, ...]:
    """The known ones among these, each once, in the usual order."""
    return tuple(scope for scope in ALL if scope in given)


def stored(scopes: Collection[str]) -> str:
    return ",".join(in_order(scopes))


def refusal(name: str, has: Collection[str], needed: Scope) -> str:
    """Why not, and how the owner can change that."""
    more = stored({*has, needed})
    now = ", ".join(in_order(has)) or "nothing"
    return (
        f"This device may not do this: it needs `{needed}` ({MEANING[needed]}), and has: {now}. "
        f"At the machine itself: yourcall devices scope {_quoted(name)} {more}"
    )


def _quoted(name: str) -> str:
    import shlex

    return shlex.quote(name)
