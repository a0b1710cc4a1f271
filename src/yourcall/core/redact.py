"""What looks like a secret is masked before it leaves this machine.

Rule: rather too much than too little, but a mask never covers shell syntax: a masked value ends where a shell
would end a word, so whatever stands behind it is shown. The full text is one tap away, behind authentication.
Pure, and linear in the text: no pattern here can be made to run long by what an agent wrote.
"""

from __future__ import annotations

import re
from collections import Counter
from math import log2
from typing import cast

import msgspec
from msgspec.structs import replace

from yourcall.model.prompts import Option, Prompt, Question

MASK = "•••"

# More than anybody reads in a notification; what is beyond it is not searched for secrets, but left out.
LONGEST = 20_000

_WORD = r"[\w.~+/=-]"
_NAMED = (
    r"(?:passw(?:or)?d|passphrase|secret|token|api[_-]?key|access[_-]?key|private[_-]?key|auth(?:orization)?"
    r"|credentials?|pwd)"
)
_NOT_YET = rf"(?!{re.escape(MASK)})"

# One character of a value. Quotes, separators, redirections, substitutions, escapes and control characters end it,
# inside of quotes too: whether a quote opens or closes cannot be known from a piece of text.
_STOPS = r"\s\"'`;&|<>()\\\x00-\x1f\x7f"
_IN = rf"(?:[^{_STOPS}$]|\$(?![({{\[\"'`]))"
_IN_LIST = rf"(?:[^{_STOPS}$,}}]|\$(?![({{\[\"'`]))"

# Between a name and its value. A shell reads `NAME= program` as a program that is run: a blank behind the sign
# counts only with one before it.
_IS = r"(?:[ \t]{1,3}=[ \t]{1,3}|=|[ \t]{0,3}:[ \t]{0,3})[\"']?"

# The word before a key in a header; `X=token program` runs the program, so a blank or a quote stands before it.
_SCHEME = r"(?:(?<=[ \t])|(?<=[: \t][\"']))(?:bearer|basic|token)"

# Keys whose makers gave them a shape. What is kept (the first group) says which kind of key it was.
_SHAPED = re.compile(
    r"\b(gh[pousr]_|github_pat_|glpat-|xox[abeoprs]-|sk-(?:ant-|proj-|or-)?|[rsp]k_(?:live|test)_|AKIA|ASIA|AIza|ya29\."
    r"|hf_|hvs\.|npm_|pypi-|dop_v1_|SG\.|shpat_|tk_|yc_|yt_|whsec_|AGE-SECRET-KEY-|glsa_|lin_api_|dckr_pat_)[\w.-]{8,}"
    r"|\b(eyJ)[\w-]{8,}\.[\w-]{4,}\.[\w-]*"
    r"|\b(\d{6,12}:AA)[\w-]{30,}"
)

# A private key: only its lines of base64 are masked, each by itself, and only as long as they follow each other.
_KEY = re.compile(
    r"(-----BEGIN [A-Z ]{0,30}PRIVATE KEY(?: BLOCK)?-----)"
    r"((?:(?:\r?\n|(?:\\r)?\\n|[ \t])+(?:(?:Proc-Type|DEK-Info): [\w,-]{1,80}|[A-Za-z0-9+/]{16,512}={0,2}))+)"
)
_KEY_LINE = re.compile(r"(?<![A-Za-z0-9+/\\-])[A-Za-z0-9+/]{16,512}={0,2}|(?<=\\n)[A-Za-z0-9+/]{16,512}={0,2}")

# Somebody is told a name and, behind it, the secret itself.
_SAID = re.compile(
    rf"(?i)(\b[\w.-]{{0,40}}{_NAMED}(?:[_-][\w-]{{0,20}})?[\"']?(?:{_IS}|[ \t]{{0,3}}=>[ \t]{{0,3}}[\"'])"
    rf"(?>{_SCHEME}[ \t](?![./~]))?+){_NOT_YET}{_IN_LIST}{{3,}}"
    rf"|(--?{_NAMED}(?:-[\w-]{{0,20}})?[ =][\"']?){_NOT_YET}{_IN}{{3,}}"
    rf"|((?<![\w=:-])(?:bearer|basic)[ \t]{{1,3}})(?![./~]){_NOT_YET}{_WORD}{{8,}}"
    rf"|(\s(?:-u|--user)[ =]?[\"']?[^\s:\"']{{1,60}}:){_NOT_YET}{_IN}+"
    rf"|(\b[a-z][a-z0-9+.-]{{1,15}}://[^\s/@:]{{0,60}}:){_NOT_YET}(?:(?![/@]){_IN}){{1,200}}(?=@)"
)

# Programs that are given a password behind a letter; names as an environment has them; a token before an address.
_GIVEN = re.compile(
    r"(\b(?:sshpass|(?:docker|podman|oc|az|helm registry) login|mysql\w*|mariadb|redis-cli|smbclient|ldap\w+)\b"
    rf"[^\n|;&]{{0,120}}?[ \t]-(?:p|a|w)[ =]?[\"']?){_NOT_YET}(?!-){_IN}{{3,}}"
    rf"|(\bopenssl\b[^\n|;&]{{0,120}}?[ \t]-(?:k|K|pass|passin|passout)[ \t][\"']?){_NOT_YET}{_IN}{{3,}}"
    rf"|(\b[A-Z][A-Z0-9_]{{0,40}}_(?:KEY|PASS|PAT|PW|CREDS|DSN)[\"']?{_IS}){_NOT_YET}{_IN_LIST}{{3,}}"
    rf"|((?i:[ \t]--cookie[ =])[\"']?){_NOT_YET}{_IN}{{3,}}"
    rf"|(\b[a-z][a-z0-9+.-]{{1,15}}://){_NOT_YET}[\w~.+-]{{12,200}}(?=@)"
    rf"|(\b(?:echo|printf)[ \t]{{1,3}}(?:-n[ \t]{{1,3}})?[\"']?){_NOT_YET}{_IN}{{3,200}}"
    r"(?=[\"']?[ \t]{0,3}\|[^\n|]{0,80}-stdin)"
)

# A header with cookies: the value of each, as long as one follows the other.
_COOKIES = re.compile(rf"(?i)\bcookie:[ \t]{{0,3}}{_IN}{{3,}}(?:;[ \t]{{0,3}}[\w.-]{{1,60}}={_IN}+)*")
_COOKIE = re.compile(rf"((?:^(?i:cookie):|;)[ \t]{{0,3}}(?:[\w.-]{{1,60}}=)?){_NOT_YET}{_IN}+")

# Long runs without a meaning; hex sums (a commit, an image) and paths are none, and people need them.
_RUN = re.compile(r"(?<![\w/.-])[A-Za-z0-9+_-]{32,512}={0,2}(?![\w/])")


def masked(text: str) -> str:
    text = text if len(text) <= LONGEST else text[:LONGEST] + " …"
    text = _KEY.sub(lambda found: found[1] + _KEY_LINE.sub(MASK, found[2]), text)
    text = _SHAPED.sub(_kept, text)
    text = _COOKIES.sub(lambda found: _COOKIE.sub(_kept, found[0]), text)
    text = _SAID.sub(_kept, text)
    text = _GIVEN.sub(_kept, text)
    return _RUN.sub(lambda found: MASK if _random(found[0]) else found[0], text)


def _kept(match: re.Match[str]) -> str:
    return next(part for part in match.groups() if part) + MASK


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
