"""Could a deny, an ask or a hold be about something that nobody can take apart?

Rule: what a rule names is at least spelled out in the text; where it is, a person decides. A word that is put
together from pieces may spell anything that its pieces allow.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from functools import lru_cache

from msgspec.structs import replace

from yourcall.model.action import Action
from yourcall.rules.effects.known_files import secret_path
from yourcall.rules.effects.parts import Effect, Part
from yourcall.rules.effects.table import SHELLS
from yourcall.rules.effects.table import words as programs
from yourcall.rules.match import words
from yourcall.rules.rule import RequestContext, Rule, touches
from yourcall.rules.shell.tokens import LONGEST

# Their script may stand anywhere: behind an arrow, in a here-document, in what is piped to them.
_INTERPRETERS = SHELLS | programs(
    "python python3 node deno bun perl ruby php lua osascript tclsh ed ex vim nvim vi emacs bc dc m4 sqlite3 psql "
    "mysql xargs parallel at batch crontab source . trap"
)
# What something is called that has an effect, in a shell or in another language.
_TELLS: dict[Effect, re.Pattern[str]] = {
    "delete": re.compile(r"(?<![\w.-])(?:rm|rmdir|shred|unlink|rimraf)(?![\w-])|\b(?:rmtree|unlinkSync|rmSync)\b"),
    "network": re.compile(
        r"://|/inet/|/dev/(?:tcp|udp)/|(?<![\w.-])(?:curl|wget|ssh|scp|sftp|rsync|ncat|netcat|nc|socat|telnet)(?![\w-])"
    ),
    "privilege": re.compile(r"(?<![\w.-])(?:sudo|doas|pkexec)(?![\w-])"),
    "install": re.compile(
        r"(?<![\w.-])(?:npm|pnpm|yarn|pip3?|uv|cargo|gem|apt|apt-get|brew)\s[^;|&\n]*"
        r"(?<![\w-])(?:install|add|i)(?![\w-])"
    ),
    "history_rewrite": re.compile(
        r"\bgit\b[^;|&\n]*(?:--force|--amend|(?<![\w-])(?:-f|rebase|reset|filter-\w+)(?![\w-]))"
    ),
    "secrets": re.compile(r"\bos\.environ\b(?!\.get|\[)|\bprocess\.env\b(?![.\[])|\bprintenv\b"),
}  # fmt: skip
_OUTSIDE = re.compile(r"(?:^|[\s'\"(=,:])(?:\.\.(?:/|$|\s)|~/|/(?!dev/null|(?:usr/)?s?bin/))|-[A-Za-z]\.\./")
# A piece that only running it tells, or that may find several names.
_PIECE = re.compile(r"\$\([^()]*\)|`[^`]*`|\$\{[^}]*\}|\$\w+|[*?]|\[[^\]]*\]")
_ALONE = re.compile(r"\$\([^()]*\)|`[^`]*`|\$\{[^}]*\}|\$\w+")
# What people call their secrets, to be held against a pattern.
_USUAL_SECRETS = (
    ".env",
    ".ssh",
    "id_rsa",
    "id_ed25519",
    "server.key",
    "key.pem",
    "credentials.json",
    ".netrc",
    ".npmrc",
)


def may_be_about(rules: Iterable[Rule], asked: Action, obscure: list[Part], scene: RequestContext) -> Rule | None:
    """The first rule that restricts and may be about one of these parts, which do something unknown."""
    return next((rule for rule in rules for part in obscure if _may_run(rule, asked, part, scene)), None)


def may_touch(rule: Rule, asked: Action, text: str, scene: RequestContext) -> bool:
    """Could this deny, ask or hold concern a text that cannot be taken apart? Nobody can tell what it does, where
    and with whom; but a command that a rule names is at least spelled out in it. What is longer than any command
    that is read is not searched either: then it could."""
    if not _for_this(rule, asked, text, scene):
        return False
    if not rule.command or len(text) > LONGEST or "$'" in text:
        return True
    spelled = _without_quotes(text)
    return any(all(word == "*" or word in spelled for word in words(pattern)) for pattern in rule.command)


def _for_this(rule: Rule, asked: Action, text: str, scene: RequestContext) -> bool:
    if rule.do == "allow" or rule.text or rule.mcp:
        return False
    blank = Part("command", text, effects=frozenset(rule.effect))
    return touches(replace(rule, command=(), path=(), host=()), blank, asked, scene)


def _may_run(rule: Rule, asked: Action, part: Part, scene: RequestContext) -> bool:
    text = asked.command if _elsewhere(part) else part.text
    if rule.command:
        said = any(_spells(words(pattern), part, text) for pattern in rule.command)
    elif rule.path or rule.host:
        spelled = _without_quotes(text)
        said = any(_plain(pattern) in spelled for pattern in (*rule.path, *rule.host) if len(_plain(pattern)) > 2)
    else:
        said = any(_tells(effect, part, text) for effect in rule.effect)
    return said and _for_this(rule, asked, text, scene)


def _elsewhere(part: Part) -> bool:
    """May what it runs, or with which words, stand in another part of the command?"""
    return None in part.argv or (part.argv[:1] or (None,))[0] in _INTERPRETERS


def _spells(wanted: tuple[str, ...], part: Part, text: str) -> bool:
    names = _words(text)
    if all(word == "*" or word in names for word in wanted):
        return True
    name = part.argv[0] if part.argv and not _PIECE.search(part.argv[0] or "") else None
    if (name is not None and None not in part.argv) or (name is not None and wanted[0] not in ("*", name)):
        return False
    made = _made(part.text)
    if name is None and not any(_makes(word, wanted[0]) for word in made if word == _tokens(part.text)[0]):
        return wanted[0] in names and _rest_made(wanted, names, made)
    return _rest_made(wanted, names, made)


def _rest_made(wanted: tuple[str, ...], names: frozenset[str], made: list[str]) -> bool:
    return all(word == "*" or word in names or any(_makes(each, word) for each in made) for word in wanted[1:])


@lru_cache(maxsize=8)
def _made(text: str) -> list[str]:
    """The words that are put together from pieces."""
    return [word for word in _tokens(text) if _PIECE.search(word) and not _ALONE.fullmatch(word)]


def _makes(token: str, word: str) -> bool:
    """Could `pus[h]`, `pu$x` or `/bin/r?` become this word?"""
    plain = token.rpartition("/")[2] if "/" in token and "/" not in word else token
    pieces = [re.escape(each) for each in _PIECE.split(plain)]
    return re.fullmatch(".*".join(pieces), word, re.DOTALL) is not None


def _tells(effect: Effect, part: Part, text: str) -> bool:
    if effect == "write_outside":
        return _OUTSIDE.search(part.text) is not None
    known = _TELLS.get(effect)
    if known is not None and known.search(_without_quotes(text)):
        return True
    if effect != "secrets":
        return False
    made = (word.rpartition("/")[2] for word in _tokens(part.text) if not _ALONE.fullmatch(word))
    return any(_secret(word) for word in _words(text)) or any(
        _PIECE.search(word, 1) and any(_makes(word, name) for name in _USUAL_SECRETS) for word in made
    )


def _secret(word: str) -> bool:
    if not re.search(r"[*?\[]", word):
        return secret_path(word)
    last = word.rpartition("/")[2]
    return re.match(r"[*?.]*$|[*?]", last) is None and any(_makes(last, name) for name in _USUAL_SECRETS)


@lru_cache(maxsize=2048)
def _plain(pattern: str) -> str:
    """The longest piece of a pattern that stands in plain letters."""
    longest = max(re.split(r"[*?\[\]]+", pattern), key=len, default="")
    return longest.strip("/").removeprefix("~/")


@lru_cache(maxsize=16)
def _words(text: str) -> frozenset[str]:
    """The words that stand in a text, whatever is around them; of a path its last step as well."""
    found = re.split(r"[\s'\"`$(){}<>|;&=,:\\]+", _without_quotes(text).replace("\\n", " "))
    found += re.split(r"[\s'\"`$(){}<>|;&=,:\\\[\]]+", text)
    return frozenset([*found, *(each.rpartition("/")[2] for each in found)]) - {""}


@lru_cache(maxsize=16)
def _tokens(text: str) -> list[str]:
    return [word for word in re.split(r"\s+", re.sub(r"[\\'\"]", "", text)) if word]


@lru_cache(maxsize=16)  # every rule asks about the same text
def _without_quotes(text: str) -> str:
    return re.sub(r"[\\'\"\n]", "", text)
