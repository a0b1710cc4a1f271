"""How an agent looks on the phone, and what a person can type and choose there for it.

Rule: the phone app knows no agent; `tools/gen_agents.py` writes its list from what each folder says here.
"""

from __future__ import annotations

from msgspec import Struct


class Logo(Struct, frozen=True):
    """Our own drawing: an SVG path in a square of 24; its colours on a light and on a dark page, if it has any."""

    path: str
    stroke: float = 1.9
    filled: bool = False
    light: str = ""
    dark: str = ""


class SlashCommand(Struct, frozen=True):
    """A command of the agent's own that makes sense from afar. A session may know more; those can be typed."""

    name: str
    about: str


class PermissionMode(Struct, frozen=True):
    """A mode that may be chosen from afar. One in which the agent stops asking is chosen at the desk only."""

    id: str
    about: str


class PhoneSpec(Struct, frozen=True):
    """`continues`: a session of it that has ended can be continued from the phone."""

    logo: Logo | None = None
    commands: tuple[SlashCommand, ...] = ()
    modes: tuple[PermissionMode, ...] = ()
    continues: bool = False
