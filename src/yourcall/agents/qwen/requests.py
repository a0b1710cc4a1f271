"""What a tool call of Qwen Code is about, in words, and the prompt of a dialog that its channel told of.

Rule: words are the CLI's and the model's own, cut to a length; nothing is concluded from them.
"""

from __future__ import annotations

from collections.abc import Mapping

import msgspec
from msgspec import Raw, Struct

from yourcall.agents.kit import prompts
from yourcall.agents.kit.actions import host_allowed
from yourcall.agents.kit.prompts import derived_id
from yourcall.agents.kit.wire import call_fingerprint, decoded, fields_of, text_of
from yourcall.agents.qwen.wire import AskInput, ControlRequest
from yourcall.core import line_diff
from yourcall.model.action import Action, CallKind
from yourcall.model.prompts import Kind, Option, Prompt, Question, Tool

AGENT = "qwen"
CHANNEL = "plugin"  # the link by which the channel's prompts are answered
DECISION = "decision"
ALLOW, DENY = "allow", "deny"
LONGEST_LABEL = 300

SHELL = "run_shell_command"
ASK = "ask_user_question"
PLAN = "exit_plan_mode"
EDIT, WRITE = "edit", "write_file"

TOOLS: dict[str, CallKind] = {
    SHELL: "command",
    WRITE: "write",
    EDIT: "write",
    "notebook_edit": "write",
    "read_file": "read",
    "list_directory": "read",
    "glob": "read",
    "grep_search": "read",
    "web_fetch": "fetch",
    "web_search": "search",
}

_asked = msgspec.json.Decoder(AskInput)
_fields = msgspec.json.Decoder(dict[str, object])

PERMISSION_OPTIONS = (
    Option(ALLOW, "Allow once", "allow_once", "Allows this once."),
    Option(DENY, "Refuse", "deny", "Refuses it, and stops the turn; the model is not told why."),
)


def kind_of(tool: str) -> Kind:
    return "question" if tool == ASK else "plan" if tool == PLAN else "permission"


def title_of(tool: str, fields: Mapping[str, object]) -> str:
    match tool:
        case "run_shell_command":
            text = f"Run: {text_of(fields, 'command')}"
        case "write_file":
            text = f"Write {text_of(fields, 'file_path')}"
        case "edit":
            text = f"Edit {text_of(fields, 'file_path')}"
        case "read_file":
            text = f"Read {text_of(fields, 'file_path')}"
        case "web_fetch":
            text = f"Fetch: {text_of(fields, 'url') or text_of(fields, 'prompt')}"
        case "ask_user_question":
            text = next((each.text for each in questions_of(msgspec.json.encode(fields))), "A question")
        case "exit_plan_mode":
            text = "A plan is ready"
        case "agent":
            text = f"Start a subagent: {text_of(fields, 'description')}"
        case _:
            text = f"Use {tool}"
    return prompts.line(text, f"Use {tool}")


def body_of(tool: str, fields: Mapping[str, object]) -> str:
    """Everything needed to decide."""
    match tool:
        case "run_shell_command":
            return prompts.paragraphs(text_of(fields, "command"), text_of(fields, "description"))
        case "edit":
            return prompts.cut(diff_of(tool, fields))
        case "write_file":
            return prompts.cut(text_of(fields, "content"))
        case "exit_plan_mode":
            return prompts.cut(text_of(fields, "plan"))
        case "ask_user_question":
            return ""
        case _:
            return (
                prompts.cut(msgspec.json.format(msgspec.json.encode(fields), indent=2).decode()) if fields else ""
            )


def diff_of(tool: str, fields: Mapping[str, object]) -> str:
    """What an edit would change, as a unified diff."""
    if tool != EDIT:
        return ""
    old, new = text_of(fields, "old_string"), text_of(fields, "new_string")
    return "\n".join(line_diff.of_texts(text_of(fields, "file_path"), old, new))


def questions_of(raw: bytes) -> tuple[Question, ...]:
    """What `ask_user_question` asks; the options count up as their rows do."""
    try:
        asked = _asked.decode(raw).questions
    except (ValueError, RecursionError):
        return ()
    return tuple(
        Question(
            f"q{number}",
            each.question,
            tuple(
                Option(f"o{place}", option.label[:LONGEST_LABEL], "choose", option.description)
                for place, option in enumerate(each.options, 1)
            ),
            each.multiSelect,
            free_text=True,
            header=each.header[:LONGEST_LABEL],
        )
        for number, each in enumerate(asked, 1)
    )


def prompt_id(session_id: str, request_id: str) -> str:
    """The same for the same request, whenever it is read again."""
    return derived_id(AGENT, session_id, request_id)


def prompt_of(request: ControlRequest, request_id: str, session_id: str, cwd: str, at: float) -> Prompt:
    """The prompt of an open dialog. A yes or no goes by the channel; what takes more is answered on the screen."""
    tool, fields = request.tool_name[:200], fields_of(request.input)
    kind = kind_of(tool)
    questions: tuple[Question, ...] = ()
    if kind == "question":
        questions = questions_of(request.input)
    elif kind == "permission":
        questions = (Question(DECISION, "Allow this?", PERMISSION_OPTIONS),)
    several = kind == "question" and len(questions) > 1
    return Prompt(
        id=prompt_id(session_id, request_id),
        kind=kind,
        agent=AGENT,
        session_id=session_id,
        cwd=cwd,
        title=title_of(tool, fields),
        opened_at=at,
        body=f"{len(questions)} questions; all are answered together." if several else body_of(tool, fields),
        tool=Tool(tool),
        questions=questions,
        fingerprint=call_fingerprint(tool, fields),
        call_id=request.tool_use_id[:200],
        link=CHANNEL,
        answerable=kind == "permission",
    )


class Request(Struct, frozen=True):
    """What is stored of a request: its id in the channel, and the call. Views read `tool_input` by this name."""

    request_id: str
    tool_name: str
    tool_input: Raw


def action_of(request: bytes) -> Action | None:
    """What the request would do, for the rules; None if it is not a request for a tool, or cannot be read.

    Only tools whose input we know are more than `other`; anything odd about an input makes it `other`.
    """
    kept_request = decoded(Request, request)
    if kept_request is None or not kept_request.tool_name:
        return None
    tool, fields = kept_request.tool_name, fields_of(kept_request.tool_input)
    if tool.startswith("mcp__"):
        return Action(tool, "mcp", server=tool.removeprefix("mcp__").partition("__")[0])
    path = text_of(fields, "file_path")
    match tool:
        case _ if tool == SHELL and text_of(fields, "command"):
            if fields.get("directory"):
                return Action(tool)  # in another folder than the session's it may mean something else
            return Action(tool, "command", command=text_of(fields, "command"), any_shell=True)
        case _ if tool in (EDIT, WRITE) and path:
            return Action(tool, "write", paths=(path,))
        case "read_file" if path:
            return Action(tool, "read", paths=(path,))
        case "web_fetch":
            return Action(tool, "fetch", hosts=host_allowed(text_of(fields, "url")))
        case _:
            return Action(tool)
