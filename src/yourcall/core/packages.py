"""What package managers do.

Rule: they install what is named from where it usually comes; an address, another registry, a folder elsewhere or a
script makes it `unknown`.
"""

from __future__ import annotations

import re

from yourcall.core import effects_table as table
from yourcall.core.effects import Effect, secret_path

# Where something comes from, alone or behind a name: `x@file:../y`, `x @ git+ssh:…`, `x@../y`, `github:a/b`.
_FROM = re.compile(r"://|(?:^|[@=\s])(?:/|~|\.\.)|(?:^|[@=\s])(?:git[+@]|[a-z]+:)|/\.\.(?:/|$)", re.IGNORECASE)
# `npm install a/b` takes it from GitHub; `@a/b` is a package, `./a/b` a folder.
_HOSTED = re.compile(r"(?:@?[^@]+@)?[^@./][^@/]*/[^/]+")
_JAVASCRIPT = ("npm", "pnpm", "yarn", "bun")


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
    if name in _JAVASCRIPT and any(_HOSTED.fullmatch(value) for value in verbs):
        effects.add("unknown")


def _package(word: str) -> bool:
    """A name, or an option that only says how; no address, no folder elsewhere."""
    if word.startswith("-"):
        return word.split("=", 1)[0] in table.INSTALL_OPTIONS
    return _FROM.search(word) is None and not secret_path(word)
