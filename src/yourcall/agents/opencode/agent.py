"""opencode and Kilo Code in a person's terminal, as the rest of yourcall sees them.

Sessions that yourcall starts itself speak ACP (`agents/acp`); the registry makes one agent of both.
"""

from __future__ import annotations

from functools import partial

from yourcall.agents.kit.own_record import read_entry
from yourcall.agents.opencode import doctor
from yourcall.agents.opencode.app import APPS, App
from yourcall.agents.opencode.live.connection import PluginConversation
from yourcall.agents.opencode.requests import TOOLS, action_of
from yourcall.agents.opencode.setup import setup
from yourcall.agents.opencode.transcript import conversation_of
from yourcall.agents.phone_spec import Logo, PhoneSpec
from yourcall.agents.session_spec import PluginSpec
from yourcall.agents.setup_spec import show_version
from yourcall.agents.spec import Agent, Grade, Reach
from yourcall.model.prompts import Kind

# How far it is understood.
_REACH: dict[Kind, Reach] = {
    "permission": Reach("plugin", "by its id, through the plugin", "the reply's own event"),
    "question": Reach("plugin", "by its id, through the plugin", "the reply's own event"),
    "loop": Reach("plugin", "by its id, through the plugin", "the reply's own event"),
    "ready": Reach("plugin", "next instruction", "the next turn begins"),
    "problem": Reach("plugin", "next instruction", "the next turn begins"),
}


def _agent(app: App) -> Agent:
    return Agent(
        app.name,
        read_entry=read_entry,
        conversation_of=conversation_of,
        action=action_of,
        tools=TOOLS,
        title=app.title,
        phone=PhoneSpec(Logo(app.logo)),
        grade=Grade(app.title, (show_version(app.measured),), _REACH, f"yourcall setup {app.name}"),
        setup=setup(app),
        doctor=(doctor.check(app),),
        programs=(app.name,),
        plugin=PluginSpec(partial(PluginConversation, app)),
    )


AGENTS: tuple[Agent, ...] = tuple(map(_agent, APPS))
