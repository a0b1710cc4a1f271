"""A ready `can_use_tool` for programs built on the Claude Agent SDK.

Rule: whatever goes wrong is a deny that says so, never an allow.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from importlib import import_module
from typing import Any

from yourcall.client.awaited import AsyncYourcall
from yourcall.client.words import Choice, YourcallError


def can_use_tool(
    client: AsyncYourcall | None = None, *, name: str = "", timeout: float | None = None
) -> Callable[[str, dict[str, Any], Any], Awaitable[Any]]:
    """A ready `can_use_tool` for programs built on the Claude Agent SDK: each permission becomes a prompt here.

    `ClaudeAgentOptions(can_use_tool=can_use_tool(name="release-bot"))`. An answer that does not come (a timeout,
    no daemon) is a deny that says so, never an allow.
    """
    desk = client or AsyncYourcall()

    async def ask(tool: str, given: dict[str, Any], context: Any) -> Any:
        # Whoever calls this has it; it is no dependency of ours, being some hundred megabytes.
        sdk: Any = import_module("claude_agent_sdk")
        suggested: list[Any] = list(getattr(context, "suggestions", None) or [])
        options = [
            Choice("Allow", "allow", "Runs this one call; the next one is asked again.", "allow_once"),
            *([_remember(suggested)] if suggested else []),
            Choice("Deny", "deny", "Refuses this call, with your reason if you give one.", "deny"),
            Choice("Deny and stop", "stop", "Refuses this call and stops the turn.", "stop"),
        ]
        asked = f"May {name or 'this program'} use {tool}?"
        call = {"name": tool, "input": given}
        try:
            said = await desk.ask(
                asked, options, text=True, name=name, timeout=timeout, kind="permission", tool=call
            )
        except YourcallError as error:
            return sdk.PermissionResultDeny(message=f"Nobody could be asked: {error}")
        match said.option:
            case "allow":
                return sdk.PermissionResultAllow(updated_input=said.input)
            case "remember":
                return sdk.PermissionResultAllow(updated_input=said.input, updated_permissions=suggested)
            case word:
                return sdk.PermissionResultDeny(
                    message=said.text or "The person said no.", interrupt=word == "stop"
                )

    return ask


def _remember(suggested: list[Any]) -> Choice:
    lasting = any(getattr(each, "destination", "session") != "session" for each in suggested)
    effect = "allow_always" if lasting else "allow_session"
    return Choice("Allow and don't ask again", "remember", "Takes over the rules that the agent suggests.", effect)
