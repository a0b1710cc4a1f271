"""What one word of a shell command means before it runs: its text without quotes, or that nobody can know.

Rule: `value` is set only if the shell will use exactly this text; a variable, a substitution, a brace or anything
doubtful makes it None.
"""

from __future__ import annotations

import re

from msgspec import Struct

_SIMPLE = {"a": "\a", "b": "\b", "e": "\x1b", "E": "\x1b", "f": "\f", "n": "\n", "r": "\r", "t": "\t", "v": "\v"}
_ANSI = re.compile(r"\\(x[0-9a-fA-F]{1,2}|u[0-9a-fA-F]{1,4}|U[0-9a-fA-F]{1,8}|[0-7]{1,3}|.)", re.DOTALL)
_ESCAPED = re.compile(r"\\(\n|.)", re.DOTALL)
_IN_QUOTES = re.compile(r"\\(\n|[$`\"\\])")
_HANDLE = re.compile(r"\{\w+\}")  # `{name}>file` makes a variable
# To zsh, with an option that many set, `#`, `^` and a `~` inside of a word are signs of a pattern too.
_GLOB = re.compile(r"[*?\[#^]|(?<!^)~")


class Found(Struct, frozen=True):
    """Files that `find` and its like print: below which folders, called how; `split`: cut at blanks on the way;
    `piped`: to `xargs`, which runs its command once even if there are none."""

    starts: tuple[Word, ...]
    names: tuple[str, ...] = ()
    split: bool = False
    piped: bool = False


class Word(Struct, frozen=True):
    """`text` as it stands; `value` as the shell will use it. `names`: variables whose values go into it. `found`:
    it is any number of files, each named from the folder it was found in, so that none is an option. `stream`: it
    is a pipe from which comes what another part of the command prints."""

    text: str
    value: str | None
    glob: bool = False
    tilde: bool = False
    names: tuple[str, ...] = ()
    found: Found | None = None
    stream: bool = False


def plain(text: str) -> Word:
    """A word without quotes, expansions or parts."""
    bare = _ESCAPED.sub("", text)
    if "{" in bare and ("," in bare or ".." in bare or _HANDLE.fullmatch(bare)):
        return Word(text, None)  # braces make several words of it
    if text.startswith("="):
        return Word(text, None)  # zsh puts a path here
    tilde = text.startswith("~")
    if tilde and not (text == "~" or text.startswith("~/")):
        return Word(text, None)  # somebody else's home, or the folder before
    value = _ESCAPED.sub(lambda found: "" if found[1] == "\n" else found[1], text)
    return Word(text, value, glob=bool(_GLOB.search(bare)), tilde=tilde)


def single_quoted(text: str) -> Word:
    return Word(text, text[1:-1])


def double_quoted(text: str) -> Word:
    """Only for a string that nothing is expanded in."""
    return Word(text, _IN_QUOTES.sub(lambda found: "" if found[1] == "\n" else found[1], text[1:-1]))


def ansi_quoted(text: str) -> Word:
    """`$'…'`; what cannot be told for sure is not told."""
    unknown = False

    def one(match: re.Match[str]) -> str:
        nonlocal unknown
        code = match[1]
        if code[0] in "xuU" and len(code) > 1:
            number = int(code[1:], 16)
        elif code[0] in "01234567":
            number = int(code, 8) & 0xFF
        elif code in _SIMPLE:
            return _SIMPLE[code]
        elif code in "\\'\"?":
            return code
        else:
            unknown = True
            return ""
        # Nothing ends a word early, and no half character is made up.
        unknown = unknown or number == 0 or number > 0x7F
        return "" if unknown else chr(number)

    value = _ANSI.sub(one, text[2:-1])
    return Word(text, None if unknown else value)


def joined(text: str, parts: list[Word]) -> Word:
    """Several parts without a space between them: `a"b"'c'`."""
    names = tuple(name for part in parts for name in part.names)
    if "{" in text and ("," in text or ".." in text or _HANDLE.fullmatch(text)):
        return Word(text, None, names=names)
    if any(part.value is None for part in parts):
        return Word(text, None, names=names)
    first = parts[0]
    if first.tilde and first.text == "~" and len(parts) > 1 and not (parts[1].value or "").startswith("/"):
        return Word(text, None, names=names)  # `~"x"`: a tilde that may or may not be one
    value = "".join(part.value or "" for part in parts)
    return Word(text, value, glob=any(part.glob for part in parts), tilde=first.tilde, names=names)


def unknown(text: str, names: tuple[str, ...] = ()) -> Word:
    return Word(text, None, names=names)
