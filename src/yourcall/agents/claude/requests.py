"""What Claude asks: each tool that waits for a person as questions with options, and as an action for the rules.

Rule: every option here has its reply in `reply.py`, and says what it does. Only a tool whose input we know becomes
more than the action `other`; anything odd about its input makes it `other` again.
"""

from __future__ import annotations

import re

import msgspec
from msgspec import Raw, Struct

from yourcall.agents.claude import wording
from yourcall.agents.claude.tools import Fields, input_of, paths
from yourcall.agents.claude.wire import HookPayload, Suggestion
from yourcall.agents.kit.actions import host_allowed
from yourcall.agents.kit.wire import text_of
from yourcall.model.action import Action, ActionKind, CallKind
from yourcall.model.prompts import Kind, Option, Question

DECISION = "decision"

OUTLINE = (
    "Not yet. Before you ask to leave plan mode again, write the plan out in your reply as a numbered outline: "
    "each step, the files it touches, what could go wrong, and how it will be checked. Then wait for the answer."
)


class Choice(msgspec.Struct, frozen=True):
    label: str
    description: str = ""
    preview: str = ""


class ToolQuestions(msgspec.Struct, frozen=True):
    question: str
    header: str = ""
    multiSelect: bool = False
    options: list[Choice] = []


def questions(payload: HookPayload, fields: dict[str, object]) -> tuple[Kind, tuple[Question, ...]]:
    """The kind of prompt this tool raises, and what it asks."""
    match payload.tool_name:
        case "AskUserQuestion":
            tool_questions = asked_of(fields)
            return (
                ("question", tuple(_asked(n, q) for n, q in enumerate(tool_questions, 1)))
                if tool_questions
                else ("unknown", ())
            )
        case "ExitPlanMode":
            return "plan", (_plan(),)
        case _:
            return "permission", (_decision(payload),)


def title(tool: str, fields: dict[str, object]) -> str:
    match tool:
        case "AskUserQuestion":
            tool_questions = asked_of(fields)
            return tool_questions[0].question[: wording.LONGEST_TITLE] if tool_questions else "A question"
        case "ExitPlanMode":
            return "Approve the plan?"
        case _:
            return wording.title(tool, fields)


def body(tool: str, fields: dict[str, object]) -> str:
    match tool:
        case "AskUserQuestion":
            return ""
        case "ExitPlanMode":
            return text_of(fields, "plan")
        case _:
            return wording.body(tool, fields)


def asked_of(fields: dict[str, object]) -> list[ToolQuestions]:
    try:
        return msgspec.convert(fields.get("questions"), list[ToolQuestions])
    except (ValueError, RecursionError):
        return []


def _asked(number: int, tool_questions: ToolQuestions) -> Question:
    options = tuple(
        Option(f"o{n}", choice.label, "choose", choice.description, choice.preview, str(n))
        for n, choice in enumerate(tool_questions.options, 1)
    )
    return Question(
        f"q{number}",
        tool_questions.question,
        options,
        tool_questions.multiSelect,
        free_text=True,
        header=tool_questions.header,
    )


def _decision(payload: HookPayload) -> Question:
    remember = (
        wording.remember_option(n, suggestion)
        for n, raw in enumerate(payload.permission_suggestions or [], 1)
        if (suggestion := suggestion_of(raw)) is not None
    )
    options = (
        # Claude's own dialog begins with `1. Yes`; what follows differs from call to call.
        Option("allow", "Allow", "allow_once", "Runs this one call; the next one is asked again.", digit="1"),
        *(option for option in remember if option is not None),
        Option("deny", "Deny", "deny", "Refuses this call, with your reason if you give one; Claude goes on."),
        Option("stop", "Deny and stop", "stop", "Refuses this call and stops the turn; Claude waits for you."),
    )
    return Question(DECISION, "May Claude do this?", options, free_text=True)


def suggestion_of(raw: msgspec.Raw) -> Suggestion | None:
    try:
        return msgspec.json.decode(raw, type=Suggestion)
    except (ValueError, RecursionError):
        return None


def _plan() -> Question:
    options = (
        Option("approve", "Approve", "allow_once", "Leaves plan mode; each edit is still asked for."),
        Option(
            "approve_edits",
            "Approve and accept edits",
            "allow_session",
            "Leaves plan mode; file edits are no longer asked for until this session ends.",
        ),
        Option("revise", "Keep planning", "deny", "Claude stays in plan mode and gets your feedback."),
        Option("outline", "Outline first", "deny", "Claude must first write the plan out, step by step."),
        Option("stop", "Reject and stop", "stop", "Refuses the plan and stops the turn; Claude waits for you."),
    )
    return Question(DECISION, "Approve this plan?", options, free_text=True)


_NOTHING = re.compile(rb"\s*\{\s*\}\s*")  # a tool of a server may need no words
# With one of these, running the command is not all that Bash does.
_MORE_THAN_A_COMMAND = frozenset({"_simulatedSedEdit", "allowed_domains"})
_READS = frozenset({"Read", "Glob", "Grep", "LS", "NotebookRead"})
_ONE_FILE = frozenset({"Read", "NotebookRead"})
_WRITES = frozenset({"Edit", "MultiEdit", "NotebookEdit", "Write"})

TOOLS: dict[str, CallKind] = {
    "Bash": "command",
    "PowerShell": "powershell",
    "WebFetch": "fetch",
    "WebSearch": "search",
    **dict.fromkeys(_READS, "read"),
    **dict.fromkeys(_WRITES, "write"),
}


class _Request(Struct, frozen=True):
    tool_name: str = ""
    tool_input: Raw = Raw(b"{}")


def action_of(request: bytes) -> Action | None:
    """What the request would do, for the rules; None if it is not a request for a tool, or cannot be read."""
    try:
        found = msgspec.json.decode(request, type=_Request)
    except (ValueError, RecursionError):
        return None
    fields = input_of(found.tool_input)
    tool = found.tool_name
    if not tool or (not fields and not _NOTHING.fullmatch(bytes(found.tool_input))):
        return None
    if tool.startswith("mcp__"):
        server, _, _ = tool.removeprefix("mcp__").partition("__")
        return Action(tool, "mcp", server=server)
    kind: ActionKind = "read" if tool in _READS else "write" if tool in _WRITES else "other"
    match tool:
        case "Bash" if text_of(fields, "command"):
            if fields.keys() & _MORE_THAN_A_COMMAND:
                return Action(tool)
            free = fields.get("dangerouslyDisableSandbox") not in (None, False, "false")
            return Action(tool, "command", command=text_of(fields, "command"), unboxed=free)
        case "WebFetch":
            return Action(tool, "fetch", hosts=host_allowed(text_of(fields, "url")))
        case _ if kind != "other":
            only = (text_of(fields, "glob"),) if tool == "Grep" and text_of(fields, "glob") else ()
            types = (text_of(fields, "type"),) if tool == "Grep" and text_of(fields, "type") else ()
            named = _paths(tool, fields)
            if not named and tool in _ONE_FILE:
                return Action(tool)  # which file it reads, nobody can tell
            return Action(tool, kind, paths=named, deep=tool == "Grep", only=only, types=types)
        case _:
            return Action(tool)


def _paths(tool: str, fields: Fields) -> tuple[str, ...]:
    """Every path that the call could mean, whichever of its fields the tool looks at; and where a search goes that
    its pattern leads elsewhere, or to a file by name."""
    every = [*paths(fields), *(text_of(fields, name) for name in ("file_path", "notebook_path", "path"))]
    if tool in ("Glob", "Grep"):
        pattern = text_of(fields, "pattern" if tool == "Glob" else "glob")
        fixed = pattern.split("*", 1)[0].split("?", 1)[0]
        # Only named besides the folder it is searched in, not instead of it.
        every += [] if not fixed else [fixed] if any(every) else [".", fixed]
        every += [".."] if re.search(r"(?:^|[/{,])\.\.(?:[/},]|$)", pattern[len(fixed) :]) else []
        every += [".."] if re.search(r"[{,]\.\.(?:[/},]|$)", pattern) else []
    return tuple(dict.fromkeys(path for path in every if path))
