"""Whether a text shows all of what is asked, so that a yes may stand under it.

Rule: whoever shows less than the whole offers no yes, only a no. Masked, cut, left out, or hidden in characters
that draw nothing: each is less. The judgement is made on the very text that is sent.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from typing import Any, cast

from msgspec import Struct

from yourcall.core import line_diff
from yourcall.core.redact import masked
from yourcall.model.prompts import Effect, Prompt

# What needs no look at the whole; everything else is a yes of some kind.
REFUSALS: frozenset[Effect] = frozenset({"deny", "stop"})

# More than any notice holds; comparing longer texts would only take time.
LONGEST = 20_000

# What is shorter may be part of another word.
SHORT = 8

# Empty space that pushes the rest out of sight.
_FAR = re.compile(r"(?:[ \t]*\n){5}|[ \t]{60}")

# Fields of a tool's input that change nothing about what is done: a comment, a time limit, whether it waits.
_ASIDE = frozenset({"description", "timeout", "run_in_background"})
# How a field that is switched on is worded where it is shown.
_WORDED = {"replace_all": "(every occurrence)"}
# How a change of a file is marked in a diff, which shows it by its signs.
_MARKS = frozenset({"add", "update", "delete"})


class Needed(Struct, frozen=True):
    """What a text must hold before a yes stands under it: `asked` in any case, and for each option its own words.

    The options are named by their question's id and their own. One that is missing has words that nobody may see
    here. There is no secret in it: what masking would change is not in it at all.
    """

    asked: tuple[str, ...]
    options: Mapping[tuple[str, str], tuple[str, ...]]


def needed(prompt: Prompt, fields: Mapping[str, Any] | None) -> Needed | None:
    """None: no text outside of the app can show all of it. `fields`: what the tool gets, verbatim."""
    asked = tuple(part for part in (prompt.title, prompt.body) if part.strip())
    if prompt.kind in ("permission", "plan") and prompt.tool is not None and not _says_all(asked, prompt, fields):
        return None
    if not asked or not all(map(_plain, asked)):
        return None
    asks = prompt.kind not in ("permission", "plan") or len(prompt.questions) > 1
    options: dict[tuple[str, str], tuple[str, ...]] = {}
    for question in prompt.questions:
        for option in question.options:
            # What a plain yes does is said by its place; a choice and a lasting grant mean what their words say.
            more = () if option.effect == "allow_once" else (option.description, option.preview)
            parts = (question.text if asks else "", option.label, *more)
            if option.effect not in REFUSALS and all(map(_plain, parts)):
                options[question.id, option.id] = tuple(part for part in parts if part.strip())
    return Needed(asked, options)


def whole(needs: Needed | None, sent: str, more: Sequence[str] = ()) -> bool:
    """All that is asked, and `more`, is in the text that is sent."""
    text = _flat(sent)
    return needs is not None and all(_flat(part).strip() in text for part in (*needs.asked, *more))


def offerable(needs: Needed | None, question: str, option: str, effect: Effect, sent: str) -> bool:
    """This option may stand under the text that is sent."""
    if effect in REFUSALS:
        return True
    words = needs.options.get((question, option)) if needs is not None else None
    return words is not None and whole(needs, sent, words)


def _plain(text: str) -> bool:
    """Nothing of it is masked, invisible, or far away behind empty space."""
    from yourcall.rules.risk import hides  # reads commands, which nobody needs before the first is told

    return len(text) <= LONGEST and masked(text) == text and not hides(text) and not _FAR.search(_flat(text))


def _flat(text: str) -> str:
    return text.replace("\r\n", "\n").replace("\t", " ")


def _says_all(asked: Sequence[str], prompt: Prompt, fields: Mapping[str, Any] | None) -> bool:
    """The prompt's own text holds everything that the tool gets."""
    if fields is None:
        return False
    text = "\n".join(asked)
    return len(text) <= LONGEST and _says(text, "", dict(fields), prompt.cwd)


def _says(text: str, name: str, value: object, cwd: str, depth: int = 0) -> bool:
    if name in _ASIDE or value is None or value is False or value == "":
        return True
    match value:
        case True:
            return _WORDED.get(name, name) in text
        case int() | float():
            return str(value) in text
        case str():
            known = (name == "cwd" and value == cwd) or (name == "type" and value in _MARKS)
            return known or _says_text(text, name, value)
        case dict() if depth < 20:
            inner = cast("dict[str, object]", value)
            changes = [key for key in ("old_string", "new_string") if isinstance(inner.get(key), str)]
            spelled = all(_spelled(key, str(inner[key])) in text for key in changes)
            if len(changes) == 2 and not spelled and not _says_change(text, inner):
                return False
            rest = {key: each for key, each in inner.items() if len(changes) < 2 or key not in changes}
            return all(_says(text, key, each, cwd, depth + 1) for key, each in rest.items())
        case list() if depth < 20:
            return all(_says(text, name, each, cwd, depth + 1) for each in cast("list[object]", value))
        case _:
            return False


def _says_text(wording: str, name: str, text: str) -> bool:
    """As it is, as JSON spells it, or with a diff's sign before each line. What is short may stand anywhere by
    chance: it has to be the end of a line, or stand behind its name."""
    if len(text) > LONGEST:
        return False
    plain = text.strip()
    if not plain or _spelled(name, text) in wording or f"{name}: {plain}" in wording:
        return True
    if re.search(rf"(?:^|[ \n]){re.escape(plain)}[ \t]*(?:\n|$)", wording):
        return True
    marked = ["\n".join(sign + line for line in plain.splitlines()) for sign in "+-"]
    spelled = json.dumps(plain, ensure_ascii=False)
    return len(plain) >= SHORT and any(form in wording for form in (plain, spelled[1:-1], *marked))


def _spelled(name: str, text: str) -> str:
    return f'"{name}": {json.dumps(text, ensure_ascii=False)}'


def _says_change(text: str, edit: Mapping[str, object]) -> bool:
    """Each line that goes or comes is there, with its sign."""
    old, new = edit.get("old_string"), edit.get("new_string")
    if not isinstance(old, str) or not isinstance(new, str) or len(old) + len(new) > LONGEST:
        return False
    changed = [line for line in line_diff.of_texts("", old, new, context=0)[2:] if not line.startswith("@@")]
    return bool(changed) and set(changed) <= set(text.split("\n"))
