"""One agent that two folders know: in its own terminal, and over a protocol that many agents speak.

Rule: the folder that connects it comes first; what both have is asked of the one and then of the other.
"""

from __future__ import annotations

from collections.abc import Callable

from msgspec.structs import replace

from yourcall.agents.spec import Agent, Grade, Reach
from yourcall.model.action import Action
from yourcall.model.conversation import AnyEntry


def joined(one: Agent, other: Agent) -> Agent:
    """Both folders' agent of this name."""
    first, second = (one, other) if one.setup is not None else (other, one)
    blank = Agent(one.name)

    def read_entry(line: bytes) -> list[AnyEntry]:
        return first.read_entry(line) or second.read_entry(line)

    missing = [name for name in Agent.__struct_fields__ if getattr(first, name) == getattr(blank, name)]
    return replace(
        first,
        **{name: getattr(second, name) for name in missing},
        action=_either(first.action, second.action),
        read_entry=read_entry,
        tools={**second.tools, **first.tools},
        grade=_graded(first.grade, second.grade),
    )


ReadAction = Callable[[bytes], Action | None]


def _either(first: ReadAction | None, second: ReadAction | None) -> ReadAction | None:
    """Each reads its own requests only."""
    if first is None or second is None:
        return first or second

    def action(request: bytes) -> Action | None:
        return first(request) or second(request)

    return action


def _graded(first: Grade | None, second: Grade | None) -> Grade | None:
    if first is None or second is None:
        return first or second
    kinds = dict(first.kinds)
    for kind, reach in second.kinds.items():
        before = kinds.get(kind)
        kinds[kind] = reach if before is None else Reach(*map(_both, _words(before), _words(reach)))
    tested = dict.fromkeys((*first.tested, *second.tested))
    return Grade(first.cli, tuple(tested), kinds, _both(first.needs, second.needs))


def _words(reach: Reach) -> tuple[str, str, str]:
    return reach.noticed, reach.answered, reach.confirmed


def _both(one: str, other: str) -> str:
    return one if one == other or not other else f"{one}; {other}" if one else other
