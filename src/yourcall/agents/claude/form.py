"""A form that an MCP server asks for through Claude."""

from __future__ import annotations

from yourcall.agents import mcp_form
from yourcall.agents.mcp_form import ACTION as ACTION
from yourcall.agents.mcp_form import content as content
from yourcall.agents.mcp_form import questions as questions
from yourcall.model import Question


def action(url: bool) -> Question:
    return mcp_form.action(url, "Claude")
