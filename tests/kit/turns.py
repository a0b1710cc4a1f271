"""The turns of a scripted model, as the package brings them."""

from yourcall.agents.claude.live_check import plan_file
from yourcall.agents.model_turns import Block, error, hang, pause, text, thinking, tool

__all__ = ["Block", "error", "hang", "pause", "plan_file", "text", "thinking", "tool"]
