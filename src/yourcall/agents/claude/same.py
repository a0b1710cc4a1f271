"""Is a dialog on Claude's screen the one of a request that a hook told of?

Rule: no guess. The kind must be the same, and what the dialog is about must stand in what was asked; a dialog that
shows only a part of itself is never taken for anything.
"""

from __future__ import annotations

import re

from yourcall.agents.on_screen import Shot
from yourcall.model import Prompt

SHORTEST = 3  # a name shorter than this stands in any text


def shows(prompt: Prompt, shot: Shot) -> bool:
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
            return _about(prompt, reading.target or "")
        case _:
            return False


def _about(prompt: Prompt, target: str) -> bool:
    """The command, the file, the address or the tool that the dialog names is that of the request."""
    known = _squeezed(f"{prompt.title}\n{prompt.body}")
    if not target or prompt.tool is None:
        return False
    if prompt.tool.name.startswith("mcp__"):
        words = re.findall(r"\w+", target.lower())
        return bool(words) and all(word in prompt.tool.name.lower() for word in words)
    if _squeezed(target) in known:
        return True
    name = target.rstrip("/").rsplit("/", 1)[-1]
    return prompt.tool.name != "Bash" and len(name) >= SHORTEST and _squeezed(name) in known


def _squeezed(text: str) -> str:
    return "".join(text.split())
