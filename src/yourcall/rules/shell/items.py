"""What a shell command is made of, and where each piece of it would run.

Rule: a place is a folder as written from where the script starts; where `cd` may or may not have happened, all
possible ones are kept, and None where nobody knows.
"""

from __future__ import annotations

from msgspec import Struct

from yourcall.rules.shell.words import Word

# Where a command may run, written from the folder the script starts in; None: nobody knows.
Places = tuple[str | None, ...]

HERE: Places = (".",)
# `cd` in one branch or another: more possibilities than this are as good as unknown.
MOST_PLACES = 6


class Assign(Struct, frozen=True):
    """`NAME=value`. `lasting`: for the rest of the script; else for one command."""

    name: str
    value: Word
    lasting: bool


class Redirect(Struct, frozen=True):
    op: str
    target: Word
    places: Places = HERE


class Simple(Struct, frozen=True):
    """One command with its words. `piped`: it reads what another one writes; `source`: the words of that one, if
    nothing else writes there."""

    words: tuple[Word, ...]
    text: str
    places: Places = HERE
    piped: bool = False
    source: tuple[Word, ...] = ()


class Test(Struct, frozen=True):
    """`[ … ]` or `[[ … ]]`; `plain`: it only compares. `words` are what it looks at."""

    text: str
    plain: bool
    words: tuple[Word, ...] = ()
    places: Places = HERE


Item = Simple | Redirect | Assign | Test


class Script(Struct, frozen=True):
    """`loops`: what stands further down may have run before."""

    items: tuple[Item, ...]
    loops: bool = False


class Unread(Struct, frozen=True):
    """It could not be taken apart for sure; `why` goes into a sentence."""

    why: str


class After(Struct, frozen=True):
    """Where the shell may stand when a statement went well, and in any case."""

    ok: Places
    any: Places


# They move the shell, or may run something that does.
_MOVERS = frozenset({"cd", "pushd", "popd", "eval", "source", ".", "builtin", "command", "time"})


def moved(simple: Simple) -> After:
    """`cd` and its like: where the following commands run."""
    places = simple.places
    name = simple.words[0].value
    still = After(places, places)
    if name is not None and name not in _MOVERS:
        return still
    lost = After((None,), (None,))
    if name != "cd":
        # `command -v x` moves nobody; whatever else may run `cd` under another name.
        inner = simple.words[1].value if len(simple.words) > 1 else None
        asks = inner in ("-v", "-V")
        other = inner is not None and inner not in _MOVERS and not inner.startswith("-")
        return still if name == "command" and (asks or other) else lost
    target = list(simple.words[1:])
    if target and target[0].value == "--":
        target = target[1:]
    if not target:
        to: str | None = "~"
    elif len(target) > 1 or target[0].glob or not target[0].value or target[0].value.startswith("-"):
        return lost
    elif target[0].value.startswith("~") and not target[0].tilde:
        to = "./" + target[0].value
    else:
        to = target[0].value
    there = tuple(dict.fromkeys(under(place, to) for place in places))
    return After(there, both(places, there))


def under(place: str | None, path: str) -> str | None:
    """A path as it is meant from a place; `~` and `/` are the same everywhere."""
    if path.startswith(("/", "~/")) or path == "~":
        return path
    return None if place is None else path if place == "." else f"{place}/{path}"


def both(one: Places, other: Places) -> Places:
    together = tuple(dict.fromkeys((*one, *other)))
    return (None,) if None in together or len(together) > MOST_PLACES else together
