"""A rule's `command`, held against the words of a command.

Rule: the words that a rule names stand in their places; of a program that nobody here knows, further words may
neither be options nor lead elsewhere.
"""

from __future__ import annotations

import re
from functools import lru_cache

from yourcall.rules.effects.commands import parts_of
from yourcall.rules.effects.known_files import reserved_path
from yourcall.rules.effects.parts import Effect, Effects, Part
from yourcall.rules.effects.table import HOW, READERS, TARGETED, WRITERS
from yourcall.rules.effects.table import words as programs
from yourcall.rules.shell.items import Unread


@lru_cache(maxsize=4096)
def words(pattern: str) -> tuple[str, ...]:
    """`git commit -m *` as words; quotes keep blanks together."""
    items = re.findall(r"\"([^\"]*)\"|'([^']*)'|(\S+)", pattern)
    return tuple(next((each for each in group if each), "") for group in items)


@lru_cache(maxsize=4096)
def usual(pattern: str) -> Effects:
    """What the bare command does: a rule for `git log` must not allow `git log --output=…`."""
    texts = words(pattern)
    bare = " ".join("'anything'" if word == "*" else _quoted(word) for word in texts)
    parts = parts_of(bare)
    if isinstance(parts, Unread) or len([p for p in parts if p.kind == "command"]) != 1:
        return frozenset({"unknown"})
    effects: set[Effect] = set(parts[0].effects)
    for ref in parts[0].refs:  # paths that are named in a rule are meant to lie in the project
        match ref.use:
            case "read" | "sweep":
                effects.add("read")
            case "write":
                effects.add("write_inside")
            case _:
                pass
    program = parts[0].argv[0] if parts[0].argv else ""
    untold = program in WRITERS and not any(ref.use == "write" for ref in parts[0].refs)
    if untold or (program in _TABLED and all(word == "*" for word in texts[1:])):
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
    argv = part.argv
    if "unknown" in part.effects and argv[0] in _HOW_FIRST and not whole and not _stand(wanted, argv):
        # `make -j4 test` is `make test`: the options that only say how may stand anywhere.
        plain, values = _plain_words(argv[0] or "", list(argv[1:]))
        if all(_tame(value) for value in values):
            argv = (argv[0], *plain)
    if len(argv) < len(wanted) or (whole and len(argv) != len(wanted)) or not _stand(wanted, argv):
        return False
    return "unknown" not in part.effects or _all_tame(wanted, argv)


# To these, such an option is the same before the first word; `pnpm -w x test` runs x.
_HOW_FIRST = frozenset({"make", "cargo", "npm", "pytest", "go"})


def _stand(wanted: tuple[str, ...], argv: tuple[str | None, ...]) -> bool:
    return all(w == "*" or w == got for w, got in zip(wanted, argv, strict=False))


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
    runner = max((at for at, word in enumerate(wanted) if word in TARGETED), default=len(wanted))
    if runner < len(wanted) - 1 and _plain_words(argv[0] or "", list(argv[len(wanted) :]))[0]:
        return False  # `make test deploy`: a rule for one thing to do is none for the next
    behind = [word or "" for word in more[own:]]
    return all(_tame(word or "") for word in free + more[:own]) and all(
        _near(word) and not _loads(word) for word in behind
    )


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


def _plain_words(program: str, rest: list[str | None]) -> tuple[list[str | None], list[str]]:
    """The words without the options that only say how, and the values of those."""
    flags, valued = HOW.get(program, (frozenset[str](), frozenset[str]()))
    plain: list[str | None] = []
    values: list[str] = []
    while rest:
        word = rest.pop(0) or ""
        if word == "--":
            return [*plain, word, *rest], values
        option, sign, value = word.partition("=")
        if word in flags or (word[:2] in valued and word[2:].isdecimal()):
            continue
        if option in ("-j", "--jobs") and not sign and not (rest and (rest[0] or "").isdecimal()):
            continue  # `make -j deploy test`: without a number it takes no word
        if option in valued and (sign or rest):
            values.append(value if sign else rest.pop(0) or "")
        else:
            plain.append(word)
    return plain, values


def _tame(word: str) -> bool:
    """No option (`npm test --prefix /x` runs other scripts), no setting (`make SHELL=x`), nothing elsewhere."""
    return not word.startswith(("-", "+")) and "=" not in word and _near(word)


def _loads(word: str) -> bool:
    """Behind a `--`: is it an option that runs what it is told, or a file that is obeyed, to be written?"""
    option, sign, value = word.partition("=")
    if reserved_path(value if sign else word):
        return True
    plain = option.replace("-", "").lower() if option.startswith("--") else option[:2]
    return option.startswith("-") and plain in _LOADING


# `node --test -e 'code'`, `mocha -r x`, `nodemon --exec x`, `--import=data:…`; or lets others in (`--inspect`).
_LOADING = frozenset(
    {"-e", "-r", "-x", "eval", "print", "exec", "require", "import", "loader", "experimentalloader", "shell"}
    | {
        "command",
        "inspect",
        "inspectbrk",
        "inspectport",
        "host",
        "api",
        "nodearguments",
        "nodeoptions",
        "execargv",
    }
)


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
# is to make, what `just` is told, and what `ssh` runs elsewhere, stands in that text as it is.
_EXPANDED = re.compile(r"`|\$[({]|\n")
_PASTED = re.compile(r"[^\w./:%+,@=-]")
_PASTERS = programs(
    "make gmake just task go-task ssh slogin autossh mosh adb watch watchexec entr reflex nodemon concurrently "
    "onchange parallel su script screen tmux expect vagrant heroku fly flyctl gcloud wsl fab invoke inv rake doit "
    "hatch poe pdm mise bun lerna nx turbo run-s run-p npm-run-all"
)


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
