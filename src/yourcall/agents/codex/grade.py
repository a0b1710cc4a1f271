"""How far Codex is understood."""

from __future__ import annotations

from yourcall.agents.grade import Grade, Reach

_RECORD = "item completed; dialog gone"
_CALL = "call over; dialog gone"

GRADE = Grade(
    "Codex",
    ("0.166.0", "0.158.0", "0.150.1", "0.142.5"),
    {
        "permission": Reach("control socket; screen", "control socket; one key per look", _RECORD),
        "question": Reach("control socket; screen", "control socket; one key per look", "rollout; dialog gone"),
        "plan": Reach("screen; pipes", "one key per look; pipes", "dialog gone; the next turn"),
        "elicitation": Reach("control socket; screen", "control socket; one choice by keys", _CALL),
        "trust": Reach("screen", "one key per look, by a person", "dialog gone"),
        "startup": Reach("screen", "one key per look, by a person; signing in never", "dialog gone"),
        "ready": Reach("control socket; hook", "control socket; typed", "control socket; hook"),
        "problem": Reach("control socket"),
        "unknown": Reach("screen", "key bar", "screen changed"),
    },
    "the shared app-server (0.158 and later), or tmux; a session of our own: pipes, as by the control socket",
)
