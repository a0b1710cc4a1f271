"""The scripted Anthropic model that the package brings."""

from yourcall.live_check.models.messages import ModelServer, Request, ToolResult, ToolUse

__all__ = ["ModelServer", "Request", "ToolResult", "ToolUse"]
