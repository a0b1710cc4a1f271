"""Prompts, sessions and the log over HTTP.

Rule: reads come from rows that are on disk; an answer is handed to the desk as it is meant, and the reply says
what became of it and nothing more.
"""

from __future__ import annotations

import secrets
from collections import Counter
from collections.abc import Mapping

import msgspec

from yourcall import __version__
from yourcall.core.lifecycle import CLOSED
from yourcall.core.safety import too_late
from yourcall.core.verdicts import final
from yourcall.model import Answer, Prompt, Refused, Verdict
from yourcall.server.auth import Refusal
from yourcall.server.choosing import Words, understand
from yourcall.server.needs import Rows
from yourcall.server.route import MOST_ROWS, Call, Reply, body, flag, number, rows
from yourcall.server.view import log_line, prompt_view, session_view, story
from yourcall.server.wire import AnswerReply, AnswerRequest, LogLine, Status

# What is longer cannot be an id, and is not looked for.
_LONGEST_ID = 200

_STATUS: Mapping[str, int] = {"too_late": 409, "bounced": 409, "unsure": 409, "refused": 422}


async def list_prompts(call: Call) -> Reply | Refusal:
    shelf = call.desk.store
    if not flag(call.request, "all"):
        waiting = [prompt for prompt in shelf.live()[0] if prompt.state not in CLOSED]
        waiting.sort(key=lambda prompt: (prompt.opened_at, prompt.id))
        return Reply([prompt_view(prompt, shelf) for prompt in waiting])
    limit, before = rows(call.request, 100), number(call.request, "before")
    if isinstance(limit, Refusal):
        return limit
    if isinstance(before, Refusal):
        return before
    found = shelf.prompts(open_only=False, limit=limit, before=before)
    return Reply([prompt_view(prompt, shelf) for prompt in found])


async def show_prompt(call: Call) -> Reply | Refusal:
    prompt = find_prompt(call.desk.store, call.part("id"))
    return prompt if isinstance(prompt, Refusal) else Reply(story(prompt, call.desk.store))


async def answer_prompt(call: Call) -> Reply | Refusal:
    asked = await body(call.request, AnswerRequest)
    if isinstance(asked, Refusal):
        return asked
    name = call.part("id")
    prompt = call.desk.prompt(name) or find_prompt(call.desk.store, name)
    if isinstance(prompt, Refusal):
        return prompt
    edited = _edited(asked)
    if isinstance(edited, Refusal):
        return edited
    choice = understand(prompt, Words(asked.option, asked.question, asked.text, asked.choices, asked.texts))
    if isinstance(choice, Refused):
        # Whoever is too late wants to hear that, not how to spell the option.
        return _verdict(call, too_late(prompt) or Verdict("refused", choice.reason), prompt)
    answer = Answer(
        id=secrets.token_hex(12),
        by=call.caller.by,
        via=call.caller.via,
        choices=choice.choices,
        texts=choice.texts,
        input=edited,
        sure=asked.sure,
    )
    verdict, after = await call.desk.answer(prompt.id, answer, asked.wait)
    return _verdict(call, verdict, after)


async def list_sessions(call: Call) -> Reply | Refusal:
    if flag(call.request, "ended"):
        limit = rows(call.request, 50)
        if isinstance(limit, Refusal):
            return limit
        return Reply([session_view(session) for session in call.desk.store.ended(limit)])
    sessions = sorted(call.desk.store.live()[1], key=lambda session: (-session.seen_at, session.id))
    return Reply([session_view(session) for session in sessions])


async def read_log(call: Call) -> Reply | Refusal:
    limit, before = rows(call.request, 50), number(call.request, "before")
    if isinstance(limit, Refusal):
        return limit
    if isinstance(before, Refusal):
        return before
    lines: list[LogLine] = []
    while len(lines) < limit:
        page = call.desk.store.prompts(open_only=False, limit=MOST_ROWS, before=before)
        lines += [log_line(prompt) for prompt in page if prompt.state != "open"]
        if len(page) < MOST_ROWS:
            break
        before = page[-1].opened_at
    # Not between two of the same instant: the next page begins before it.
    ends = next((n for n in range(limit, len(lines)) if lines[n].opened_at != lines[n - 1].opened_at), len(lines))
    return Reply(lines[:ends])


async def status(call: Call) -> Reply | Refusal:
    prompts, sessions = call.desk.store.live()
    waiting = Counter(prompt.state for prompt in prompts if prompt.state not in CLOSED)
    paused = call.rules is not None and call.rules.paused
    return Reply(Status(__version__, call.desk.store.last_seq, dict(waiting), len(sessions), paused))


def find_prompt(store: Rows, name: str) -> Prompt | Refusal:
    """The prompt of this id, or of the one id that starts like this."""
    unknown = Refusal(404, "There is no such prompt. See which there are: GET /api/prompts, or: yourcall ls")
    if len(name) > _LONGEST_ID:
        return unknown
    prompt = store.prompt(name)
    if prompt is not None:
        return prompt
    ids = store.matching(name)
    if len(ids) > 1:
        return Refusal(404, f"{len(ids)} or more prompts start with {name!r}; give more letters: {', '.join(ids)}")
    return (store.prompt(ids[0]) if ids else None) or unknown


def _edited(asked: AnswerRequest) -> str | Refusal | None:
    """The edited tool input as JSON text, exactly as it was sent."""
    if bytes(asked.input) in (b"", b"null"):
        return None
    wrong = Refusal(400, "The body is not as expected: `input` must be a JSON object, the tool's whole input.")
    try:
        value = msgspec.json.decode(asked.input)
    except (ValueError, RecursionError):
        return wrong
    return bytes(asked.input).decode() if isinstance(value, dict) else wrong


def _verdict(call: Call, verdict: Verdict, prompt: Prompt | None) -> Reply:
    seen = None if prompt is None else story(prompt, call.desk.store)
    value = AnswerReply(verdict.result, verdict.detail, verdict.by, verdict.at, seen)
    return Reply(value, _STATUS.get(verdict.result, 200 if final(verdict) else 202))
