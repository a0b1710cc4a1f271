"""How far Gemini CLI is understood."""

from __future__ import annotations

from yourcall.agents.grade import Grade, Reach

_RECORD = "chat file, dialog gone"

GRADE = Grade(
    "Gemini CLI",
    ("0.61.0",),
    {
        "permission": Reach("hook and screen", "one digit", _RECORD),
        "question": Reach("hook and screen", "one key per look", _RECORD),
        "plan": Reach("hook and screen", "one key per look", _RECORD),
        "trust": Reach("screen", "one digit, by a person", "dialog gone"),
        "loop": Reach("screen", "one digit", "dialog gone"),
        "startup": Reach("screen", "one digit, by a person; secrets never", "dialog gone"),
        "ready": Reach("hook", "typed", "hook"),
        "unknown": Reach("screen", "key bar", "screen changed"),
    },
    "answers need tmux; without it prompts are shown, and answered at the desk",
)
