"""What would happen if a request were allowed, part by part.

Rule: every request has at least one part, or is `Unread`; a tool that is not known does something unknown.
"""

from __future__ import annotations

from functools import lru_cache

from yourcall.model.action import Action
from yourcall.rules.effects.commands import parts_of
from yourcall.rules.effects.parts import Effect, Part, Ref, Use
from yourcall.rules.effects.searches import tool_searched
from yourcall.rules.shell.items import Unread
from yourcall.rules.shell.parser import fish_reads_otherwise, only_bash_reads
from yourcall.rules.shell.tokens import LONGEST

# A command that does more things than this is not taken apart: each is held against each rule, and no person
# reads so many.
MOST_PARTS = 300


@lru_cache(maxsize=16)  # who looks up what it needs to know and who decides ask one after the other
def parts(asked: Action) -> tuple[Part, ...] | Unread:
    """What would happen, part by part; paths still to be resolved."""
    outside = (Part("tool", "leave the sandbox", (), frozenset({"privilege"})),) if asked.unboxed else ()
    match asked.kind:
        case "command":
            if not asked.command.strip():
                return Unread("there is no command in it")
            if len(asked.command) > LONGEST:
                return Unread(f"it is longer than {LONGEST:,} characters")
            if asked.any_shell and (only_bash_reads(asked.command) or fish_reads_otherwise(asked.command)):
                return Unread("it does not mean the same to every shell")
            found = parts_of(asked.command)
            if isinstance(found, Unread):
                return found
            if not found:
                return Unread("there is no command in it")
            if len(found) > MOST_PARTS:
                return Unread(f"it does more than {MOST_PARTS} things")
            return (*found, *outside)
        case "read" | "write":
            use: Use = "read" if asked.kind == "read" else "write"
            # A search without a path looks at the folder it runs in.
            # Claude takes off the blanks at both ends of a path.
            trimmed = (path.strip().strip("\ufeff").strip() for path in asked.paths)
            named = tuple(dict.fromkeys((*asked.paths, *filter(None, trimmed)))) or (
                (".",) if use == "read" else ()
            )
            refs = tuple(Ref(path, "sweep" if asked.deep and use == "read" else use) for path in named)
            refs += tuple(Ref(path, "delete") for path in asked.deletes)
            refs += tuple(tool_searched(named, asked.only, asked.types)) if asked.deep and use == "read" else ()
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
