"""What would happen if a request were allowed, part by part.

Rule: every request has at least one part, or is `Unread`; a tool that is not known does something unknown.
"""

from __future__ import annotations

from functools import lru_cache

from yourcall.core.asked import Asked
from yourcall.core.commands import parts_of
from yourcall.core.effects import Effect, Part, Ref, Use
from yourcall.core.shell_items import Unread


@lru_cache(maxsize=16)  # who looks up what it needs to know and who decides ask one after the other
def parts(asked: Asked) -> tuple[Part, ...] | Unread:
    """What would happen, part by part; paths still to be resolved."""
    outside = (Part("tool", "leave the sandbox", (), frozenset({"privilege"})),) if asked.unboxed else ()
    match asked.kind:
        case "command":
            if not asked.command.strip():
                return Unread("there is no command in it")
            found = parts_of(asked.command)
            if isinstance(found, Unread):
                return found
            if not found:
                return Unread("there is no command in it")
            return (*found, *outside)
        case "read" | "write":
            use: Use = "read" if asked.kind == "read" else "write"
            # A search without a path looks at the folder it runs in.
            named = asked.paths or ((".",) if use == "read" else ())
            refs = tuple(Ref(path, "sweep" if asked.deep and use == "read" else use) for path in named)
            refs += tuple(Ref(path, "delete") for path in asked.deletes)
            effects: frozenset[Effect] = frozenset(
                {"read"} if use == "read" else {"unknown"} if not refs else set()
            )
            return (Part("tool", " ".join((asked.tool, *asked.paths)), (), effects, refs), *outside)
        case "fetch":
            effects = frozenset({"network"} if asked.hosts else {"network", "unknown"})
            return (Part("tool", " ".join((asked.tool, *asked.hosts)), (), effects, hosts=asked.hosts), *outside)
        case "mcp" | "other":
            text = f"{asked.server}/{asked.tool}" if asked.server else asked.tool
            return (Part("tool", text, (), frozenset({"unknown"})), *outside)
