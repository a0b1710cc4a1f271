"""What Claude asks: each tool that waits for a person, as questions with options.

Rule: every option here has its reply in plan.py, and says what it will do.
"""

from __future__ import annotations

import msgspec

from yourcall.agents.claude import wording
from yourcall.agents.claude.wire import HookPayload, Suggestion
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
            asked = asked_of(fields)
            return ("question", tuple(_asked(n, q) for n, q in enumerate(asked, 1))) if asked else ("unknown", ())
        case "ExitPlanMode":
            return "plan", (_plan(),)
        case _:
            return "permission", (_decision(payload),)


def title(tool: str, fields: dict[str, object]) -> str:
    match tool:
        case "AskUserQuestion":
            asked = asked_of(fields)
            return asked[0].question[: wording.LONGEST_TITLE] if asked else "A question"
        case "ExitPlanMode":
            return "Approve the plan?"
        case _:
            return wording.title(tool, fields)


def body(tool: str, fields: dict[str, object]) -> str:
    match tool:
        case "AskUserQuestion":
            return ""
        case "ExitPlanMode":
            return wording.text_of(fields, "plan")
        case _:
            return wording.body(tool, fields)


def asked_of(fields: dict[str, object]) -> list[ToolQuestions]:
    try:
        return msgspec.convert(fields.get("questions"), list[ToolQuestions])
    except (ValueError, RecursionError):
        return []


def _asked(number: int, asked: ToolQuestions) -> Question:
    options = tuple(
        Option(f"o{n}", choice.label, "choose", choice.description, choice.preview, str(n))
        for n, choice in enumerate(asked.options, 1)
    )
    return Question(f"q{number}", asked.question, options, asked.multiSelect, free_text=True, header=asked.header)


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
