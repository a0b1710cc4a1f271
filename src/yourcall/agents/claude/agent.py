"""Claude Code, as the rest of yourcall sees it; and the demo, which plays one."""

from __future__ import annotations

from yourcall.agents.agent import Agent
from yourcall.agents.claude import demo
from yourcall.agents.claude.plan import plan
from yourcall.agents.claude.read import read_hook, read_line, read_status, status_file_of, transcript_of

CLAUDE = Agent("claude", read_hook, read_line, read_status, transcript_of, status_file_of, plan)
DEMO = Agent(demo.NAME, demo.read_demo_hook, read_line, read_status, transcript_of, status_file_of, plan)
