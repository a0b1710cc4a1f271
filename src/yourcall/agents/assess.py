"""What the tool of a prompt would do, and how risky a yes to it is: from the stored request, for any agent.

Rule: the one place where a request becomes an action and a verdict; whoever shows or answers a prompt asks here,
and gets the same. It is worked out once for a request, not each time it is shown.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Collection, Mapping
from typing import Any

import msgspec
from msgspec import Raw, Struct

from yourcall.agents.kit import actions
from yourcall.agents.registry import AGENTS
from yourcall.core.safety import REFUSING, confirmation
from yourcall.model.action import ActionView
from yourcall.model.prompts import Prompt, Risk

# More prompts than anybody has open at once; an entry is a sentence, and an action that is not large.
KEPT = 500
LARGE = 32 * 1024


class Assessment(Struct, frozen=True):
    action: ActionView | None
    risk: Risk


class _Request(Struct):
    tool_input: Raw = Raw(b"null")  # not `Raw | None`: msgspec then takes nothing but null


_known: OrderedDict[tuple[object, ...], tuple[Assessment, bool]] = OrderedDict()


def assessed(prompt: Prompt, body: bytes | None) -> Assessment:
    """The verdict on this prompt. `body`: what the agent sent, verbatim."""
    if prompt.kind != "permission":  # told by the prompt's own words
        return Assessment(None, _judge(prompt, None))
    tool = prompt.tool.name if prompt.tool is not None else None
    key = (prompt.id, prompt.request, tool, prompt.cwd, prompt.needs_confirmation, len(body or b""))
    known = _known.get(key)
    if known is not None and known[1]:
        return known[0]
    action = _action(prompt, input_of(body))
    if known is not None:
        return Assessment(action, known[0].risk)
    assessment = Assessment(action, _judge(prompt, action))
    whole = len(body or b"") <= LARGE
    _known[key] = (assessment if whole else Assessment(None, assessment.risk), whole)
    while len(_known) > KEPT:
        _known.popitem(last=False)
    return assessment


def edited(prompt: Prompt, tool_input: bytes) -> Assessment:
    """The same, if the tool got this input instead of its own."""
    action = _action(prompt, tool_input)
    return Assessment(action, _judge(prompt, action))


def unconfirmed(prompt: Prompt, body: bytes | None, choices: Mapping[str, Collection[str]]) -> str:
    """Why these choices need a confirmation; empty if they need none."""
    picked = [o for q in prompt.questions for o in q.options if o.id in choices.get(q.id, ())]
    if any(option.effect in REFUSING for option in picked):
        return ""
    risk = assessed(prompt, body).risk
    alone = risk.reason if risk.level != "low" and not picked else ""
    return next((why for option in picked if (why := confirmation(option, risk))), alone)


def input_of(body: bytes | None) -> bytes | None:
    """The tool's input exactly as the agent wrote it, if the body can be read at all."""
    if body is None:
        return None
    try:
        data = bytes(msgspec.json.decode(body, type=_Request).tool_input)
        # A Raw is not looked into when it is decoded: bytes that are no text would break a whole reply.
        data.decode()
    except (ValueError, RecursionError):
        return None
    return data


def _action(prompt: Prompt, tool_input: bytes | None) -> ActionView | None:
    if prompt.kind != "permission" or prompt.tool is None or tool_input is None:
        return None
    try:
        fields = msgspec.json.decode(tool_input, type=dict[str, Any])
    except (ValueError, RecursionError):
        return None
    agent = AGENTS.get(prompt.agent)
    return actions.action(prompt.tool.name, fields, agent.tools if agent is not None else {}, prompt.cwd)


def _judge(prompt: Prompt, action: ActionView | None) -> Risk:
    from yourcall.rules import risk as rules  # reads commands, which nobody needs before the first is asked

    return rules.risk(prompt, action)
