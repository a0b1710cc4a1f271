"""What a command's arguments name: files, hosts, options.

Rule: whatever could be a file counts as one; one too many is resolved in vain, one too few would hide a file.
"""

from __future__ import annotations

import re
from urllib.parse import urlsplit

from yourcall.rules.effects.parts import NOTHING, Effect, Ref, Use, secret_name
from yourcall.rules.shell.items import Places, under
from yourcall.rules.shell.words import Word

_CLUSTERED = re.compile(r"-[^\W\d_]{2,}([/.~].*)", re.DOTALL)
_HOST = re.compile(r"[a-z0-9_](?:[a-z0-9_.-]*[a-z0-9_])?")


def names_tell(words: tuple[Word, ...] | list[Word]) -> frozenset[Effect]:
    """A variable with a telling name hands out what it holds."""
    found = any(secret_name(name) for word in words for name in word.names)
    return frozenset({"secrets"}) if found else NOTHING


def ref_of(word: Word, use: Use, place: str | None) -> Ref:
    value = word.value
    if value is None:
        return Ref(None, use)
    if value.startswith("~") and not word.tilde:
        value = "./" + value
    return Ref(under(place, value), use, word.glob)


def named(value: str, use: Use, place: str | None) -> Ref:
    return Ref(under(place, value) if value else None, use)


def refs_of(args: list[Word], use: Use, places: Places) -> list[Ref]:
    """Everything among the arguments that could be a file, values of options too."""
    refs: list[Ref] = []
    ended = False
    for word in args:
        value = word.value
        if value is None or value in ("-", "--", ""):
            ended = ended or value == "--"
            continue  # the command is unknown already, or it is standard input
        if ended and value.startswith("-"):
            refs += [ref_of(word, use, place) for place in places]  # behind a `--` it is a file, mostly
        if value.startswith("--"):
            value = value.partition("=")[2]
        elif value.startswith("-"):
            # `-t/etc`, and `-vt/etc` too: where the letters end and the value begins, the program knows.
            value, clustered = value[2:], _CLUSTERED.match(value)
            if clustered is not None:
                refs += [Ref(under(place, clustered[1]), use, word.glob) for place in places]
        if not value:
            continue
        for place in places:
            plain = value == word.value
            refs.append(ref_of(word, use, place) if plain else Ref(under(place, value), use, word.glob))
            if value.startswith("@"):
                refs.append(Ref(under(place, value[1:]), use, word.glob))
    return refs


def dashed_files(args: list[Word]) -> bool:
    """Is there a file behind a `--` whose name begins like an option's?"""
    values = [word.value or "" for word in args]
    return "--" in values and any(value.startswith("-") for value in values[values.index("--") + 1 :])


def options_behind(args: list[Word], places: Places) -> list[Ref]:
    """Options behind the first file: on BSD and with POSIXLY_CORRECT they are files themselves."""
    values = [word.value or "" for word in args]
    first = next((at for at, value in enumerate(values) if value and not value.startswith("-")), len(values))
    behind = {value for value in values[first:] if value.startswith("-") and value not in ("-", "--")}
    return [Ref(under(place, value), "dashed") for value in sorted(behind) for place in places]


def found_refs(args: list[Word], places: Places, deep: bool = False) -> list[Ref]:
    """Where the files lie that `find` hands on. `deep`: to a program that reads what lies below a folder."""
    return [
        Ref(
            under(place, start.value or "."),
            "split" if word.found.split else "found",
            names=word.found.names,
            deep=deep,
        )
        for word in args
        if word.found is not None
        for start in word.found.starts
        for place in places
    ]


def says(args: list[Word], options: str) -> bool:
    """One of these options, alone, clustered, shortened or with a value."""
    named = options.split()
    shorts = {option[1] for option in named if len(option) == 2}
    longs = [option for option in named if len(option) > 2]
    for word in args:
        value = word.value or ""
        if value.startswith("--") and len(value) > 2:
            text = value.split("=", 1)[0]
            if any(option.startswith(text) for option in longs):
                return True
        elif value.startswith("-") and (set(value[1:]) & shorts or any(value.startswith(o) for o in longs)):
            return True
    return False


def host_of(value: str) -> str:
    """The host of an address; empty for anything else, or for one that is dressed up."""
    if re.fullmatch(r"(?i:https?|ftps?)://\S+", value) and value.isascii():
        try:
            split_result = urlsplit(value)
            host = (split_result.hostname or "").rstrip(".")
            if split_result.username is None and _HOST.fullmatch(host) and not re.search(r"[{}\[\]\\]", value):
                return host
        except ValueError:
            return ""
    elif re.fullmatch(r"(?:[a-zA-Z0-9-]+\.)+[a-zA-Z]{2,}(?::\d+)?(?:/[^\s@\\{}\[\]]*)?", value):
        return value.split("/", 1)[0].split(":", 1)[0].lower()
    elif re.fullmatch(r"(?:localhost|127\.0\.0\.1)(?::\d+)?(?:/[^\s{}\[\]]*)?", value):
        return re.split(r"[:/]", value, maxsplit=1)[0]
    return ""
