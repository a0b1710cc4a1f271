"""Claude's tool calls and offers in plain words: the title, the body, and what each option will really do.

Rule: text from the model is passed on as it is (every front end renders it inert); what we add ourselves states
the exact scope, and an offer we cannot put into words is not offered.
"""

from __future__ import annotations

from difflib import unified_diff
from typing import cast

import msgspec

from yourcall.agents.claude.wire import Suggestion
from yourcall.model import Option

LONGEST_TITLE = 200
LONGEST_BODY = 20_000

WHERE = {
    "session": "until this session ends",
    "localSettings": "from now on in this project, for you (.claude/settings.local.json)",
    "projectSettings": "from now on in this project, for everybody who works on it (.claude/settings.json)",
    "userSettings": "from now on in all your projects (your own settings.json)",
}

# Offered by nobody but the person at the desk: each of these switches the asking itself off.
NOT_FROM_AFAR = frozenset({"bypassPermissions", "auto", "dontAsk"})


def input_of(raw: msgspec.Raw) -> dict[str, object]:
    try:
        return msgspec.json.decode(raw, type=dict[str, object])
    except msgspec.DecodeError:
        return {}


def text_of(fields: dict[str, object], *names: str) -> str:
    return next((v for name in names if isinstance(v := fields.get(name), str) and v), "")


def title(tool: str, fields: dict[str, object]) -> str:
    """One line that says what will happen."""
    match tool:
        case "Bash":
            said = text_of(fields, "command")
        case "Write" | "Edit" | "MultiEdit" | "NotebookEdit":
            said = f"{tool} {text_of(fields, 'file_path', 'notebook_path', 'path')}"
        case "WebFetch":
            said = f"Fetch {text_of(fields, 'url')}"
        case "WebSearch":
            said = f"Search the web: {text_of(fields, 'query')}"
        case _ if tool.startswith("mcp__"):
            server, _, name = tool.removeprefix("mcp__").partition("__")
            said = f"{name} ({server})"
        case _:
            said = tool
    lines = said.strip().splitlines() or [tool]
    more = " …" if len(lines) > 1 or len(lines[0]) > LONGEST_TITLE else ""
    return lines[0][:LONGEST_TITLE] + more


def body(tool: str, fields: dict[str, object]) -> str:
    """All that is needed to decide, as text; never cut silently."""
    match tool:
        case "Bash":
            parts = [text_of(fields, "description"), text_of(fields, "command")]
            said = "\n\n".join(part for part in parts if part)
        case "Write":
            said = f"{text_of(fields, 'file_path')}\n\n{text_of(fields, 'content')}"
        case "Edit":
            said = _diff(text_of(fields, "file_path"), [fields])
        case "MultiEdit":
            edits = fields.get("edits")
            every = cast("list[object]", edits) if isinstance(edits, list) else []
            dicts = [cast("dict[str, object]", edit) for edit in every if isinstance(edit, dict)]
            said = _diff(text_of(fields, "file_path"), dicts)
        case _:
            said = "\n".join(f"{name}: {_plain(value)}" for name, value in fields.items())
    if len(said) <= LONGEST_BODY:
        return said
    return said[:LONGEST_BODY] + f"\n… {len(said) - LONGEST_BODY:,} more characters (in the tool's input)"


def _plain(value: object) -> str:
    return value if isinstance(value, str) else msgspec.json.encode(value).decode()


def _diff(path: str, edits: list[dict[str, object]]) -> str:
    lines: list[str] = []
    for edit in edits:
        old, new = text_of(edit, "old_string"), text_of(edit, "new_string")
        lines += unified_diff(old.splitlines(), new.splitlines(), path, path, lineterm="")
        if edit.get("replace_all") is True:
            lines.append("(every occurrence)")
    return "\n".join(lines) or path


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
