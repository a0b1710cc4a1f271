"""yourcall for programs: list, watch and answer prompts, and raise a hand. `AsyncYourcall` does it for asyncio.

Rule: standard library and msgspec only (watching also takes websockets, when it is used). A request that may have
changed something is not sent twice; a question survives a restart of the daemon, and is withdrawn when its asker
stops asking.

    from yourcall.client import Yourcall
    if Yourcall().ask("Deploy to production?", ["yes", "no"]).option == "yes": ...
"""

from __future__ import annotations

from yourcall.cli.views import Prompt, Result, Session
from yourcall.client.asynchronous import AsyncYourcall
from yourcall.client.blocking import Yourcall
from yourcall.client.messages import (
    Answered,
    Asked,
    Choice,
    Interrupted,
    News,
    NotAnswered,
    NotRunning,
    Refused,
    Withdrawn,
    YourcallError,
)
from yourcall.client.sdk import can_use_tool

__all__ = [
    "Answered",
    "Asked",
    "AsyncYourcall",
    "Choice",
    "Interrupted",
    "News",
    "NotAnswered",
    "NotRunning",
    "Prompt",
    "Refused",
    "Result",
    "Session",
    "Withdrawn",
    "Yourcall",
    "YourcallError",
    "can_use_tool",
]
