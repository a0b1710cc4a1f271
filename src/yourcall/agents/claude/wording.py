"""Claude's permission requests and offers in plain words: the body, and what each option will really do.

Rule: text from the model is passed on as it is (every front end renders it inert); what we add ourselves states
the exact scope, and an offer we cannot put into words is not offered.
"""

from __future__ import annotations

from msgspec import Raw

from yourcall.agents.claude import tools
from yourcall.agents.claude.tools import LONGEST_TITLE as LONGEST_TITLE
from yourcall.agents.claude.tools import input_of as input_of
from yourcall.agents.claude.tools import title as title
from yourcall.agents.claude.wire import Suggestion
from yourcall.agents.kit.wire import text_of as text_of
from yourcall.model.prompts import Option

LONGEST_BODY = 20_000

WHERE = {
    "session": "until this session ends",
    "localSettings": "from now on in this project, for you (.claude/settings.local.json)",
    "projectSettings": "from now on in this project, for everybody who works on it (.claude/settings.json)",
    "userSettings": "from now on in all your projects (your own settings.json)",
}

# Offered by nobody but the person at the desk: each of these switches the asking itself off.
NOT_FROM_AFAR = frozenset({"bypassPermissions", "auto", "dontAsk"})


def body(tool: str, fields: dict[str, object]) -> str:
    """All that is needed to decide, as text; never cut silently."""
    match tool:
        case "Bash":
            parts = [text_of(fields, "command"), text_of(fields, "description")]
            text = "\n\n".join(part for part in parts if part)
        case "Write":
            text = f"{text_of(fields, 'file_path')}\n\n{text_of(fields, 'content')}"
        case "Edit" | "MultiEdit":
            text = tools.diff(tool, fields) or "\n".join(tools.paths(fields))
        case _:
            text = tools.spelt(fields)
    return _cut(text)


def unread(given: Raw) -> str:
    """An input that we could not take apart, as it came: nobody shall allow what was not shown."""
    text = bytes(given).decode("utf-8", "replace").strip()
    return "" if text == "{}" else _cut(text)


def _cut(text: str) -> str:
    if len(text) <= LONGEST_BODY:
        return text
    return text[:LONGEST_BODY] + f"\n… {len(text) - LONGEST_BODY:,} more characters (in the tool's input)"


def remember_option(number: int, suggestion: Suggestion) -> Option | None:
    """Claude's own offer as an option with its exact scope, or None where we have no words for it."""
    where = WHERE.get(suggestion.destination)
    if where is None:
        return None
    effect = "allow_session" if suggestion.destination == "session" else "allow_always"
    match suggestion.type:
        case "addRules" if suggestion.behavior == "allow" and suggestion.rules:
            what = ", ".join(
                f"{r.toolName}({r.ruleContent})" if r.ruleContent else r.toolName for r in suggestion.rules
            )
            label, does = f"Allow and don't ask again for {what}", f"Allows {what} {where}."
        case "setMode" if suggestion.mode and suggestion.mode not in NOT_FROM_AFAR:
            label = f"Allow and switch to {suggestion.mode}"
            does = f"Allows this and switches the permission mode to {suggestion.mode} {where}."
            if suggestion.mode == "acceptEdits":
                label, does = "Allow and accept edits", f"Allows this; file edits are no longer asked for {where}."
        case "addDirectories" if suggestion.directories:
            what = ", ".join(suggestion.directories)
            label, does = f"Allow and add {what}", f"Allows this; Claude may also work in {what} {where}."
        case _:
            return None
    return Option(f"remember{number}", label, effect, does)
