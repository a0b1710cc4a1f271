"""How far a program is understood that nobody taught us."""

from __future__ import annotations

from yourcall.agents.grade import Grade, Reach

GRADE = Grade(
    "any program in a tmux pane",
    (),
    {
        "ready": Reach("silence, title", "one line, typed", "screen changed"),
        "unknown": Reach("silence, title", "key bar", "screen changed"),
    },
    "tmux; what it asks is for a person to read off its screen",
)
