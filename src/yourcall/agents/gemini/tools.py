"""What a tool call of Gemini CLI is about, in words, and the mark by which its record is found again.

Rule: words are the CLI's and the model's own, cut to a length; nothing is concluded from them.
"""

from __future__ import annotations

from collections.abc import Mapping

import msgspec

from yourcall.agents.gemini.wire import AskInput, Details
from yourcall.agents.kit.wire import call_fingerprint, text_of
from yourcall.model.action import CallKind
from yourcall.model.prompts import Kind, Option, Question

LONGEST_TITLE = 200
LONGEST_BODY = 20_000
LONGEST_LABEL = 300

SHELL = "run_shell_command"
ASK = "ask_user"
PLAN = "exit_plan_mode"
WRITES = ("write_file", "replace")

# Also by the words that the dialog's own hook has for them.
TOOLS: dict[str, CallKind] = {
    SHELL: "command",
    "exec": "command",
    "edit": "write",
    **dict.fromkeys(WRITES, "write"),
    "read_file": "read",
    "read_many_files": "read",
    "list_directory": "read",
    "glob": "read",
    "search_file_content": "read",
    "web_fetch": "fetch",
    "google_web_search": "search",
    "mcp": "mcp",
}

_details = msgspec.json.Decoder(Details)
_asked = msgspec.json.Decoder(AskInput)


def details_of(raw: bytes) -> Details:
    try:
        return _details.decode(raw)
    except (ValueError, RecursionError):
        return Details()


def mark(tool: str, fields: Mapping[str, object]) -> str:
    """The same for the same call, however its JSON was spelt. A command is known by itself: its description is
    in the record, and not in what the dialog's own hook tells."""
    known = {"command": text_of(fields, "command")} if tool == SHELL else fields
    return call_fingerprint(tool, known)


def kind_of(tool: str) -> Kind:
    return "question" if tool == ASK else "plan" if tool == PLAN else "permission"


def title_of(tool: str, fields: dict[str, object]) -> str:
    path = text_of(fields, "file_path")
    if tool == SHELL:
        text = f"Run: {text_of(fields, 'command')}"
    elif tool in WRITES:
        text = f"{'Write' if tool == 'write_file' else 'Edit'} {path}"
    elif tool == ASK:
        text = next((question.text for question in questions_of(msgspec.json.encode(fields))), "A question")
    elif tool == PLAN:
        text = "A plan is ready"
    elif tool == "web_fetch":
        text = f"Fetch: {text_of(fields, 'prompt')}"
    else:
        text = f"Use {tool}"
    return shortened(text)


def title_from(details: Details) -> str:
    """For a dialog whose call nobody told of."""
    match details.type:
        case "exec":
            text = f"Run: {details.command}"
        case "edit":
            text = f"Change {details.filePath or details.fileName}"
        case "mcp":
            text = f"Use {details.toolName} of {details.serverName}"
        case "info":
            text = f"{details.title}: {', '.join(details.urls or []) or details.prompt}"
        case _:
            text = details.title or "Gemini asks"
    return shortened(text)


def body_of(tool: str, fields: dict[str, object], details: Details | None = None) -> str:
    """Everything needed to decide."""
    if tool == SHELL:
        text = text_of(fields, "description")
        return _cut("\n\n".join(part for part in (text_of(fields, "command"), text) if part))
    if details is not None and details.fileDiff:
        return _cut(details.fileDiff)
    if tool == ASK:
        return ""
    if not fields:
        return ""
    return _cut(msgspec.json.format(msgspec.json.encode(fields), indent=2).decode())


def body_from(details: Details) -> str:
    match details.type:
        case "exec":
            return _cut(details.command)
        case "edit":
            return _cut(details.fileDiff)
        case "info":
            return _cut("\n".join([details.prompt, *(details.urls or [])]).strip())
        case _:
            return ""


def questions_of(raw: bytes) -> tuple[Question, ...]:
    """What `ask_user` asks, each with the digit of its row as the option's id."""
    try:
        asked = _asked.decode(raw).questions
    except (ValueError, RecursionError):
        return ()
    questions: list[Question] = []
    for number, each in enumerate(asked):
        labels = [(option.label, option.description) for option in each.options or []]
        if each.type == "yesno":
            labels = [("Yes", ""), ("No", "")]
        if each.type == "text":
            labels = []
        options = tuple(
            Option(f"o{place}", label[:LONGEST_LABEL], "choose", says)
            for place, (label, says) in enumerate(labels, 1)
        )
        questions.append(Question(f"q{number + 1}", each.question, options, each.multiSelect, free_text=True))
    return tuple(questions)


def shortened(text: str) -> str:
    text = " ".join(text.split())
    return text if len(text) <= LONGEST_TITLE else text[: LONGEST_TITLE - 1] + "…"


def _cut(text: str) -> str:
    if len(text) <= LONGEST_BODY:
        return text
    return text[:LONGEST_BODY] + f"\n… {len(text) - LONGEST_BODY:,} more characters (in the tool's input)"
