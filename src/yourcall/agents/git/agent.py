"""Git, as the rest of yourcall sees it: what a person asks it to do with a session's changes is a prompt that
rules judge like an agent's own command. No program is started by this name, and no hook calls us.
"""

from __future__ import annotations

from yourcall.agents.git.requests import AGENT, TOOLS, action_of
from yourcall.agents.phone_spec import Logo, PhoneSpec
from yourcall.agents.spec import Agent, HookReply
from yourcall.model.prompts import Answer, Prompt, Refused


def _plan(_prompt: Prompt, _answer: Answer, _request: bytes) -> HookReply | Refused:
    return Refused("yourcall runs git itself; no hook holds this.")


AGENTS = (
    Agent(
        AGENT,
        reply=_plan,
        action=action_of,
        tools=TOOLS,
        title="Git",
        phone=PhoneSpec(Logo("M7 4.5v15M7 15c7 0 10-2 10-6.5M17 4v4.5")),
    ),
)
