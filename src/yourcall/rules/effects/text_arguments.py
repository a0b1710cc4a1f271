"""Arguments that are text and never a file: the pattern of `grep`, the letters of `tr`, what `cut -d` splits at.

Rule: only where it is sure. One option that is not in the table, and every argument may be a file.
"""

from __future__ import annotations

import re
from functools import lru_cache

# These look up names, users or disks; they read none of the files they are told.
_NO_FILES = frozenset({"tr", "which", "type", "id", "groups", "df"})
# What these split at, or join with.
_SEPARATOR = {"cut": "-d", "paste": "-d", "sort": "-t", "join": "-t", "column": "-s"}
_GIT_LOGS = frozenset({"log", "show", "shortlog", "rev-list"})
_GIT_TEXT = re.compile(r"(?:--(?:grep|author|committer)=|-[SG])(.+)", re.DOTALL)

# Of a search: options that leave the next word alone, those that a number follows, those that a name follows.
_FLAG = {
    "grep": re.compile(
        r"-(?:[acHhIiLlnoqrsvwxEFGP]+|[ABCm]?\d+)"
        r"|--(?:ignore-case|invert-match|word-regexp|line-regexp|count|only-matching|line-number|with-filename|text"
        r"|no-filename|files-with-matches|files-without-match|fixed-strings|extended-regexp|perl-regexp|recursive"
        r"|quiet|silent|no-messages|cached|untracked|colou?r)"
        r"|--(?:colou?r|include|exclude|exclude-dir|context|after-context|before-context|max-count)=.*",
        re.DOTALL,
    ),
    "rg": re.compile(
        r"-(?:[aciHIlnNoqsSuvwxFPUp0b.]+|[ABCmjMd]\d+|[tT][a-z]+)"
        r"|--(?:ignore-case|invert-match|word-regexp|line-regexp|count|only-matching|line-number|with-filename|text"
        r"|no-filename|files-with-matches|files-without-match|fixed-strings|quiet|no-messages|hidden|no-ignore"
        r"|smart-case|case-sensitive|multiline|no-heading|heading|no-line-number|column|trim|stats|json|pretty)"
        r"|--(?:colou?r|glob|iglob|type|type-not|context|after-context|before-context|max-count|max-depth|sort)=.*",
        re.DOTALL,
    ),
}
_COUNTED = {
    "grep": frozenset({"-A", "-B", "-C", "-m"}),
    "rg": frozenset({"-A", "-B", "-C", "-m", "-j", "-M", "-d"}),
}
_NAMED = {"grep": frozenset[str](), "rg": frozenset({"-g", "-t", "-T", "--glob", "--iglob", "--type"})}


@lru_cache(maxsize=256)
def texts_of(argv: tuple[str | None, ...]) -> frozenset[str]:
    """The values among a command's words by which no file is looked up."""
    if None in argv or len(argv) < 2 or not any(re.search(r"[/.~]", word or "") for word in argv[1:]):
        return frozenset()
    name, rest = argv[0] or "", [word or "" for word in argv[1:]]
    at: list[int] = []
    stuck: dict[int, str] = {}  # values in one word with their option
    match name:
        case "grep" | "egrep" | "fgrep":
            at = _pattern("grep", rest, 0)
        case "rg":
            at = _pattern("rg", rest, 0)
        case "git" if rest[0] == "grep":
            at = _pattern("grep", rest, 1)
        case "git" if rest[0] in _GIT_LOGS:
            stuck = {n: found[1] for n, word in enumerate(rest) if (found := _GIT_TEXT.fullmatch(word))}
            at = [n for n, before in enumerate(rest[:-1], 1) if before in ("-S", "-G")]
        case _ if name in _NO_FILES:
            at = [n for n, word in enumerate(rest) if not word.startswith("-")]
        case _ if name in _SEPARATOR:
            option = _SEPARATOR[name]
            stuck = {n: word[2] for n, word in enumerate(rest) if word[:2] == option and len(word) == 3}
            at = [n for n, before in enumerate(rest[:-1], 1) if before == option and len(rest[n]) == 1]
        case _:
            return frozenset()
    others = [word for n, word in enumerate(rest) if n not in at and n not in stuck]
    values = {*(rest[n] for n in at), *stuck.values()} - {""}
    # A word that is also the end of another one may be a file there.
    return frozenset(value for value in values if not any(other.endswith(value) for other in others))


def _pattern(program: str, words: list[str], first: int) -> list[int]:
    """Where a search's pattern stands, and the names that its options take; nothing if that is not sure."""
    flag, counted, named = _FLAG[program], _COUNTED[program], _NAMED[program]
    found: list[int] = []
    plain: list[int] = []
    at = first
    while at < len(words):
        word, after = words[at], words[at + 1 : at + 2]
        if word == "--":
            plain += range(at + 1, len(words))
            break
        if word in counted and after and after[0].isdecimal():
            at += 1
        elif word in named and after and not after[0].startswith("-"):
            at += 1
            found.append(at)
        elif not word.startswith("-") or word == "-":
            plain.append(at)
        elif not flag.fullmatch(word):
            return []
        at += 1
    return [*found, *plain[:1]]
