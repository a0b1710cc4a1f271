"""Prompts, sessions and the log over HTTP.

Rule: reads come from rows that are on disk; an answer is handed to the desk as it is meant, and the reply says
what became of it and nothing more.
"""

from __future__ import annotations

import asyncio
import secrets
from collections.abc import Mapping, Sequence

import msgspec
from msgspec.structs import replace

from yourcall import __version__
from yourcall.agents.assess import edited
from yourcall.core.lifecycle import CLOSED
from yourcall.core.outcomes import final
from yourcall.core.prompt_version import act_of
from yourcall.core.queue_order import in_order, place
from yourcall.core.safety import chosen, confirmation, too_late
from yourcall.model.prompts import Answer, Prompt, Refused, Verdict
from yourcall.server.auth import Refusal
from yourcall.server.fleet.port import Kind
from yourcall.server.gestures import LONGEST_WORDS, missing
from yourcall.server.option_matching import AnswerWords, understand
from yourcall.server.peers import ANSWER, author_of, lasting_refusal, name_of
from yourcall.server.ports import Rows, StoredRows
from yourcall.server.route import MOST_ROWS, Call, Reply, body, flag, number, rows
from yourcall.server.step_up import StepUp
from yourcall.server.views import encoded, head_view, log_line, prompt_view, session_view, story
from yourcall.server.wire import AnswerReply, AnswerRequest, EditedRequest, JudgedView, LogLine, Status

# What is longer cannot be an id, and is not looked for.
_LONGEST_ID = 200

_STATUS: Mapping[str, int] = {"approved": 202, "too_late": 409, "bounced": 409, "unsure": 409, "refused": 422}


async def list_prompts(call: Call) -> Reply | Refusal:
    shelf = call.desk.store
    if not flag(call.request, "all"):
        waiting = in_order([prompt for prompt in shelf.live()[0] if prompt.state not in CLOSED])
        return await _with_others(
            call, "prompts", [place(each) for each in waiting], await _listed(waiting, shelf)
        )
    limit, before = rows(call.request, 100), number(call.request, "before")
    if isinstance(limit, Refusal):
        return limit
    if isinstance(before, Refusal):
        return before
    prompts = shelf.prompts(open_only=False, limit=limit, before=before)
    return await _listed(prompts, shelf)


async def _listed(prompts: list[Prompt], shelf: StoredRows) -> Reply:
    as_of = _as_of(shelf)
    return Reply(
        await encoded(lambda: [prompt_view(prompt, shelf) for prompt in prompts], prompts, shelf), headers=as_of
    )


async def _with_others(
    call: Call, kind: Kind, places: Sequence[tuple[float, float, str]], own: Reply
) -> Reply | Refusal:
    """The list with the rows of other machines, each in its place; with `host`, those of one machine."""
    named = call.request.query_params.get("host", "")
    if call.fleet is None:
        return Refusal(404, "This machine is in no fleet.") if named else own
    host = call.fleet.host(named) if named else ""
    if isinstance(host, Refused):
        return Refusal(404, host.reason)
    others = [each for each in await call.fleet.listed(kind) if host in ("", each.host)]
    if not others and host in ("", call.fleet.me.id):
        return own
    mine = msgspec.json.decode(msgspec.json.encode(own.value), type=list[msgspec.Raw])
    rows = list(zip(places, mine, strict=True)) if host in ("", call.fleet.me.id) else []
    rows += [(each.place, each.view) for each in others]
    return replace(own, value=[view for _, view in sorted(rows, key=lambda row: row[0])])


def _as_of(rows: StoredRows) -> Mapping[str, str]:
    """Which change a list already holds: a feed that begins there need not fetch it again."""
    return {"Yourcall-Seq": str(rows.last_seq)}


async def show_prompt(call: Call) -> Reply | Refusal:
    prompt = find_prompt(call.desk.store, call.part("id"))
    if isinstance(prompt, Refusal):
        return prompt
    shelf = call.desk.store
    return Reply(await encoded(lambda: story(prompt, shelf), [prompt], shelf))


async def judge_edited(call: Call) -> Reply | Refusal:
    asked = await body(call.request, EditedRequest)
    if isinstance(asked, Refusal):
        return asked
    prompt = find_prompt(call.desk.store, call.part("id"))
    if isinstance(prompt, Refusal):
        return prompt
    given = _object(asked.input)
    if isinstance(given, Refusal):
        return given
    judged = await asyncio.to_thread(edited, prompt, given.encode())
    reasons = {o.id: confirmation(o, judged.risk) for question in prompt.questions for o in question.options}
    return Reply(JudgedView(judged.action, judged.risk, {id: why for id, why in reasons.items() if why}))


async def answer_prompt(call: Call) -> Reply | Refusal:
    asked = await body(call.request, AnswerRequest)
    if isinstance(asked, Refusal):
        return asked
    name = call.part("id")
    prompt = call.desk.prompt(name) or find_prompt(call.desk.store, name)
    if isinstance(prompt, Refusal):
        return prompt
    changed = None if bytes(asked.input) in (b"", b"null") else _object(asked.input)
    if isinstance(changed, Refusal):
        return changed
    choice = understand(prompt, AnswerWords(asked.option, asked.question, asked.text, asked.choices, asked.texts))
    if isinstance(choice, Refused):
        # Whoever is too late wants to hear that, not how to spell the option.
        return _verdict(
            call,
            too_late(prompt, call.caller.by if call.caller.device_id else "") or Verdict("refused", choice.reason),
            prompt,
        )
    author = await author_of(call.ties, call.caller, ANSWER, prompt)
    if isinstance(author, Refused):
        return _verdict(call, Verdict("refused", author.reason), call.desk.prompt(prompt.id))
    # As it stands now: an option's id may mean something else than a moment ago.
    lasting = lasting_refusal(call.caller, author, call.desk.prompt(prompt.id) or prompt, choice.choices)
    if lasting is not None and author.supervisor:
        return _verdict(call, Verdict("refused", lasting), call.desk.prompt(prompt.id))
    if lasting is not None:
        return Refusal(403, lasting)
    answer = Answer(
        id=call.caller.act.id if call.caller.act is not None else secrets.token_hex(12),
        by=name_of(call.caller, author),
        via=call.caller.via,
        choices=choice.choices,
        texts=choice.texts,
        input=changed,
        sure=asked.sure,
        seen=asked.seen,
        author_certainty=author.certainty,
        device=call.caller.device_id,
        proof=call.gesture,
    )
    if prompt.kind in ("ready", "problem"):  # it is told what to do next
        await call.devices.note_wish(call.caller.device_id, prompt.session_id)
    verdict, after = await call.desk.answer(prompt.id, answer, asked.wait)
    if verdict.needs == "passkey" and call.step_up is not None and after is not None:
        return _takes_passkey(call, call.step_up, after, answer, verdict)
    return _verdict(call, verdict, after)


def _takes_passkey(call: Call, step_up: StepUp, prompt: Prompt, answer: Answer, verdict: Verdict) -> Reply:
    """What is to be signed is made from the prompt as it stands here, not from what the client says of it."""
    if answer.seen == "" and call.caller.device_id:
        return _verdict(call, Verdict("refused", f"{verdict.detail} Say which version was seen: `seen`."), prompt)
    text = ", ".join(option.label for option in chosen(prompt, answer)) or "an answer"
    if answer.input is not None:
        text += f", edited: {answer.input}"
    wording = f"{text}: {prompt.title}" + (f" ({prompt.cwd})" if prompt.cwd else "")
    act = act_of(prompt, answer)
    return missing(step_up, call.request, act, call.caller, wording[:LONGEST_WORDS], verdict.detail)


async def dismiss_prompt(call: Call) -> Reply | Refusal:
    prompt = find_prompt(call.desk.store, call.part("id"))
    if isinstance(prompt, Refusal):
        return prompt
    verdict = await call.desk.dismiss(prompt.id, call.caller.by)
    if verdict.result != "confirmed":
        return Refusal(409, verdict.detail)
    after, shelf = call.desk.store.prompt(prompt.id) or prompt, call.desk.store
    return Reply(await encoded(lambda: story(after, shelf), [after], shelf))


async def list_sessions(call: Call) -> Reply | Refusal:
    if flag(call.request, "ended"):
        limit = rows(call.request, 50)
        if isinstance(limit, Refusal):
            return limit
        return Reply([session_view(session) for session in call.desk.store.ended(limit)])
    sessions = sorted(call.desk.store.live()[1], key=lambda session: (-session.seen_at, session.id))
    listed = Reply([session_view(session) for session in sessions], headers=_as_of(call.desk.store))
    return await _with_others(call, "sessions", [(0.0, -each.seen_at, each.id) for each in sessions], listed)


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
    states, sessions = call.desk.store.counts()
    waiting = {state: count for state, count in states.items() if state not in CLOSED}
    paused = call.rules is not None and call.rules.paused
    store = call.desk.store
    locked = call.lockdown is not None and call.lockdown.now is not None
    return Reply(Status(__version__, store.last_seq, waiting, sessions, paused, locked, head_view(store.head())))


def find_prompt(store: Rows, name: str) -> Prompt | Refusal:
    """The prompt of this id, or of the one id that starts like this."""
    unknown = Refusal(404, f"There is no prompt {name[:40]!r}. To see what waits: yourcall ls")
    if len(name) > _LONGEST_ID:
        return unknown
    prompt = store.prompt(name)
    if prompt is not None:
        return prompt
    ids = store.matching(name)
    if len(ids) > 1:
        return Refusal(404, f"{len(ids)} or more prompts start with {name!r}; give more letters: {', '.join(ids)}")
    return (store.prompt(ids[0]) if ids else None) or unknown


def _object(given: msgspec.Raw) -> str | Refusal:
    """An edited tool input as JSON text, exactly as it was sent."""
    wrong = Refusal(400, "The body is not as expected: `input` must be a JSON object, the tool's whole input.")
    try:
        value = msgspec.json.decode(given)
    except (ValueError, RecursionError):
        return wrong
    return bytes(given).decode() if isinstance(value, dict) else wrong


def _verdict(call: Call, verdict: Verdict, prompt: Prompt | None) -> Reply:
    seen = None if prompt is None else story(prompt, call.desk.store)
    value = AnswerReply(verdict.result, verdict.detail, verdict.by, verdict.at, seen)
    return Reply(value, _STATUS.get(verdict.result, 200 if final(verdict) else 202))
