"""What a permission is about, in words that no agent owns; an agent's folder says it, the rules read it.

Rule: said from the request as it was sent, never from its title or the screen.
"""

from __future__ import annotations

from typing import Literal

from msgspec import Struct

AskedKind = Literal["command", "read", "write", "fetch", "mcp", "other"]


class Asked(Struct, frozen=True):
    """`tool` is the agent's own name for it. `unboxed`: it asks to leave the agent's sandbox. `deep`: it reads
    what lies below its paths, too. `deletes`: those of its paths that are gone afterwards."""

    tool: str
    kind: AskedKind = "other"
    command: str = ""
    paths: tuple[str, ...] = ()
    hosts: tuple[str, ...] = ()
    server: str = ""
    unboxed: bool = False
    deep: bool = False
    deletes: tuple[str, ...] = ()
