"""A rule's `command`, held against the words of a command.

Rule: the words that a rule names stand in their places; of a program that nobody here knows, further words may
neither be options nor lead elsewhere.
"""

from __future__ import annotations

import re
from functools import lru_cache

from yourcall.core.commands import parts_of
from yourcall.core.effects import Effect, Effects, Part
from yourcall.core.effects_table import HOW, READERS, WRITERS
from yourcall.core.shell_items import Unread


@lru_cache(maxsize=4096)
def words(pattern: str) -> tuple[str, ...]:
    """`git commit -m *` as words; quotes keep blanks together."""
    found = re.findall(r"\"([^\"]*)\"|'([^']*)'|(\S+)", pattern)
    return tuple(next((each for each in group if each), "") for group in found)


@lru_cache(maxsize=4096)
def usual(pattern: str) -> Effects:
    """What the bare command does: a rule for `git log` must not allow `git log --output=…`."""
    said = words(pattern)
    bare = " ".join("'anything'" if word == "*" else _quoted(word) for word in said)
    found = parts_of(bare)
    if isinstance(found, Unread) or len([p for p in found if p.kind == "command"]) != 1:
        return frozenset({"unknown"})
    effects: set[Effect] = set(found[0].effects)
    for ref in found[0].refs:  # paths that are named in a rule are meant to lie in the project
        match ref.use:
            case "read" | "sweep":
                effects.add("read")
            case "write":
                effects.add("write_inside")
            case _:
                pass
    program = found[0].argv[0] if found[0].argv else ""
    untold = program in WRITERS and not any(ref.use == "write" for ref in found[0].refs)
    if untold or (program in _TABLED and all(word == "*" for word in said[1:])):
        effects -= {"unknown"}  # it is only not known yet what it is told
    if effects & {"read", "delete"} or not effects:
        effects.add("read")
    if untold:
        effects |= {"write_inside", "read"}
    return frozenset(effects)


# They do more than read, or fetch, only if their words say so.
_TABLED = frozenset([*READERS, "sed", "awk", "gawk", "mawk", "find", "curl", "wget", "gh", "git"])


def _quoted(word: str) -> str:
    return "'" + word.replace("'", "'\\''") + "'"


def begins(pattern: str, part: Part, whole: bool) -> bool:
    """The words of the pattern, in their places; further ones are allowed unless it is `whole`. All are known."""
    wanted = words(pattern)
    if part.kind != "command" or len(part.argv) < len(wanted) or None in part.argv:
        return False
    if "unknown" in part.effects and not _all_tame(wanted, part.argv):
        return False
    if whole and len(part.argv) != len(wanted):
        return False
    return all(w == "*" or w == got for w, got in zip(wanted, part.argv, strict=False))


def _all_tame(wanted: tuple[str, ...], argv: tuple[str | None, ...]) -> bool:
    """Of a program that nobody here knows: the words that the rule does not name."""
    free = [got for w, got in zip(wanted, argv, strict=False) if w == "*"]
    more = _without_how(argv[0] or "", list(argv[len(wanted) :]))
    own = more.index("--") if "--" in more else len(more)
    if argv[0] == "tar" and wanted[1:2] in ((), ("*",)):
        return False  # its first word is options without a dash: `tar xIf sh a.tar` runs sh
    shell = _PASTED if argv[0] in _PASTERS else _EXPANDED
    if any(shell.search(word or "") for word in free + more):
        return False
    return all(_tame(word or "") for word in free + more[:own]) and all(_near(word or "") for word in more[own:])


def _without_how(program: str, more: list[str | None]) -> list[str | None]:
    """What is left without the options that only say how (`pytest -q`); their values must be tame themselves."""
    flags, valued = HOW.get(program, (frozenset[str](), frozenset[str]()))
    left: list[str | None] = []
    rest = list(more)
    while rest:
        word = rest.pop(0) or ""
        if word == "--":
            return [*left, word, *rest]
        option, sign, value = word.partition("=")
        if word in flags or (word[:2] in valued and word[2:].isdecimal()):
            continue
        if option in valued and (sign or rest):
            left.append(value if sign else rest.pop(0))
        else:
            left.append(word)
    return left


def _tame(word: str) -> bool:
    """No option (`npm test --prefix /x` runs other scripts), no setting (`make SHELL=x`), nothing elsewhere."""
    return not word.startswith(("-", "+")) and "=" not in word and _near(word)


def _near(word: str) -> bool:
    """Nothing that lies elsewhere, no file of further words (`@x`), no pattern that may become an option."""
    return _FAR.match(word) is None


# `-c/x` is an option and its value; `{"setup":"/x"}` and `--require /x` are settings that tools take in one word.
_FAR = re.compile(
    r"(?:.*[=:,\"']|-[^\W\d_]+)?(?:/|~|\.\.(?:/|$))|.*\s(?:/\w|~/|\.\./)|.*/\.\.(?:/|$)|.*://"
    r"|@|.*\w@\w|[*?\[]|[A-Za-z_]\w*[:+?!]*=",
    re.DOTALL,
)


# Some hand words on in a text for a shell: npm, up to 8.12, and pnpm put them in double quotes there; what `make`
# is to make, and what `just` is told, may stand in their recipes as it is.
_EXPANDED = re.compile(r"`|\$[({]|\n")
_PASTED = re.compile(r"[^\w./:%+,@=-]")
_PASTERS = frozenset({"make", "gmake", "just"})


def contains(pattern: str, part: Part) -> bool:
    """The program (`*`: any), and then the pattern's other words in their order, whatever stands between them."""
    wanted = words(pattern)
    if part.kind != "command" or not part.argv or wanted[0] not in ("*", part.argv[0]):
        return False
    rest = iter(part.argv[1:])
    return all(any(w == "*" or w == got for got in rest) for w in wanted[1:])


def names_file(pattern: str) -> bool:
    """`./run.sh`, `python tools/x.py`: what runs depends on the folder."""
    return any("/" in word or "." in word for word in words(pattern))
