"""Claude Code, as the rest of yourcall sees it; and the demo, which plays one."""

from __future__ import annotations

from msgspec.structs import replace

from yourcall.agents.agent import Agent
from yourcall.agents.claude import demo
from yourcall.agents.claude.asked import asked
from yourcall.agents.claude.conversation import conversation_of, read_entry
from yourcall.agents.claude.discover import FINDER
from yourcall.agents.claude.messages import read_message
from yourcall.agents.claude.pictures import read_pictures
from yourcall.agents.claude.plan import insist, plan
from yourcall.agents.claude.read import (
    read_hook,
    read_line,
    read_status,
    settled,
    status_file_of,
    transcript_of,
)
from yourcall.agents.claude.stream import HEADLESS

CLAUDE = Agent(
    "claude",
    read_hook,
    read_line,
    read_status,
    transcript_of,
    status_file_of,
    settled,
    plan,
    read_entry,
    conversation_of,
    FINDER,
    HEADLESS,
    asked=asked,
    insist=insist,
    read_pictures=read_pictures,
    read_message=read_message,
)
DEMO = replace(
    CLAUDE, name=demo.NAME, read_hook=demo.read_demo_hook, plan=demo.plan_demo, finder=None, headless=None
)
