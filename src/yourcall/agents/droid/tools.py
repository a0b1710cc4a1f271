"""What a tool call of droid is about, in words, and the questions that a questionnaire asks.

Rule: words are the CLI's and the model's own, cut to a length; nothing is concluded from them.
"""

from __future__ import annotations

import re

import msgspec

from yourcall.agents.kit.prompts import cut, line
from yourcall.agents.kit.wire import text_of
from yourcall.model.action import CallKind
from yourcall.model.prompts import Kind, Option, Question

AGENT = "droid"
SHELL = "Execute"
ASK = "AskUser"
PLAN = "ExitSpecMode"
WRITES = ("Create", "Edit", "ApplyPatch")

TOOLS: dict[str, CallKind] = {
    SHELL: "command",
    **dict.fromkeys(WRITES, "write"),
    "Read": "read",
    "LS": "read",
    "Grep": "read",
    "Glob": "read",
    "FetchUrl": "fetch",
    "WebSearch": "search",
}

LONGEST_LABEL = 300
_NUMBERED = re.compile(r"^\d+\. \[question\] ?", re.M)
_SEVERAL = re.compile(r" *\(multi\)$")


def kind_of(tool: str) -> Kind:
    return "question" if tool == ASK else "plan" if tool == PLAN else "permission"


def title_of(tool: str, fields: dict[str, object]) -> str:
    if tool == SHELL:
        words = f"Run: {text_of(fields, 'command')}"
    elif tool in WRITES:
        words = f"{'Write' if tool == 'Create' else 'Edit'} {text_of(fields, 'file_path')}"
    elif tool == ASK:
        words = next((each.text for each in questions_of(text_of(fields, "questionnaire"))), "A question")
    elif tool == PLAN:
        words = "A plan is ready"
    else:
        words = f"Use {tool}"
    return line(words, "droid asks")


def body_of(tool: str, fields: dict[str, object]) -> str:
    """Everything needed to decide."""
    if tool == SHELL:
        parts = (text_of(fields, "command"), text_of(fields, "summary"), text_of(fields, "riskLevelReason"))
        return cut("\n\n".join(part for part in parts if part))
    if tool == PLAN:
        return cut(text_of(fields, "plan"))
    if tool == ASK or not fields:
        return ""
    if diff := diff_of(tool, fields):
        return cut(diff)
    return cut(msgspec.json.format(msgspec.json.encode(fields), indent=2).decode())


def diff_of(tool: str, fields: dict[str, object]) -> str:
    """The change as lines that go and lines that come; empty for a call that changes no file."""
    old = text_of(fields, "old_str") if tool == "Edit" else ""
    new = text_of(fields, "new_str" if tool == "Edit" else "content") if tool in ("Create", "Edit") else ""
    return "\n".join([*(f"-{each}" for each in old.splitlines()), *(f"+{each}" for each in new.splitlines())])


def questions_of(questionnaire: str) -> tuple[Question, ...]:
    """The model's text is a list of `[question]`, `[topic]` and `[option]` lines; each option's id is its row."""
    questions: list[Question] = []
    for number, part in enumerate(_NUMBERED.split(questionnaire)[1:], 1):
        first, *rest = part.split("\n")
        labels = [each.removeprefix("[option]").strip() for each in rest if each.startswith("[option]")]
        options = tuple(Option(f"o{n}", label[:LONGEST_LABEL], "choose") for n, label in enumerate(labels, 1))
        text = _SEVERAL.sub("", first.strip())
        questions.append(Question(f"q{number}", text, options, text != first.strip()))
    return tuple(questions)
