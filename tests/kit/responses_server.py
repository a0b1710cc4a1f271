"""The scripted OpenAI Responses model that the package brings."""

from yourcall.live_check.models.responses import ResponsesServer, Step, call, escalated, failure, patch, pause, say

__all__ = ["ResponsesServer", "Step", "call", "escalated", "failure", "patch", "pause", "say"]
