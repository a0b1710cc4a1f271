"""Every agent that yourcall knows: the folders beside this file that hold an `agent.py`.

Rule: the one list of agents. A new folder is in it without a word here; what one agent is like stands in its own
folder.
"""

from __future__ import annotations

from collections.abc import Iterator
from importlib import import_module
from pkgutil import iter_modules

from yourcall import agents
from yourcall.agents.joined import joined
from yourcall.agents.screen_spec import ScreenSpec
from yourcall.agents.spec import Agent, Grade


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
