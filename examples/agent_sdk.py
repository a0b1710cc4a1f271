"""A program built on the Claude Agent SDK; what it may do is asked on your phone. Needs claude-agent-sdk."""

from __future__ import annotations

import asyncio
import sys

from claude_agent_sdk import ClaudeAgentOptions, ClaudeSDKClient

from yourcall.client import can_use_tool


async def main(task: str) -> None:
    options = ClaudeAgentOptions(can_use_tool=can_use_tool(name="agent_sdk.py"))
    async with ClaudeSDKClient(options) as agent:
        await agent.query(task)
        async for message in agent.receive_response():
            print(message)


asyncio.run(main(" ".join(sys.argv[1:]) or "Say hello."))
