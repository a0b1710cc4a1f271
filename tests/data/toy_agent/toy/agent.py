"""The toy, as the rest of yourcall sees it."""

from __future__ import annotations

from yourcall.agents.toy import setup
from yourcall.agents.toy.live import NAME, ToyConversation

from yourcall.agents.session_spec import PluginSpec
from yourcall.agents.setup_spec import Health, Machine, Setup, note, well
from yourcall.agents.spec import Agent, Environment, Grade, Reach


def _doctor(machine: Machine) -> list[Health]:
    missing = [finding for state in machine.states() for finding in state.findings]
    return [note("toy", each.says, each.do) for each in missing] or [well("toy", "The toy calls yourcall.")]


TOY = Agent(
    NAME,
    title="Toy",
    grade=Grade("Toy", ("1.0.0",), {"permission": Reach("plugin", "plugin", "plugin")}),
    setup=Setup("TOY_HOME", ".toy", "plugin/yourcall.js", setup.add, setup.remove, setup.check),
    doctor=(_doctor,),
    environment=Environment(session_id="TOY_SESSION", home="TOY_HOME"),
    programs=("toy",),
    plugin=PluginSpec(ToyConversation),
)
AGENTS = (TOY,)
