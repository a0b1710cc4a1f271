"""How the toy is proved in a sandbox."""

from __future__ import annotations

from yourcall.agents.live_spec import LiveCheck
from yourcall.agents.model_turns import tool

CHECKS = (
    LiveCheck(
        "toy",
        "chat",
        lambda place: {".toy/settings": "none"},
        lambda place: {"TOY_MODEL": place.model},
        ready=r"(?m)^toy>",
        command=lambda command: tool("run", command=command),
        refuse=("n",),
    ),
)
