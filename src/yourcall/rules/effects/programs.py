"""Programs with a language of their own (sed, awk, printf), and package managers.

Rule: what their arguments make them do is told only where it is sure; a script that could run, write or read
something else is `unknown`.
"""

from __future__ import annotations

import re

from yourcall.rules.effects import table
from yourcall.rules.effects.arguments import refs_of
from yourcall.rules.effects.options import spec, understood
from yourcall.rules.effects.parts import Effect, Ref, secret_path
from yourcall.rules.shell.items import Places
from yourcall.rules.shell.words import Word

# One command of sed that only prints, deletes lines or substitutes text; `e`, `w`, `r` and their flags are others.
_SED = re.compile(
    r"(?:(?:[0-9]+|\$|/(?:[^/\\\n]|\\.)*/)(?:,(?:[0-9]+|\$|\+[0-9]+|/(?:[^/\\\n]|\\.)*/))?\s*!?\s*)?"
    r"(?:[pdqPDGHhgxnN=]|s(?P<d>[/|,#@:])(?:(?!(?P=d))[^\\\n]|\\.)*(?P=d)(?:(?!(?P=d))[^\\\n]|\\.)*(?P=d)[gpiI0-9]*"
    r"|y/(?:[^/\\\n]|\\.)*/(?:[^/\\\n]|\\.)*/)?"
)
# The same, one substitution alone, with brackets read as sed reads them.
_SED_BRACKETS = re.compile(
    r"s(?P<d>[/|,#@:])(?:\[\^?[^\]\[\\\n]+\]|\\.|(?!(?P=d))[^\\\n\[])*(?P=d)(?:(?!(?P=d))[^\\\n]|\\.)*(?P=d)[gpiI0-9]*"
)
# Brackets with classes that are closed (`[^[:alpha:]_]`), and a class that may be open within others.
_CLASSES = re.compile(r"\[\^?(?:\[:[a-z]+:\]|[^\]\[\\\n])+\]")
_CLASS = re.compile(r"\[:[a-z]+:\]")
_OPEN_CLASS = re.compile(r"\[\^?\]?[^\]]*\[[:.=]")
# In brackets a backslash is a letter: what looks escaped there opens or closes them, or a class.
_ESCAPED = re.compile(r"\\\[([:.=]).*\1\]|(?<!\\)(?:\\\\)*\[[^\]]*\\[\]\[]", re.DOTALL)
# A file's name that is also a script of sed which writes a file: `w.mcp.json`, `/x/w y`, `s/a/b/w y`.
_ON_A_MAC = re.compile(r"(?:/[^/]*/|[0-9$,+~!\s])*w|s(.).*\1.*\1|.*[\s;{}\\]", re.DOTALL)
_AWK = re.compile(r"system|getline|[|>@`]|ENVIRON|SYMTAB|ARG[VC]")

_NUMBER = re.compile(r"-?[0-9]*(?:\.[0-9]+)?")
_PRINTF = re.compile(r"%(?:%|\([^)]*\)T|[-+ #0]*[0-9]*(?:\.[0-9]+)?([a-zA-Z]))|%")


def sed(args: list[Word], effects: set[Effect], refs: list[Ref], places: Places) -> None:
    effects.add("read")
    scripts: list[str | None] = []
    files: list[Word] = []
    writes, suffix = False, ""
    at = 0
    while at < len(args):
        value = args[at].value
        if value in ("-e", "--expression"):
            scripts.append(args[at + 1].value if at + 1 < len(args) else None)
            at += 1
            if files:
                effects.add("unknown")  # to a sed that takes options first, the word before it is the script
        elif value is not None and value.startswith("--expression="):
            scripts.append(value.partition("=")[2])
            if files:
                effects.add("unknown")
        elif value is not None and value.startswith("-") and len(value) > 1:
            if re.fullmatch(r"-[nErsuz]+|--(quiet|silent|regexp-extended|null-data|separate|posix|debug)", value):
                pass
            elif re.match(r"-[nErsuz]*i|--in-place", value):
                writes = True
                suffix = re.sub(r"-[nErsuz]*i|--in-place=?", "", value, count=1)
                if "/" in value or "*" in value:
                    effects |= {"write_outside", "unknown"}  # the old text is kept there
            else:
                effects.add("unknown")
        else:
            files.append(args[at])
        at += 1
    if not scripts and files:
        scripts.append(files[0].value)
        files = files[1:]
    for script in scripts:
        # A `;` inside of s/…/…/ is not a separator: it is tried whole too.
        pieces = [] if script is None else [[script], re.split(r"[;\n]", script)]
        if script is not None and _bracketed(script):
            effects |= set() if _SED_BRACKETS.fullmatch(script.strip()) else {"unknown"}
        elif not any(all(_SED.fullmatch(each.strip()) for each in way) for way in pieces):
            effects.add("unknown")
    refs += refs_of(files, "write" if writes else "read", places)
    if writes and suffix:
        refs += refs_of([Word(w.text, (w.value or "") + suffix, w.glob, w.tilde) for w in files], "write", places)
    elif writes and len(files) > 1 and _ON_A_MAC.match(files[0].value or ""):
        effects.add("unknown")  # there the first word is a suffix, and the next one the script


def _bracketed(script: str) -> bool:
    """In brackets a `/` ends nothing: `s/[/]/g;s/w f/y/g` is one substitution that writes a file."""
    ends = {"/", *re.findall(r"s([|,#@:])", script)}
    if _ESCAPED.search(script):
        return True
    plain = re.sub(r"\\.", "", script, flags=re.DOTALL)
    if ":" not in ends:
        plain = _CLASSES.sub(lambda found: _without_classes(found[0]), plain)
    inside = re.findall(r"\[\^?\]?[^\]]*", plain)
    return _OPEN_CLASS.search(plain) is not None or any(end in each for each in inside for end in ends)


def _without_classes(brackets: str) -> str:
    """The same brackets with a letter for each class, so that they end at the first `]`."""
    return _CLASS.sub("x", brackets[:1] + brackets[1:-1]) + "]" if _CLASS.search(brackets, 1) else brackets


def awk(args: list[Word], effects: set[Effect], refs: list[Ref], places: Places) -> None:
    effects.add("read")
    rest = list(args)
    while rest and (rest[0].value or "").startswith("-"):
        option = rest[0].value or ""
        if option in ("-F", "-v"):
            if re.match(r"-.", rest[1].value or "" if rest[1:] else ""):
                effects.add("unknown")
            rest = rest[2:]
        elif re.match(r"-F.|-v.", option):
            rest = rest[1:]
        else:
            effects.add("unknown")
            return
    # `>=` and `||` compare; `>` and `|` may lead to a file or a program.
    if not rest or rest[0].value is None or _AWK.search(re.sub(r">=|\|\|", "", _without_tests(rest[0].value))):
        effects.add("unknown")
    if any((word.value or "").startswith("-") and word.value != "-" for word in rest):
        effects.add("unknown")  # an option to some, behind the program too
    if any((word.value or "").startswith("/inet") for word in rest):
        effects |= {"network", "unknown"}  # gawk opens a connection of that name
    refs += refs_of(rest[1:], "read", places)


def _without_tests(script: str) -> str:
    """Without the `>` that compare for sure: outside of braces nothing is printed, nor where `if` tests something.
    Where a sign could belong to a pattern, a comment or an odd string, nothing is sure."""
    bare = _AWK_STRING.sub('""', script)
    if re.search(r"[/#\\]", bare) or bare.count('"') % 2:
        return script
    kept: list[str] = []
    braces = 0
    tests: list[bool] = []  # of each bracket that is open, whether it holds a test
    for at, sign in enumerate(bare):
        if sign == "(":
            tests.append(any(tests) or re.search(r"\b(?:if|while)\s*$", bare[:at]) is not None)
        elif sign == ")" and tests:
            tests.pop()
        braces += (sign == "{") - (sign == "}")
        kept.append("" if sign == ">" and (any(tests) or braces == 0) else sign)
    return "".join(kept) if braces == 0 and not tests else script


_AWK_STRING = re.compile(r'"(?:[^"\\\n]|\\.)*"')
_SPELLED_PERCENT = re.compile(r"\\(?:[uUN]|x0*25|0*45)")


def prints(layout: str, values: list[str | None]) -> bool:
    """Does `printf` only print? To zsh `%d` calculates, and calculating can run commands; `%n` sets a variable."""
    # zsh reads `\u0025d` as `%d`; a percent sign that is spelled in another way is not looked for here.
    if layout.startswith("-") or "*" in layout or (values and _SPELLED_PERCENT.search(layout)):
        return False
    dated = ((found, found[0].startswith("%(")) for found in _PRINTF.finditer(layout))
    kinds = [found[1] or ("d" if date else "" if len(found[0]) > 1 else "?") for found, date in dated]
    takes = [kind for kind in kinds if kind]
    if any(kind not in "sbqcdiouxXeEfFgGaA" for kind in takes):
        return False
    pairs = zip(values, takes * (len(values) // max(1, len(takes)) + 1), strict=False)
    return all(kind in "sbqc" or _NUMBER.fullmatch(value or "$") for value, kind in pairs)


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
