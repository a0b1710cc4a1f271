"""What package managers do.

Rule: they install what is named from where it usually comes; an address, another registry, a folder elsewhere or a
script makes it `unknown`.
"""

from __future__ import annotations

import re

from yourcall.rules.effects import table
from yourcall.rules.effects.options import spec, understood
from yourcall.rules.effects.parts import Effect, secret_path
from yourcall.rules.shell.words import Word

# Where something comes from, alone or behind a name: `x@file:../y`, `x @ git+ssh:…`, `x@../y`, `github:a/b`.
_FROM = re.compile(r"://|(?:^|[@=\s])(?:/|~|\.\.)|(?:^|[@=\s])(?:git[+@]|[a-z]+:)|/\.\.(?:/|$)", re.IGNORECASE)
# `npm install a/b` takes it from GitHub; `@a/b` is a package, `./a/b` a folder.
_HOSTED = re.compile(r"(?:@?[^@]+@)?[^@./][^@/]*/[^/]+")
# They only tell what is installed.
_LOOKS = {
    "npm": ("ls", "list", "ll", "la", "why", "explain", "root", "prefix"),
    "pip": ("list", "show"),
    "pip3": ("list", "show"),
}
_PIP = spec("-lqfv --local --not-required --format= --verbose --files --quiet")
_LOOK_OPTIONS = {
    "npm": spec("-agl --all --global --depth= --json --long --parseable --omit= --prod --production --dev --link"),
    "pip": _PIP,
    "pip3": _PIP,
}
_JAVASCRIPT = ("npm", "pnpm", "yarn", "bun")


def packages(name: str, known: list[str], effects: set[Effect]) -> None:
    """A package manager installs, or runs somebody's scripts; from where, its options may say."""
    verbs = [value for value in known if not value.startswith("-")]
    first = verbs[0] if verbs else ""
    if known and known[0] in _LOOKS.get(name, ()):
        effects.add("read" if understood(_LOOK_OPTIONS[name], [Word(v, v) for v in known[1:]]) else "unknown")
        return
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
