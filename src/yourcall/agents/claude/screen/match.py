"""Is a dialog on Claude's screen the one of a request that a hook told of?

Rule: no guess. The kind must be the same, and what the dialog is about must stand in what was asked; a dialog that
shows only a part of itself is never taken for anything.
"""

from __future__ import annotations

import re

from yourcall.agents.screen_spec import Snapshot
from yourcall.model.prompts import Prompt

SHORTEST = 3  # a name shorter than this stands in any text


def shows(prompt: Prompt, shot: Snapshot) -> bool:
    reading = shot.reading
    if reading.state != "waiting" or reading.clipped or reading.kind != prompt.kind:
        return False
    asked = _squeezed(reading.question or "")
    match prompt.kind:
        case "plan":
            return True
        case "question":
            return any(asked == _squeezed(question.text) for question in prompt.questions)
        case "elicitation":
            return bool(asked) and asked in _squeezed(prompt.body)
        case "permission":
            return prompt.tool is not None and about(prompt, reading.target or "")
        case _:
            return False


def about(prompt: Prompt, target: str) -> bool:
    """The command, the file, the address or the tool that the dialog names is that of the request."""
    known = _squeezed(f"{prompt.title}\n{prompt.body}")
    tool = prompt.tool.name if prompt.tool else ""
    if tool.startswith("mcp__"):
        words = re.findall(r"\w+", target.lower())
        return bool(words) and all(word in tool.lower() for word in words)
    if not target or _squeezed(target) in known:
        return bool(target)
    name = target.rstrip("/").rsplit("/", 1)[-1]
    return tool not in ("", "Bash") and len(name) >= SHORTEST and _squeezed(name) in known


def _squeezed(text: str) -> str:
    """Without blanks, and without the bar that is drawn beside a call of several lines."""
    return "".join(text.split()).replace("│", "")
