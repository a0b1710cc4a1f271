"""Rules over HTTP: what they say, what they would say, and how one is made and taken back.

Rule: nothing here decides; a rule is made only by a request that names it, and never by answering.
"""

from __future__ import annotations

from yourcall.model.prompts import Prompt, Refused
from yourcall.server.api.prompts import find_prompt
from yourcall.server.auth import Refusal
from yourcall.server.ports import RuleViews
from yourcall.server.route import Call, Reply, body
from yourcall.server.wire import Do, Done, DryRunRequest, RuleRequest, RuleTestRequest

_WORDS: dict[str, Do] = {"allow": "allow", "deny": "deny", "ask": "ask", "hold": "hold"}


def _desk(call: Call) -> RuleViews | Refusal:
    return call.rules.desk() if call.rules is not None else Refusal(404, "There are no rules here.")


def _prompt(call: Call) -> tuple[RuleViews, Prompt] | Refusal:
    desk = _desk(call)
    prompt = find_prompt(call.desk.store, call.part("id"))
    if isinstance(desk, Refusal):
        return desk
    return prompt if isinstance(prompt, Refusal) else (desk, prompt)


async def list_rules(call: Call) -> Reply | Refusal:
    desk = _desk(call)
    return (
        desk if isinstance(desk, Refusal) else Reply(desk.listed(call.request.query_params.get("cwd", "")[:4096]))
    )


async def add_rule(call: Call) -> Reply | Refusal:
    asked = await body(call.request, RuleRequest)
    desk = _desk(call)
    if isinstance(asked, Refusal):
        return asked
    if isinstance(desk, Refusal):
        return desk
    if bool(asked.prompt) == bool(asked.text):
        return Refusal(400, "Say either which prompt the rule is like, or its text.")
    prompt = find_prompt(call.desk.store, asked.prompt) if asked.prompt else None
    if isinstance(prompt, Refusal):
        return prompt
    added = await desk.added(prompt, asked, call.caller.author)
    return Refusal(422, added.reason) if isinstance(added, Refused) else Reply(added, 201)


async def remove_rule(call: Call) -> Reply | Refusal:
    desk = _desk(call)
    if isinstance(desk, Refusal):
        return desk
    wrong = desk.removed(call.part("name"), call.caller.author)
    return Refusal(404, wrong.reason) if wrong else Reply(Done())


async def undo(call: Call) -> Reply | Refusal:
    desk = _desk(call)
    if isinstance(desk, Refusal):
        return desk
    wrong = desk.undone(call.request.query_params.get("removed", "")[:64], call.caller.author)
    return Refusal(422, wrong.reason) if wrong else Reply(Done())


async def test_rules(call: Call) -> Reply | Refusal:
    asked = await body(call.request, RuleTestRequest)
    desk = _desk(call)
    if isinstance(asked, Refusal):
        return asked
    return desk if isinstance(desk, Refusal) else Reply(desk.tested(asked.command, asked.cwd, asked.agent))


async def dry_run(call: Call) -> Reply | Refusal:
    desk = _desk(call)
    return desk if isinstance(desk, Refusal) else Reply(await desk.tried())


async def dry_run_with(call: Call) -> Reply | Refusal:
    asked = await body(call.request, DryRunRequest)
    desk = _desk(call)
    if isinstance(asked, Refusal):
        return asked
    if isinstance(desk, Refusal):
        return desk
    view = await desk.tried_with(asked.organisation)
    return Refusal(422, view.reason) if isinstance(view, Refused) else Reply(view)


async def explain(call: Call) -> Reply | Refusal:
    match = _prompt(call)
    if isinstance(match, Refusal):
        return match
    view = match[0].explained(match[1])
    return Refusal(422, view.reason) if isinstance(view, Refused) else Reply(view)


async def propose(call: Call) -> Reply | Refusal:
    match = _prompt(call)
    if isinstance(match, Refusal):
        return match
    do = _WORDS.get(call.request.query_params.get("do", "allow"))
    if do is None:
        return Refusal(400, f"`do` must be one of: {', '.join(_WORDS)}.")
    view = await match[0].proposed(match[1], do)
    return Refusal(422, view.reason) if isinstance(view, Refused) else Reply(view)


async def pause(call: Call) -> Reply | Refusal:
    desk = _desk(call)
    if isinstance(desk, Refusal):
        return desk
    desk.pause(call.caller.author)
    return Reply(Done())


async def resume(call: Call) -> Reply | Refusal:
    desk = _desk(call)
    if isinstance(desk, Refusal):
        return desk
    desk.resume(call.caller.author)
    return Reply(Done())


async def report(call: Call) -> Reply | Refusal:
    desk = _desk(call)
    return desk if isinstance(desk, Refusal) else Reply(await desk.report())
