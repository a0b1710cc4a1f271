"""What we ask of an app-server: numbered messages, and what is done with the reply to each.

Rule: a reply is taken once, and only for what was asked; a wish is granted or refused by the number it went with.
"""

from __future__ import annotations

from collections.abc import Callable

from yourcall.agents.codex import wire
from yourcall.agents.codex.wire import Thread
from yourcall.agents.jsonrpc import Message
from yourcall.agents.session_spec import Output, RequestDone

NOTHING = Output()

Reply = Callable[[Message, float], Output]


class Calls:
    def __init__(self) -> None:
        self._replies: dict[int, Reply] = {}
        self._count = 0

    @property
    def unanswered(self) -> bool:
        return bool(self._replies)

    def ask(self, method: str, params: object, then: Reply | None = None) -> bytes:
        self._count += 1
        self._replies[self._count] = then or (lambda message, at: NOTHING)
        return wire.request(self._count, method, params)

    def wish(self, method: str, params: object) -> tuple[str, bytes]:
        """The number by which it will be told as done, and the message."""
        message = self.ask(method, params, _granted)
        return str(self._count), message

    def turn(self, thread: Thread, text: str, then: Reply | None = None, mode: str = "") -> bytes:
        return self.ask("turn/start", _turn(thread, text, mode), then)

    def wish_turn(self, thread: Thread, text: str) -> tuple[str, bytes]:
        return self.wish("turn/start", _turn(thread, text, ""))

    def replied(self, message: Message, at: float) -> Output:
        then = self._replies.pop(message.id, None) if isinstance(message.id, int) else None
        return then(message, at) if then else NOTHING


def _turn(thread: Thread, text: str, mode: str) -> dict[str, object]:
    """Words for Codex: the next turn, or more for the one that runs."""
    params: dict[str, object] = {"threadId": thread.id, "input": wire.said(text)}
    if mode:
        settings = {"model": thread.model, "reasoning_effort": None, "developer_instructions": None}
        params["collaborationMode"] = {"mode": mode, "settings": settings}
    return params


def _granted(message: Message, at: float) -> Output:
    return Output(done=RequestDone(str(message.id), (message.error.message or "") if message.error else ""))
