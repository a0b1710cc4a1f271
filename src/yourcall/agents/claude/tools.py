"""Claude's tool calls in plain words: their kind, title, paths and diff; the one place that knows the tools.

Rule: text from the model is passed on as it is (every front end renders it inert) and never cut silently; a tool
we have never heard of is shown by its name and input.
"""

from __future__ import annotations

from typing import cast

import msgspec

from yourcall.agents.kit.wire import text_of
from yourcall.core import line_diff
from yourcall.model.conversation import Action, ActionKind

LONGEST_TITLE = 200
LONGEST_TEXT = 20_000
# A written file is previewed, not repeated: the whole of it is on disk, or in the prompt that asks for it.
PREVIEW_LINES = 40

KINDS: dict[str, ActionKind] = {
    "Bash": "command",
    "BashOutput": "command",
    "KillBash": "command",
    "KillShell": "command",
    "Monitor": "command",
    "PowerShell": "command",
    "Edit": "file_change",
    "MultiEdit": "file_change",
    "NotebookEdit": "file_change",
    "Write": "file_change",
    "WebFetch": "web",
    "WebSearch": "web",
    "AskUserQuestion": "question",
    "EnterPlanMode": "note",
    "ExitPlanMode": "note",
    "TaskCreate": "note",
    "TaskGet": "note",
    "TaskList": "note",
    "TaskUpdate": "note",
    "TodoRead": "note",
    "TodoWrite": "note",
}

Fields = dict[str, object]


def input_of(raw: msgspec.Raw) -> Fields:
    try:
        return msgspec.json.decode(raw, type=dict[str, object])
    except (ValueError, RecursionError):
        return {}


def dicts_of(value: object) -> list[Fields]:
    every = cast("list[object]", value) if isinstance(value, list) else []
    return [cast("Fields", each) for each in every if isinstance(each, dict)]


def clipped(text: str, most: int = LONGEST_TEXT) -> str:
    """At most so many characters, and how many more there are."""
    return text if len(text) <= most else f"{text[:most]}\n… {len(text) - most:,} more characters"


def kind(tool: str) -> ActionKind:
    return KINDS.get(tool, "tool")


def title(tool: str, fields: Fields) -> str:
    """One line that says what will happen."""
    match tool:
        case "Bash" | "PowerShell":
            text = text_of(fields, "command")
        case "KillShell" | "KillBash":
            text = f"Stop the command {text_of(fields, 'shell_id', 'bash_id')}"
        case "Write" | "Edit" | "MultiEdit" | "NotebookEdit":
            names = paths(fields)
            more = f" and {len(names) - 1} more" if len(names) > 1 else ""
            text = f"{tool} {names[0] if names else ''}{more}"
        case "Read":
            text = f"Read {text_of(fields, 'file_path', 'path')}"
        case "Glob":
            text = f"Find files {text_of(fields, 'pattern')}"
        case "Grep":
            where = text_of(fields, "path", "glob")
            text = f"Search for {text_of(fields, 'pattern')}" + (f" in {where}" if where else "")
        case "WebFetch":
            text = f"Fetch {text_of(fields, 'url')}"
        case "WebSearch":
            text = f"Search the web: {text_of(fields, 'query')}"
        case "TodoWrite" | "TodoRead" | "TaskCreate" | "TaskUpdate" | "TaskList" | "TaskGet":
            text = f"Update the to-do list: {_todo(fields)}" if _todo(fields) else "Update the to-do list"
        case "AskUserQuestion":
            asked = dicts_of(fields.get("questions"))
            text = f"Ask: {text_of(asked[0], 'question')}" if asked else "Ask a question"
        case "ExitPlanMode":
            text = "Present the plan"
        case "Task" | "Agent":
            who = text_of(fields, "subagent_type")
            text = f"Agent{' ' + who if who else ''}: {text_of(fields, 'description')}"
        case "Skill":
            text = f"Skill {text_of(fields, 'skill', 'command')}"
        case _ if tool.startswith("mcp__"):
            server, _, name = tool.removeprefix("mcp__").partition("__")
            text = f"{name} ({server})"
        case _:
            text = tool
    lines = text.strip().splitlines() or [tool]
    more = " …" if len(lines) > 1 or len(lines[0]) > LONGEST_TITLE else ""
    return lines[0][:LONGEST_TITLE] + more


def _todo(fields: Fields) -> str:
    todos = dicts_of(fields.get("todos"))
    now = next((t for t in todos if t.get("status") == "in_progress"), todos[0] if todos else fields)
    return text_of(now, "activeForm", "content", "subject")


def paths(fields: Fields) -> tuple[str, ...]:
    """Every file the call names, each once; MultiEdit may name one for each edit."""
    each = [fields, *dicts_of(fields.get("edits"))]
    names = (text_of(one, "file_path", "notebook_path", "path") for one in each)
    return tuple(dict.fromkeys(path for path in names if path))


def diff(tool: str, fields: Fields) -> str:
    """What would change, as a unified diff; empty for a tool that changes no part of a file."""
    edits: list[Fields]
    match tool:
        case "Edit":
            edits = [fields]
        case "MultiEdit":
            edits = dicts_of(fields.get("edits"))
        case "NotebookEdit":
            edits = [{"new_string": text_of(fields, "new_source")}]
        case _:
            return ""
    whole = text_of(fields, "file_path", "notebook_path", "path")
    lines: list[str] = []
    work = line_diff.Work()
    for edit in edits:
        path = text_of(edit, "file_path", "path") or whole
        lines += line_diff.of_texts(path, text_of(edit, "old_string"), text_of(edit, "new_string"), work=work)
        if edit.get("replace_all") is True:
            lines.append("(every occurrence)")
    return "\n".join(lines)


def detail(tool: str, fields: Fields) -> str:
    """What the title leaves out, as far as a reader of the conversation wants it."""
    match tool:
        case "Bash" | "PowerShell":
            timeout = fields.get("timeout")
            limit = f"at most {timeout / 1000:g} s" if isinstance(timeout, int | float) and timeout > 0 else ""
            behind = "in the background" if fields.get("run_in_background") is True else ""
            notes = ", ".join(note for note in (text_of(fields, "description"), limit, behind) if note)
            command = text_of(fields, "command")
            parts = [notes, command if len(command.splitlines()) > 1 or len(command) > LONGEST_TITLE else ""]
        case "Write":
            parts = [preview(text_of(fields, "content"))]
        case "Edit" | "MultiEdit" | "Read":
            parts = []
        case "NotebookEdit":
            names = ("edit_mode", "cell_id", "cell_type")
            parts = [", ".join(f"{n.replace('_', ' ')} {fields[n]}" for n in names if text_of(fields, n))]
        case "WebFetch" | "Task" | "Agent":
            parts = [text_of(fields, "prompt")]
        case "WebSearch":
            parts = []
        case "ExitPlanMode":
            parts = [text_of(fields, "plan")]
        case "AskUserQuestion":
            parts = [_asked(question) for question in dicts_of(fields.get("questions"))]
        case "TodoWrite":
            todos = dicts_of(fields.get("todos"))
            parts = ["\n".join(f"[{text_of(t, 'status')}] {text_of(t, 'content')}" for t in todos)]
        case _:
            parts = [spelt(fields)]
    return clipped("\n\n".join(part for part in parts if part))


def _asked(question: Fields) -> str:
    options = [f"- {text_of(option, 'label')}" for option in dicts_of(question.get("options"))]
    return "\n".join([text_of(question, "question"), *options])


def preview(content: str) -> str:
    """The beginning of a file, and how many lines follow."""
    lines = content.splitlines()
    more = [f"… {len(lines) - PREVIEW_LINES:,} more lines"] if len(lines) > PREVIEW_LINES else []
    return "\n".join([*lines[:PREVIEW_LINES], *more])


def spelt(fields: Fields) -> str:
    """The input of a tool we have no words for."""
    return "\n".join(f"{name}: {plain(value)}" for name, value in fields.items())


def plain(value: object) -> str:
    return value if isinstance(value, str) else msgspec.json.encode(value).decode()


def started(tool: str, fields: Fields, call_id: str) -> Action:
    """The call as the model made it."""
    return Action(
        kind=kind(tool),
        phase="started",
        call_id=call_id,
        tool=tool,
        title=title(tool, fields),
        detail=detail(tool, fields),
        diff=clipped(diff(tool, fields)),
        paths=paths(fields) if kind(tool) == "file_change" or tool == "Read" else (),
    )


class Hunk(msgspec.Struct, frozen=True):
    oldStart: int = 0
    oldLines: int = 0
    newStart: int = 0
    newLines: int = 0
    lines: list[str] = []


class Outcome(msgspec.Struct, frozen=True):
    """The fields we use of `toolUseResult`, which is something else for each tool."""

    filePath: str = ""
    structuredPatch: list[Hunk] = []
    notebook_path: str = ""
    old_source: str = ""
    new_source: str = ""
    agentId: str = ""
    isAsync: bool = False


def completed(call_id: str, output: str, is_error: bool, outcome: msgspec.Raw) -> Action:
    """The call's result. It does not name the tool: kind and title come from its start (`conversation.joined`)."""
    try:
        known = msgspec.json.decode(outcome, type=Outcome)
    except (ValueError, RecursionError):
        known = Outcome()
    path = known.filePath or known.notebook_path
    return Action(
        kind="tool",
        phase="completed",
        call_id=call_id,
        # What Claude is told of a background agent is for Claude alone, and says so.
        detail="Works in the background." if known.isAsync and not is_error else clipped(output),
        diff=clipped(_patch(path, known)),
        paths=(path,) if path else (),
        is_error=is_error,
        child=known.agentId,
    )


def _patch(path: str, known: Outcome) -> str:
    """The change as it was really made, with true line numbers."""
    if known.notebook_path:
        return "\n".join(line_diff.of_texts(path, known.old_source, known.new_source))
    if not known.structuredPatch:
        return ""
    lines = [f"--- {path}", f"+++ {path}"]
    for hunk in known.structuredPatch:
        lines.append(f"@@ -{hunk.oldStart},{hunk.oldLines} +{hunk.newStart},{hunk.newLines} @@")
        lines += hunk.lines
    return "\n".join(lines)
