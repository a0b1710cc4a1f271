"""Our side of the line: requests of ours get a number each, and each reply finds whoever waits for it.

Rule: a reply to a number that is not ours, or that was answered already, means nothing.
"""

from __future__ import annotations

from collections.abc import Callable

from yourcall.agents.acp import wire
from yourcall.agents.jsonrpc import Message
from yourcall.agents.session_spec import Output

NOTHING = Output()
Reply = Callable[[Message, float], Output]


class Peer:
    """`count`: the number of our latest request."""

    def __init__(self) -> None:
        self.count = 0
        self._replies: dict[int, Reply] = {}

    def call(self, method: str, params: object, then: Reply) -> bytes:
        line = wire.request(self.count + 1, method, params)
        self.count += 1
        self._replies[self.count] = then
        return line

    def replied(self, message: Message, at: float) -> Output:
        then = self._replies.pop(message.id, None) if isinstance(message.id, int) else None
        return then(message, at) if then else NOTHING
