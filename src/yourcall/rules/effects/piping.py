"""What `find` looks for and runs, and what `xargs` makes of what another program prints.

Rule: what comes through a pipe is never known, whatever an option says about where it goes (a later `-n` cancels
`-I`). Only files that `find`, `grep -rl` or `rg -l` print from folders that are named are known to be files there:
their names begin with that folder, and the edge looks whether one of them would be cut in two.
"""

from __future__ import annotations

import re

from msgspec import Struct
from msgspec.structs import replace

from yourcall.rules.effects.options import Spec, spec, understood
from yourcall.rules.shell.words import Found, Word

_FIND = spec(
    "-EHLPXsxd :-not :-a :-o :-and :-or :-print :-print0 :-prune :-quit :-empty :-ls :-depth :-xdev :-mount "
    ":-daystart :-true :-false :-readable :-writable :-executable :-nouser :-nogroup :-noleaf :-follow "
    ":-delete :-warn :-nowarn :-ignore_readdir_race :-noignore_readdir_race "
    ":-name= :-iname= :-path= :-ipath= :-wholename= :-iwholename= :-regex= :-iregex= :-regextype= :-type= "
    ":-xtype= :-size= :-newer= :-anewer= :-cnewer= :-newermt= :-newerct= :-newerat= :-mtime= :-mmin= :-atime= "
    ":-amin= :-ctime= :-cmin= :-maxdepth= :-mindepth= :-perm= :-user= :-group= :-uid= :-gid= :-links= :-inum= "
    ":-samefile= :-fstype= :-lname= :-ilname= :-printf= :-used= :-O1 :-O2 :-O3"
)
# A file is named, to be compared with.
_COMPARES = frozenset({"-samefile", "-newer", "-anewer", "-cnewer"})
RUNS = frozenset({"-exec", "-execdir", "-ok", "-okdir"})
WRITES = {"-fprint": 1, "-fprint0": 1, "-fls": 1, "-fprintf": 2}
# Of these an expression is more than the sum of its tests.
_LOGIC = frozenset({"-o", "-or", ",", "!", "-not", "(", ")", "-prune"})
_FOLLOWS = frozenset({"-L", "-H", "-follow"})
# They act on what the tests before them let through; a test behind them limits nothing.
_ACTS = frozenset({"-print", "-print0", "-ls", "-printf", "-delete", "-quit", *WRITES, *RUNS})
# With these, what is printed is something else than one path for each file.
_OTHER_PRINT = frozenset({"-ls", "-printf", *WRITES, *RUNS})


_VALUE = re.compile(r"[^-]|-(?:[0-9]|[ugoarwxXst=+,]+$)|-?$")


class Search(Struct, frozen=True):
    """A `find`, taken apart: where it looks, what it tests, runs and writes. `compared`: the files that it
    compares others with. `known`: there is nothing else."""

    starts: tuple[Word, ...]
    runs: tuple[tuple[str, tuple[Word, ...]], ...]
    writes: tuple[Word, ...]
    compared: tuple[Word, ...]
    names: tuple[str, ...]
    said: frozenset[str]
    stars: tuple[Word, ...]
    known: bool


def search(args: list[Word]) -> Search:
    first = next((n for n, w in enumerate(args) if _begins_tests(w)), len(args))
    # `-L` and its like stand before the folders.
    before = [w for w in args[:first] if w.value in ("-H", "-L", "-P", "-E", "-X", "-s", "-x", "-d")]
    starts = [w for w in args[:first] if w not in before]
    runs: list[tuple[str, tuple[Word, ...]]] = []
    writes: list[Word] = []
    compared: list[Word] = []
    names: list[str] = []
    texts = {w.value or "" for w in before}
    stars = [w for w in args[:first] if w.glob]
    known, at = True, first
    while at < len(args):
        word = args[at]
        value = word.value or ""
        texts.add(value)
        at += 1
        if word.value is None or (word.glob and value.startswith("-")):
            known = False
        elif value in RUNS:
            end = next((n for n in range(at, len(args)) if _ends(args, n)), len(args))
            inner = args[at:end]
            known = known and bool(inner) and end < len(args) and not any(w.glob for w in args[at : end + 1])
            runs.append((value, tuple(inner)))
            at = end + 1
        elif value in WRITES:
            writes += args[at : at + 1]
            at += WRITES[value]
        elif value in ("(", ")", "!", ","):
            continue
        elif value in _FIND.words:
            takes = _FIND.words[value] == "="
            given = args[at : at + 1] if takes else []
            known = known and (not takes or bool(given))
            stars += [w for w in given if w.glob]
            compared += given if value in _COMPARES else []
            # Unquoted, a pattern becomes whatever files are called so: with a dot in it, hardly a test of find's.
            known = known and not any(w.glob and "." not in (w.value or "") for w in given)
            if value == "-name" and not texts & _ACTS:
                names += [w.value or "" for w in given if not w.glob and w.value]
            known = known and all(w.value is not None for w in given)
            # Where a pattern in front of it finds nothing, it may be a test of its own (`-name -delete`).
            known = known and all(_VALUE.match(w.value or "") for w in given)
            at += takes
        else:
            known = False
    every = not (texts & _LOGIC)
    return Search(
        tuple(starts),
        tuple(runs),
        tuple(writes),
        tuple(compared),
        tuple(names) if every else (),
        frozenset(texts),
        tuple(stars),
        known,
    )


def _begins_tests(word: Word) -> bool:
    value = word.value or ""
    if value in ("-H", "-L", "-P", "-E", "-X", "-s", "-x", "-d"):
        return False
    return word.value is None or value.startswith(("-", "(", "!", ")", ","))


def _ends(args: list[Word], at: int) -> bool:
    """Where the command of `find -exec` ends: a `+` does it only behind `{}`."""
    return args[at].value == ";" or (args[at].value == "+" and args[at - 1].value == "{}")


def found_by(looked: Search, split: bool = False) -> Found | None:
    """The files it hands on; None where nobody can tell what they are."""
    starts = looked.starts or (Word(".", "."),)
    sure = looked.known and not (looked.said & _FOLLOWS) and all(_plain_start(word) for word in starts)
    return Found(starts, looked.names, split) if sure else None


def _plain_start(word: Word) -> bool:
    """A folder that is named in full, by letters that nothing is cut at."""
    return (
        word.value is not None and not word.glob and re.fullmatch(r"~?[\w./][\w./@+-]*|~", word.value) is not None
    )


# --- xargs

_XARGS = spec(
    "-0rtxop -I= -n= -P= -L= -s= -d= -E= --null --no-run-if-empty --verbose --exit --open-tty --interactive "
    "--max-args= --max-procs= --max-lines= --max-chars= --delimiter="
)


class Handed(Struct, frozen=True):
    """What `xargs` runs, with unknown words where what it reads may go."""

    words: tuple[Word, ...]


def xargs(args: list[Word], source: tuple[Word, ...]) -> Handed | None:
    """None if an option of it is not known for sure."""
    at, mark, null, odd, lines = 0, "", False, False, False
    while at < len(args):
        word = args[at]
        value = word.value
        if value is None or (word.glob and value.startswith("-")):
            return None
        if value == "--":
            at += 1
            break
        if not value.startswith("-") or value == "-":
            break
        option = _option(value)
        if option is None:
            return None
        takes, letters, tail = option
        after = args[at + 1 : at + 1 + takes]
        if len(after) != takes or any(w.value is None or w.glob for w in after):
            return None
        null = null or bool(letters & {"0", "--null"})
        if letters & {"d", "--delimiter"}:
            cut = tail or (after[0].value or "" if after else "")
            lines = cut in ("\\n", "\n")
            odd = odd or not lines
        if "I" in letters:
            mark = tail or (after[0].value or "" if after else "")
            if not mark:
                return None
        at += 1 + takes
    inner = list(args[at:]) or [Word("echo", "echo")]
    odd = odd or (lines and null)  # the last one of them counts, and a name may hold the other's sign
    found = _printed(source, null) if not odd else None  # cut at any letter, they are other words
    found = replace(found, piped=True) if found is not None else None
    blank = Word("…", None, found=found)
    marked = [
        w
        if not mark or mark not in (w.value or mark)
        else Word(w.text, None, found=found if w.value == mark else None)
        for w in inner
    ]
    return Handed((*marked, blank))


def _option(value: str) -> tuple[int, set[str], str] | None:
    """How many of the next words belong to this option, its letters, its value; None if it is not known."""
    name, sign, tail = value.partition("=")
    if value.startswith("--"):
        kind = _XARGS.words.get(name)
        return None if kind is None or (sign and not kind) else (int(kind == "=" and not sign), {name}, tail)
    letters: set[str] = set()
    for at, letter in enumerate(value[1:], 1):
        letters.add(letter)
        if letter in _XARGS.valued:
            return (0 if value[at + 1 :] else 1), letters, value[at + 1 :]
        if letter not in _XARGS.flags:
            return None
    return 0, letters, ""


def _printed(source: tuple[Word, ...], null: bool) -> Found | None:
    """The files that a program prints into the pipe, one to a line, or with a zero byte behind each."""
    name = source[0].value if source else None
    args = list(source[1:])
    if name == "find":
        looked = search(args)
        zero = "-print0" in looked.said
        if looked.said & _OTHER_PRINT or looked.stars or zero != null or ("-print" in looked.said and zero):
            return None
        return found_by(looked, split=not null)
    if name in ("grep", "egrep", "fgrep", "rg"):
        return _listed(name, args, null)
    return None


_LISTS: dict[str, Spec] = {
    "grep": spec("-rlEFGPiwIsZ -e= --recursive --files-with-matches --include= --exclude= --exclude-dir= --null"),
    "rg": spec(
        "-lFPiwsSuU0. -e= -g= -t= --files-with-matches --hidden --glob= --type= --null --no-ignore --ignore-case"
    ),
}


def _listed(name: str, args: list[Word], null: bool) -> Found | None:
    known = _LISTS["rg" if name == "rg" else "grep"]
    if not understood(known, args) or any(w.value is None or w.glob for w in args):
        return None
    plain, patterns, letters = operands(known, args)
    starts = plain if patterns else plain[1:]
    zero = bool(letters & {"Z", "0", "--null"})
    lists = bool(letters & {"l", "--files-with-matches"}) and (
        name == "rg" or bool(letters & {"r", "--recursive"})
    )
    if not lists or not starts or zero != null or not all(_plain_start(word) for word in starts):
        return None
    return Found(tuple(starts), (), not null)


class Walked(Struct, frozen=True):
    """A command's words as the program takes them. `values`: what options are given, by letter or full name;
    `behind`: what stands behind a `--`, which is among `plain` too."""

    plain: list[Word]
    behind: list[Word]
    values: list[tuple[str, Word]]
    said: set[str]

    def given(self, *names: str) -> list[str]:
        return [word.value for name, word in self.values if name in names and word.value is not None]


def walked(known: Spec, args: list[Word]) -> Walked:
    """Every word is an option, the value of one, or neither; all options are known."""
    found = Walked([], [], [], set())
    rest = list(args)
    while rest:
        word = rest.pop(0)
        value = word.value or ""
        if value == "--":
            found.plain.extend(rest)
            found.behind.extend(rest)
            break
        if not value.startswith("-") or value == "-":
            found.plain.append(word)
            continue
        name, sign, tail = value.partition("=")
        if value.startswith("--"):
            found.said.add(name)
            if sign:
                found.values.append((name, Word(tail, tail, word.glob)))
            elif known.words.get(name) == "=" and rest:
                found.values.append((name, rest.pop(0)))
            continue
        for at, letter in enumerate(value[1:], 1):
            found.said.add(letter)
            if letter in known.valued:
                stuck = value[at + 1 :]
                if stuck:
                    found.values.append((letter, Word(stuck, stuck, word.glob)))
                elif rest:
                    found.values.append((letter, rest.pop(0)))
                break
    return found


def operands(known: Spec, args: list[Word]) -> tuple[list[Word], bool, set[str]]:
    """What is no option, whether `-e` gave a pattern, and the options that were said; all of them are known."""
    found = walked(known, args)
    return found.plain, "e" in found.said or "--regexp" in found.said, found.said
