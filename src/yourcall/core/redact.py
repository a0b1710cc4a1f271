"""What looks like a secret is masked before it leaves the house.

Rule: rather too much than too little; the full text is one tap away, behind authentication. Pure, and linear in
the text: no pattern here can be made to run long by what an agent wrote.
"""

from __future__ import annotations

import re
from collections import Counter
from math import log2
from typing import cast

import msgspec
from msgspec.structs import replace

from yourcall.model import Option, Prompt, Question

MASK = "•••"

# More than anybody reads in a notification; what is beyond it is not searched for secrets, but left out.
LONGEST = 20_000

_WORD = r"[\w.~+/=-]"
_NAMED = (
    r"(?:passw(?:or)?d|passphrase|secret|token|api[_-]?key|access[_-]?key|private[_-]?key|auth(?:orization)?"
    r"|credentials?|pwd)"
)

# Keys whose makers gave them a shape. What is kept (the first group) says which kind of key it was.
_SHAPED = re.compile(
    r"(-----BEGIN [A-Z ]{0,30}PRIVATE KEY)-----[^-]{0,8000}(?:-----END [A-Z ]{0,30}PRIVATE KEY-----)?"
    r"|\b(gh[pousr]_|github_pat_|glpat-|xox[abeoprs]-|sk-(?:ant-|proj-|or-)?|[rsp]k_(?:live|test)_|AKIA|ASIA|AIza|ya29\."
    r"|hf_|hvs\.|npm_|pypi-|dop_v1_|SG\.|shpat_|tk_|yc_|yt_|whsec_|AGE-SECRET-KEY-|glsa_|lin_api_|dckr_pat_)[\w.-]{8,}"
    r"|\b(eyJ)[\w-]{8,}\.[\w-]{4,}\.[\w-]*"
    r"|\b(\d{6,12}:AA)[\w-]{30,}"
)

# Somebody is told a name and, behind it, the secret itself.
_SAID = re.compile(
    rf"(?i)(\b[\w.-]{{0,40}}{_NAMED}(?:[_-][\w-]{{0,20}})?[\"']?\s{{0,3}}(?:=>|[=:])\s{{0,3}}[\"']?)"
    rf"(?!{re.escape(MASK)})(?:bearer |basic |token )?([^\s\"'&;,}}|)]{{3,}})"
    rf"|(--?{_NAMED}(?:-[\w-]{{0,20}})?[ =][\"']?)(?!{re.escape(MASK)})([^\s\"']{{3,}})"
    rf"|(\b(?:bearer|basic)\s{{1,3}})(?!{re.escape(MASK)})({_WORD}{{8,}})"
    rf"|(\s(?:-u|--user)[ =]?[\"']?[^\s:\"']{{1,60}}:)(?!{re.escape(MASK)})([^\s\"']+)"
    rf"|(\b[a-z][a-z0-9+.-]{{1,15}}://[^\s/@:]{{0,60}}:)(?!{re.escape(MASK)})([^\s/@]{{1,200}})(?=@)"
)

# Programs that are given a password behind a letter; names as an environment has them; a token before an address.
_NOT_YET = rf"(?!{re.escape(MASK)})"
_GIVEN = re.compile(
    r"(\b(?:sshpass|(?:docker|podman|oc|az|helm registry) login|mysql\w*|mariadb|redis-cli|smbclient|ldap\w+)\b"
    rf"[^\n|;&]{{0,120}}?\s-(?:p|a|w)[ =]?[\"']?){_NOT_YET}[^\s\"'-][^\s\"']{{2,}}"
    rf"|(\bopenssl\b[^\n|;&]{{0,120}}?\s-(?:k|K|pass|passin|passout)\s[\"']?){_NOT_YET}[^\s\"']{{3,}}"
    r"|(\b[A-Z][A-Z0-9_]{0,40}_(?:KEY|PASS|PAT|PW|CREDS|DSN)[\"']?\s{0,3}[=:]\s{0,3}[\"']?)"
    rf"{_NOT_YET}[^\s\"'&;,]{{3,}}"
    rf"|((?i:\bcookie:\s{{0,3}}|\s--cookie[ =][\"']?)){_NOT_YET}[^\n\"']{{3,400}}"
    rf"|(\b[a-z][a-z0-9+.-]{{1,15}}://){_NOT_YET}[\w~.+-]{{12,200}}(?=@)"
    rf"|(\b(?:echo|printf)\s{{1,3}}(?:-n\s{{1,3}})?[\"']?){_NOT_YET}[^\s\"'|]{{3,200}}"
    r"(?=[\"']?\s{0,3}\|[^\n|]{0,80}-stdin)"
)

# Long runs without a meaning; hex sums (a commit, an image) and paths are none, and people need them.
_RUN = re.compile(r"(?<![\w/.-])[A-Za-z0-9+_-]{32,512}={0,2}(?![\w/])")


def masked(text: str) -> str:
    text = text if len(text) <= LONGEST else text[:LONGEST] + " …"
    text = _SHAPED.sub(lambda found: next(part for part in found.groups() if part) + MASK, text)
    text = _SAID.sub(lambda found: next(part for part in found.groups() if part) + MASK, text)
    text = _GIVEN.sub(lambda found: next(part for part in found.groups() if part) + MASK, text)
    return _RUN.sub(lambda found: MASK if _random(found[0]) else found[0], text)


def masked_prompt(prompt: Prompt) -> Prompt:
    """The row as others may see it: nothing in it that was written by an agent goes unmasked."""
    return replace(
        prompt,
        title=masked(prompt.title),
        body=masked(prompt.body),
        questions=tuple(_masked_question(question) for question in prompt.questions),
        answer=None,
        history=(),
        request="",
    )


def masked_json(data: bytes | None) -> str:
    """A tool's input, masked string by string, so that it stays what it is: JSON."""
    if not data or len(data) > 4 * LONGEST:
        return ""
    try:
        return msgspec.json.encode(_masked_value(msgspec.json.decode(data), "")).decode()
    except (ValueError, RecursionError):
        return ""


def _masked_value(value: object, name: str) -> object:
    match value:
        case str():
            # `password = "x"` says so outside of the string.
            return MASK if name and re.search(rf"(?i){_NAMED}$", name) else masked(value)
        case dict():
            known = cast("dict[str, object]", value)
            return {masked(key): _masked_value(each, key) for key, each in known.items()}
        case list():
            return [_masked_value(each, name) for each in cast("list[object]", value)]
        case _:
            return value


def _masked_question(question: Question) -> Question:
    return replace(
        question, text=masked(question.text), options=tuple(_masked_option(option) for option in question.options)
    )


def _masked_option(option: Option) -> Option:
    return replace(
        option,
        label=masked(option.label),
        description=masked(option.description),
        preview=masked(option.preview),
    )


def _random(run: str) -> bool:
    kinds = sum(any(test(char) for char in run) for test in (str.isdigit, str.isupper, str.islower))
    counts = Counter(run).values()
    spread = -sum(n / len(run) * log2(n / len(run)) for n in counts)
    return kinds == 3 and spread > 3.8
