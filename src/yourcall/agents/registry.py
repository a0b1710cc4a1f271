"""Every agent that yourcall knows: the folders beside this file that hold an `agent.py`.

Rule: the one list of agents. A new folder is in it without a word here; what one agent is like stands in its own
folder.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from importlib import import_module
from pkgutil import iter_modules

from msgspec.structs import replace

from yourcall import agents
from yourcall.agents.screen_spec import ScreenSpec
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


def _found() -> Iterator[Agent]:
    """`AGENTS` of each folder's `agent.py`, in the order of the folders' names."""
    for folder in iter_modules(agents.__path__, f"{agents.__name__}."):
        if not folder.ispkg:
            continue
        inside = {module.name for module in iter_modules(import_module(folder.name).__path__)}
        if "agent" in inside:
            yield from import_module(f"{folder.name}.agent").AGENTS


def _each() -> list[Agent]:
    """One for each name, in the place of the last folder that knows it."""
    found: dict[str, Agent] = {}
    for agent in _found():
        before = found.pop(agent.name, None)
        found[agent.name] = agent if before is None else joined(before, agent)
    return list(found.values())


# Those that setup connects come first, then those that are reached without it, then those that yourcall starts.
AGENTS: dict[str, Agent] = {
    agent.name: agent
    for agent in sorted(_each(), key=lambda each: each.setup is None and 1 + (each.headless is not None))
}
SCREENS: dict[str, ScreenSpec] = {name: agent.screen for name, agent in AGENTS.items() if agent.screen}
GRADES: dict[str, Grade] = {name: agent.grade for name, agent in AGENTS.items() if agent.grade}
CONNECTED: dict[str, Agent] = {name: agent for name, agent in AGENTS.items() if agent.setup}

# The one that is meant where a command names none.
USUAL = next(iter(AGENTS))


def by_program(program: str) -> Agent | None:
    """The agent that this program is, by its name on PATH."""
    name = program.rsplit("/", 1)[-1]
    return next((agent for agent in AGENTS.values() if name in agent.programs), None)
