"""What package managers do.

Rule: they install what is named from where it usually comes; an address, another registry, a folder elsewhere or a
script makes it `unknown`.
"""

from __future__ import annotations

from yourcall.core import effects_table as table
from yourcall.core.effects import Effect, secret_path


def packages(name: str, known: list[str], effects: set[Effect]) -> None:
    """A package manager installs, or runs somebody's scripts; from where, its options may say."""
    verbs = [value for value in known if not value.startswith("-")]
    first = verbs[0] if verbs else ""
    bare = not verbs and name in ("npm", "yarn", "pnpm", "bun")
    if not bare and first not in table.PACKAGES[name]:
        effects |= {"unknown"}
        if set(verbs) & table.PACKAGES[name] and known[:1] != verbs[:1]:
            effects |= {"install", "network"}  # behind an option with a value
        return
    effects |= {"install", "network"}
    if first in table.RUNNING_VERBS or not all(_package(value) for value in known):
        effects.add("unknown")


def _package(word: str) -> bool:
    """A name, or an option that only says how; no address, no folder elsewhere."""
    if word.startswith("-"):
        return word.split("=", 1)[0] in table.INSTALL_OPTIONS
    named = "://" in word or word.startswith(("/", "~", "..", "git+", "git@", "file:"))
    return not named and not secret_path(word)
