"""From what was typed after `answer` and `show` to the prompt meant and the request to send.

Rule: what can be checked here is checked before anything is sent; a word that might mean two things is refused.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any, NamedTuple
from urllib.parse import quote

import click
from click.shell_completion import CompletionItem

from yourcall.cli.client import PATIENCE, call, get, refusal
from yourcall.cli.instance import Instance, Problem, default_home
from yourcall.cli.terminal.render import safe
from yourcall.cli.terminal.sheet import answer_command
from yourcall.cli.views import Judged, Prompt, Question, read

COMPLETES = 1.0  # whoever presses Tab waits no longer than this


class Typed(NamedTuple):
    words: tuple[str, ...] = ()
    question: str | None = None
    text: str | None = None
    edited: str | None = None
    sets: tuple[str, ...] = ()
    texts: tuple[str, ...] = ()


def fetch_raw(home: Path, prefix: str, timeout: float = PATIENCE) -> Any:
    """The prompt whose id begins like this, as the daemon tells it; none or several is bad usage."""
    if not prefix or "/" in prefix:
        raise Problem(
            f"{prefix!r} is no prompt's id. What is open is listed by: {Instance(home).command('ls')}", 2
        )
    reply = call(home, "GET", f"/api/prompts/{quote(prefix, safe='')}", timeout=timeout)
    if reply.status != 200:
        raise refusal(reply)
    return reply.data


def session_path(place: Instance, session: str, rest: str) -> str:
    """The route of a session whose id begins like this; what can be no id is bad usage."""
    if not session or "/" in session:
        raise Problem(f"{session!r} is no session's id. Sessions are listed by: {place.command('sessions')}", 2)
    return f"/api/sessions/{quote(session, safe='')}/{rest}"


def fetch(home: Path, prefix: str) -> Prompt:
    return read(fetch_raw(home, prefix), Prompt)


def judged(home: Path, prompt_id: str, edited: str) -> Judged:
    """The daemon's verdict on this input, as JSON text, instead of the tool's own."""
    path = f"/api/prompts/{quote(prompt_id, safe='')}/risk"
    reply = call(home, "POST", path, body=f'{{"input": {edited}}}')
    if reply.status != 200:
        raise refusal(reply)
    return read(reply.data, Judged)


def understood(prompt: Prompt, typed: Typed, place: Instance) -> dict[str, str]:
    """The request's fields, each as JSON text (so that an edited input goes out exactly as it was written)."""
    fields: dict[str, object] = {}
    pairs = [_pair(word, "--set", "QUESTION=OPTION") for word in typed.sets]
    bare: list[str] = []
    for word in typed.words:
        named = _question_named(prompt, word.partition("=")[0]) if "=" in word else None
        if named is not None and not _offered(prompt, word):
            pairs.append(_pair(word, named.id, "QUESTION=OPTION"))
        else:
            bare.append(word)
    if len(bare) == 1 and (len(prompt.questions) == 1 or typed.question is not None):
        fields["option"] = bare[0]  # the daemon also knows words such as allow and deny
    elif bare:
        pairs += [(_question_of(prompt, typed.question, word, place).id, word) for word in bare]
    if typed.question is not None:
        fields["question"] = typed.question
    if typed.text is not None:
        fields["text"] = typed.text
    choices: dict[str, list[str]] = {}
    for name, value in pairs:
        question = _question_named(prompt, name)
        id = question.id if question is not None else name
        choices.setdefault(id, []).append(value)  # the daemon takes `o1,o4` apart
    if choices:
        fields["choices"] = choices
    texts: dict[str, str] = {}
    for word in typed.texts:
        question, value = _pair(word, "--set-text", "QUESTION=TEXT")
        if question in texts:
            raise click.UsageError(f"--set-text {question}=… was given twice.")
        texts[question] = value
    if texts:
        fields["texts"] = texts
    request = {name: json.dumps(value) for name, value in fields.items()}
    if typed.edited is not None:
        request["input"] = edited_input(typed.edited)
    return request


def _question_named(prompt: Prompt, name: str) -> Question | None:
    """By its id, its header or its text."""
    plain = name.strip().casefold()
    for field in ("id", "header", "text"):
        alike = [question for question in prompt.questions if plain == getattr(question, field).casefold()]
        if plain and len(alike) == 1:
            return alike[0]
    return None


def _offered(prompt: Prompt, word: str) -> bool:
    return any(word in (option.id, option.label) for q in prompt.questions for option in q.options)


def _question_of(prompt: Prompt, named: str | None, word: str, place: Instance) -> Question:
    """The question that a word without a name answers: the named one, the only one, or the only one that offers
    this. A word that fits several questions is not guessed at."""
    if named is not None and (question := _question_named(prompt, named)) is not None:
        return question
    if len(prompt.questions) == 1:
        return prompt.questions[0]
    plain = word.casefold()
    alike = [q for q in prompt.questions if any(plain in (o.id, o.label.casefold()) for o in q.options)]
    if len(alike) == 1:
        return alike[0]
    why = "no question offers it" if not alike else f"{len(alike)} questions offer it"
    raise click.UsageError(f"{word!r} cannot be matched: {why}. {answer_command(prompt, place)}")


def _pair(word: str, flag: str, shape: str) -> tuple[str, str]:
    question, equals, value = word.partition("=")
    if not equals or not question or not value:
        raise click.UsageError(f"{flag} takes {shape}, not {word!r}.")
    return question, value


def edited_input(text: str) -> str:
    """The text itself, once it is sure to be a JSON object."""
    if text == "-":
        text = sys.stdin.read()
    try:
        value = json.loads(text, parse_constant=_no_number)
    except (ValueError, RecursionError) as error:
        raise click.UsageError(
            f"--input is not JSON ({error}); it is the tool's whole input, as an object."
        ) from error
    if not isinstance(value, dict):
        raise click.UsageError(
            "--input must be a JSON object: the tool's whole input, as `yourcall show` prints it."
        )
    return text.strip()


def _no_number(name: str) -> None:
    raise ValueError(f"{name} is no JSON")


def complete_id(ctx: click.Context, _parameter: click.Parameter, incomplete: str) -> list[CompletionItem]:
    """Open prompts' ids, with their titles, for the shell."""
    try:
        prompts = read(get(_home(ctx), "/api/prompts", timeout=COMPLETES), list[Prompt])
    except Problem:
        return []
    return [CompletionItem(p.id, help=safe(p.title)) for p in prompts if p.id.startswith(incomplete)]


def complete_option(ctx: click.Context, _parameter: click.Parameter, incomplete: str) -> list[CompletionItem]:
    """The options of the prompt that is already on the line."""
    try:
        prompt = read(fetch_raw(_home(ctx), str(ctx.params.get("prompt_id") or ""), COMPLETES), Prompt)
    except (Problem, UnicodeEncodeError):
        return []
    options = [o for q in prompt.questions for o in q.options]
    return [CompletionItem(safe(o.id), help=safe(o.label)) for o in options if o.id.startswith(incomplete)]


def _home(ctx: click.Context) -> Path:
    place = ctx.find_object(Instance)
    if place is not None:
        return place.home
    # While completing, no callback has run: the options of the outermost command hold what was typed.
    typed = ctx.find_root().params.get("home")
    return Path(typed or default_home()).expanduser().absolute()
