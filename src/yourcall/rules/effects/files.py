"""What programs that write the paths they are told do: cp, mv, mkdir, touch, chmod and their like.

Rule: where a copy lands is a path of its own (`cp a/.x .` writes `./.x`); an option that could name another one
(a suffix, a folder to fill) makes the command `unknown`.
"""

from __future__ import annotations

import re

from yourcall.rules.effects import options
from yourcall.rules.effects.arguments import dashed_files, refs_of, says
from yourcall.rules.effects.parts import Effect, Ref
from yourcall.rules.shell.items import Places, under
from yourcall.rules.shell.words import Word

_SETUID = re.compile(r"[+=][rwxXt]*s|^0*[2-7][0-7]{3}$")
_RECURSIVE = "-r -R -a --recursive --archive"
_SIZES = ("-a", "-b", "-C", "-l", "-n", "-t")  # of split: a value follows
_LINKS = "-P -d --no-dereference"  # a link is copied as the link it is
_PLAIN_COPY = re.compile(
    r"-[fiLHnpPruvRadxl]+|--(?:force|interactive|no-clobber|recursive|archive|verbose|update|dereference|no-dereference)"
)


def writes(name: str, args: list[Word], effects: set[Effect], refs: list[Ref], places: Places) -> list[str | None]:
    """What it makes grow: folders in which there may be anything after it."""
    if name == "cp":
        return _copies(args, effects, refs, places)
    refs += refs_of(args[1:] if name == "chmod" else args, "write", places)
    if name == "mv":
        into = says(args, "-t --target-directory")
        refs += refs_of(_plain(args) if into else _plain(args)[:-1], "carry", places)
    if not refs or not options.known(name, args) or (name in ("mv", "ln", "install") and dashed_files(args)):
        effects.add("unknown")
    if name == "ln" and any(".." in (word.value or "") for word in args):
        effects.add("unknown")  # a link's target is meant from where the link lies
    if name == "split" and any(each.use == "dashed" for each in refs):
        effects.add("unknown")  # it may be the beginning of the names that are written
    if name == "split" and len(_plain(_without_sizes(args))) > 1:
        effects.add("unknown")  # it makes names of a beginning: `.mcp.jso` and then, among others, an `n`
    if name == "chmod" and any(_SETUID.search(word.value or "") for word in args):
        effects.add("privilege")
    if name == "install" and any((word.value or "").startswith("-m") for word in args):
        effects.add("privilege")
    # A link of `ln` leads on from where it lies, which may be through another one.
    grows = _plain(args) if name in ("mv", "ln") else []
    if name == "ln" and len(grows) == 1:
        grows = [Word(end, end) for word in grows if (end := (word.value or "").rpartition("/")[2])]
    return [under(place, word.value or "") for word in grows for place in places]


def _without_sizes(args: list[Word]) -> list[Word]:
    return [word for at, word in enumerate(args) if not at or args[at - 1].value not in _SIZES]


def _plain(args: list[Word]) -> list[Word]:
    return [word for word in args if not (word.value or "").startswith("-")]


def _copies(args: list[Word], effects: set[Effect], refs: list[Ref], places: Places) -> list[str | None]:
    """What is copied is only read; the last one is written, or the folder of -t."""
    plain, deep = _plain(args), says(args, _RECURSIVE)
    refs += refs_of(args, "sweep" if deep else "read", places)
    if (
        len(plain) < 2
        or dashed_files(args)
        or not all(_PLAIN_COPY.fullmatch(word.value or "") for word in args if word not in plain)
    ):
        effects.add("unknown")
        refs += refs_of(args, "write", places)
        return [None]
    if says(args, "-l --link"):
        refs += refs_of(args, "write", places)  # the copy is the very same file: writing to it writes to both
    if deep and says(args, "-L --dereference"):
        effects.add("unknown")  # what links below it lead to is copied, wherever that is
    *sources, last = plain
    if last.glob:
        effects.add("unknown")  # where it finds nothing, or several, another word is the one that is written
    landing = [last]
    for word in sources:
        name = (word.value or "").rstrip("/").rpartition("/")[2]
        # `cp -r a/. b` fills b with whatever there is, dotfiles too; so does `a/` on a Mac.
        if deep and (name in ("", ".", "..") or (word.value or "").endswith("/")):
            effects.add("unknown")
        folder = (last.value or "").rstrip("/") or "/"
        landing.append(Word(last.text, f"{folder}/{name}", word.glob or last.glob, last.tilde))
        # By a pattern it keeps its name, which is told only where it lies: `cp a/.m* .` writes `./.mcp.json`.
        refs += refs_of([word] if word.glob else [], "write", places)
    if deep and any((word.value or "").casefold().endswith(".git") for word in sources):
        effects.add("unknown")  # a repository of its own, with whatever settings it has
    refs += refs_of(landing, "write", places)
    refs += [*refs_of(landing[1:], "merge", places), *refs_of(sources, "carry", places)] if deep else []
    grows = deep or says(args, _LINKS)
    return [under(place, last.value or "") for place in places] if grows else []
