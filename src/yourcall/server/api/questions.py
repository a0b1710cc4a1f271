"""Questions of scripts over HTTP: raised, waited for, taken, withdrawn.

Rule: an answer is confirmed when the script says that it has it, not when it was sent to it. An agent's process
speaks only for what that agent asked.
"""

from __future__ import annotations

import asyncio

from msgspec import Raw
from starlette.requests import Request

from yourcall.agents.script.requests import LINK, Ask, raised_by
from yourcall.core.lifecycle import IN_FLIGHT
from yourcall.core.safety import chosen
from yourcall.model.prompts import Prompt, Refused
from yourcall.server.auth import Refusal
from yourcall.server.peers import asks_as, not_its_own
from yourcall.server.ports import ScriptQuestions, StoredRows
from yourcall.server.route import Call, Reply, body
from yourcall.server.views import story
from yourcall.server.wire import AskView, GivenView, TakenRequest, WaitRequest

_CANNOT = Refusal(404, "Nothing can be asked here.")
_UNKNOWN = Refusal(404, "No script asked this. To see what waits: yourcall ls")


async def ask(call: Call) -> Reply | Refusal:
    asked = await body(call.request, Ask)
    if isinstance(asked, Refusal):
        return asked
    if call.asks is None:
        return _CANNOT
    prompt = await call.asks.ask(asked, await asks_as(call.ties, call.caller))
    if isinstance(prompt, Refused):
        return Refusal(409 if "this id" in prompt.reason else 400, prompt.reason)
    return Reply(ask_view(prompt, call.desk.store), 201)


async def wait(call: Call) -> Reply | Refusal:
    asked = await body(call.request, WaitRequest)
    if isinstance(asked, Refusal):
        return asked
    match = await _mine(call)
    if isinstance(match, Refusal):
        return match
    asks, prompt = match
    waiting = asyncio.ensure_future(asks.wait(prompt.id, asked.wait))
    left = asyncio.ensure_future(_left(call.request))
    try:
        await asyncio.wait((waiting, left), return_when=asyncio.FIRST_COMPLETED)
    finally:
        for task in (waiting, left):
            task.cancel()
        await asyncio.gather(waiting, left, return_exceptions=True)
    row = None if waiting.cancelled() else waiting.result()
    return Reply(ask_view(row or prompt, call.desk.store))


async def taken(call: Call) -> Reply | Refusal:
    asked = await body(call.request, TakenRequest)
    if isinstance(asked, Refusal):
        return asked
    match = await _mine(call)
    if isinstance(match, Refusal):
        return match
    asks, prompt = match
    row = await asks.taken(prompt.id, asked.answer)
    if row is None or row.state != "confirmed":
        return Refusal(409, "The question was answered differently.")
    return Reply(ask_view(row, call.desk.store))


async def withdraw(call: Call) -> Reply | Refusal:
    match = await _mine(call)
    if isinstance(match, Refusal):
        return match
    asks, prompt = match
    return Reply(ask_view(await asks.withdraw(prompt.id) or prompt, call.desk.store))


def ask_view(prompt: Prompt, shelf: StoredRows) -> AskView:
    detail = prompt.history[-1].detail if prompt.history else ""
    given = _given(prompt)
    if given is not None:
        return AskView(prompt.id, "answered", detail, given, story(prompt, shelf))
    over = prompt.state not in ("open", *IN_FLIGHT)
    return AskView(prompt.id, "withdrawn" if over else "waiting", detail, None, story(prompt, shelf))


def _given(prompt: Prompt) -> GivenView | None:
    """The answer, once it is in the box; while it is on its way somebody's row may still say otherwise."""
    answer = prompt.answer
    if answer is None or prompt.state not in ("sent", "confirmed", "unsure"):
        return None
    return GivenView(
        id=answer.id,
        by=answer.by,
        options=tuple(option.id for option in chosen(prompt, answer)),
        text="\n".join(answer.texts.values()),
        input=None if answer.input is None else Raw(answer.input.encode()),
    )


async def _mine(call: Call) -> tuple[ScriptQuestions, Prompt] | Refusal:
    if call.asks is None:
        return _CANNOT
    name = call.part("id")
    prompt = call.desk.store.prompt(name) if len(name) <= 64 else None
    if prompt is None or prompt.link != LINK:
        return _UNKNOWN
    askers = raised_by(call.desk.store.body(prompt.request))
    no = await not_its_own(call.ties, call.caller, askers, prompt)
    return Refusal(403, f"{no.reason}.") if no is not None else (call.asks, prompt)


async def _left(request: Request) -> None:
    """The body was read: whatever comes now is the end of the connection."""
    while (await request.receive())["type"] != "http.disconnect":
        pass
