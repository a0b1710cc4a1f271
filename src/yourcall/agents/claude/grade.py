"""How far Claude Code is understood."""

from __future__ import annotations

from yourcall.agents.grade import Grade, Reach

_RECORD = "session file, transcript"

GRADE = Grade(
    "Claude Code",
    ("2.1.325", "2.1.197", "2.0.76"),
    {
        "permission": Reach("held hook; screen", "hook; one key per look", _RECORD),
        "question": Reach("held hook; screen", "hook; one key per look", _RECORD),
        "plan": Reach("held hook; screen", "hook; one key per look", _RECORD),
        "elicitation": Reach("held hook; screen", "hook, while nobody is at the desk; keys", "hook, transcript"),
        "trust": Reach("screen", "one key per look, by a person", "dialog gone"),
        "startup": Reach("screen", "one key per look, by a person", "dialog gone"),
        "ready": Reach("hook", "typed", "hook"),
        "problem": Reach("hook; screen"),
        "unknown": Reach("screen", "key bar", "screen changed"),
    },
    "screens need tmux; hooks do not; a session of our own is asked and answered over pipes",
)
