"""A form that an MCP server asks for through Claude."""

from __future__ import annotations

from yourcall.agents.kit import forms
from yourcall.agents.kit.forms import ACTION as ACTION
from yourcall.agents.kit.forms import content as content
from yourcall.agents.kit.forms import questions as questions
from yourcall.model.prompts import Question


def action(url: bool) -> Question:
    return forms.action(url, "Claude")
