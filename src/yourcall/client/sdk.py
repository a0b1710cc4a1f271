"""A ready `can_use_tool` for programs built on the Claude Agent SDK.

Rule: whatever goes wrong is a deny that says so, never an allow.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from importlib import import_module
from typing import Any

import msgspec
from msgspec import Struct

from yourcall.client.asynchronous import AsyncYourcall
from yourcall.client.messages import Choice, YourcallError

QUESTION_TOOL = "AskUserQuestion"


def can_use_tool(
    client: AsyncYourcall | None = None, *, name: str = "", timeout: float | None = None
) -> Callable[[str, dict[str, Any], Any], Awaitable[Any]]:
    """A ready `can_use_tool` for programs built on the Claude Agent SDK: each permission becomes a prompt here,
    and each question that Claude asks becomes a question.

    `ClaudeAgentOptions(can_use_tool=can_use_tool(name="release-bot"))`. An answer that does not come (a timeout,
    no daemon) is a deny that says so, never an allow.
    """
    desk = client or AsyncYourcall()

    async def ask(tool: str, given: dict[str, Any], context: Any) -> Any:
        # Whoever calls this has it; it is no dependency of ours, being some hundred megabytes.
        sdk: Any = import_module("claude_agent_sdk")
        try:
            if tool == QUESTION_TOOL and (questions := _questions(given)):
                answers = {each.question: await _answer(desk, each, name, timeout) for each in questions}
                return sdk.PermissionResultAllow(updated_input={**given, "answers": answers})
            return await _permission(desk, sdk, tool, given, context, name, timeout)
        except YourcallError as error:
            return sdk.PermissionResultDeny(message=f"The question could not be asked: {error}")

    return ask


class _Option(Struct, frozen=True):
    label: str
    description: str = ""


class _Question(Struct, frozen=True):
    question: str
    options: list[_Option]
    multiSelect: bool = False


def _questions(given: dict[str, Any]) -> list[_Question]:
    """What is asked, if all of it has the shape that Claude documents; else it is a call like any other."""
    try:
        return msgspec.convert(given.get("questions"), list[_Question])
    except msgspec.ValidationError:
        return []


async def _answer(desk: AsyncYourcall, question: _Question, name: str, patience: float | None) -> str:
    """One question, asked of the person; the answer as Claude takes it: labels, or the person's own words."""
    choices = [Choice(each.label, f"o{n}", each.description) for n, each in enumerate(question.options, 1)]
    answered = await desk.ask(
        question.question, choices, text=True, multi=question.multiSelect, name=name, timeout=patience
    )
    labels = {choice.id: choice.label for choice in choices}
    return ", ".join([*(labels[id] for id in answered.options), *([answered.text] if answered.text else [])])


async def _permission(
    desk: AsyncYourcall,
    sdk: Any,
    tool: str,
    given: dict[str, Any],
    context: Any,
    name: str,
    patience: float | None,
) -> Any:
    suggested: list[Any] = list(getattr(context, "suggestions", None) or [])
    options = [
        Choice("Allow", "allow", "Runs this one call; the next one is asked again.", "allow_once"),
        *([_remember(suggested)] if suggested else []),
        Choice("Deny", "deny", "Refuses this call, with your reason if you give one.", "deny"),
        Choice("Deny and stop", "stop", "Refuses this call and stops the turn.", "stop"),
    ]
    asked = f"May {name or 'this program'} use {tool}?"
    call = {"name": tool, "input": given}
    answered = await desk.ask(asked, options, text=True, name=name, timeout=patience, kind="permission", tool=call)
    match answered.option:
        case "allow":
            return sdk.PermissionResultAllow(updated_input=answered.input)
        case "remember":
            return sdk.PermissionResultAllow(updated_input=answered.input, updated_permissions=suggested)
        case word:
            return sdk.PermissionResultDeny(
                message=answered.text or "The person said no.", interrupt=word == "stop"
            )


def _remember(suggested: list[Any]) -> Choice:
    lasting = any(getattr(each, "destination", "session") != "session" for each in suggested)
    effect = "allow_always" if lasting else "allow_session"
    return Choice("Allow and don't ask again", "remember", "Takes over the rules that the agent suggests.", effect)
