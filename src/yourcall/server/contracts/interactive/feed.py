"""The second contract over HTTP and a WebSocket: `interactive-prompt` events, responses, and what became of them.

Rule: what is open is told at once, then each change; a client that cannot keep up is let go (4008).
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from contextlib import suppress
from typing import Any

import msgspec
from starlette.websockets import WebSocket, WebSocketDisconnect

from yourcall.core.queue_order import in_order
from yourcall.model.prompts import Prompt, Refused
from yourcall.server.auth import CALLER, Caller, Refusal, not_allowed
from yourcall.server.contracts.interactive.convert import (
    InteractivePrompt,
    PromptResponse,
    Responses,
    decode,
    interactive,
    request_ids,
    respond,
)
from yourcall.server.devices import Devices
from yourcall.server.live import FAREWELL, PATIENCE, RESYNC, REVOKED, why_cut
from yourcall.server.ports import Prompts, Ties
from yourcall.server.route import Call, Reply, body

QUEUE = 1_000

_encode = msgspec.json.Encoder().encode
_UNKNOWN = "There is no such request; it may be over."
BEGUN = "begun"  # where an app keeps who has begun to answer what, for its connections and its routes alike


async def list_interactive(call: Call) -> Reply | Refusal:
    store = call.desk.store
    waiting = [prompt for prompt in store.live()[0] if prompt.state == "open"]
    return Reply([interactive(prompt, store) for prompt in in_order(waiting)])


async def respond_interactive(call: Call) -> Reply | Refusal:
    asked = await body(call.request, PromptResponse)
    if isinstance(asked, Refusal):
        return asked
    begun: Responses = getattr(call.request.app.state, BEGUN)
    done = await respond(call.desk, begun, call.caller, asked, call.ties)
    if done is None:
        return Refusal(404, _UNKNOWN)
    status = {"too_late": 409, "bounced": 409, "unsure": 409, "refused": 422}.get(done.result, 200)
    return Reply(done, status)


def feed(desk: Prompts, devices: Devices, ties: Ties | None = None) -> Callable[[WebSocket], Awaitable[None]]:
    """The endpoint of `/api/interactive`."""

    async def endpoint(socket: WebSocket) -> None:
        caller: Caller = socket.scope[CALLER]
        out: asyncio.Queue[object] = asyncio.Queue(QUEUE)
        with devices.present(caller.device_id) as cut, suppress(WebSocketDisconnect, TimeoutError):
            await socket.accept()
            work: dict[asyncio.Future[Any], tuple[int, str]] = {
                asyncio.ensure_future(_write(socket, out)): (RESYNC, "resync"),
                asyncio.ensure_future(_tell(desk, out)): (RESYNC, "resync"),
                asyncio.ensure_future(cut.wait()): (REVOKED, "revoked"),
                asyncio.ensure_future(_hear(socket, desk, caller, out, ties)): (0, ""),
            }
            try:
                done, _ = await asyncio.wait(work, return_when=asyncio.FIRST_COMPLETED)
                code, why = why_cut(devices, caller.device_id) if cut.is_set() else work[done.pop()]
            finally:
                for task in work:
                    task.cancel()
                await asyncio.gather(*work, return_exceptions=True)
            if code:
                async with asyncio.timeout(FAREWELL):
                    await socket.close(code, why)

    return endpoint


async def _write(socket: WebSocket, out: asyncio.Queue[object]) -> None:
    while True:
        message = await out.get()
        async with asyncio.timeout(PATIENCE):
            await socket.send({"type": "websocket.send", "text": _encode(message).decode()})


async def _tell(desk: Prompts, out: asyncio.Queue[object]) -> None:
    """Until the queue is full: then the client does not read."""
    shown: dict[str, Prompt] = {}
    with suppress(asyncio.QueueFull):
        async with desk.subscribe(None) as changes:
            for prompt in in_order(desk.store.live()[0]):
                _news(prompt, desk, shown, out)
            async for change in changes:
                if change.prompt is not None:
                    _news(change.prompt, desk, shown, out)


def _news(prompt: Prompt, desk: Prompts, shown: dict[str, Prompt], out: asyncio.Queue[object]) -> None:
    before = shown.get(prompt.id)
    if prompt.state == "open":
        if before is None or before.questions != prompt.questions:
            shown[prompt.id] = prompt
            out.put_nowait(event(prompt, desk))
    elif before is not None:
        del shown[prompt.id]
        for name in request_ids(before):
            told = {"requestId": name, "state": prompt.state, "sessionId": prompt.session_id}
            out.put_nowait({"type": "interactive-prompt-resolved", **told})


def event(prompt: Prompt, desk: Prompts) -> dict[str, Any]:
    return _event(interactive(prompt, desk.store), prompt.session_id)


def _event(asked: InteractivePrompt, session_id: str) -> dict[str, Any]:
    """`{type: "interactive-prompt", ...prompt}`. The prompt's own `type`, which that hides, is `promptType`; the
    prompt as it is, is in `prompt`."""
    whole = _plain(asked)
    named = {"type": "interactive-prompt", "promptType": whole["type"], "sessionId": session_id}
    return {**whole, **named, "prompt": whole}


def _plain(value: object) -> dict[str, Any]:
    """As it goes over the wire: a tool's input is kept verbatim, which only an encoder knows how to put down."""
    return msgspec.json.decode(_encode(value))


async def _hear(
    socket: WebSocket, desk: Prompts, caller: Caller, out: asyncio.Queue[object], ties: Ties | None
) -> None:
    """One response after the other: what is told next may depend on the one before."""
    while True:
        message = await socket.receive()
        if message["type"] == "websocket.disconnect":
            return
        asked = decode(message.get("text") or message.get("bytes") or "")
        if isinstance(asked, Refused):
            out.put_nowait({"type": "error", "error": asked.reason})
            continue
        no = not_allowed(caller, "answer")
        if no is not None:
            out.put_nowait({"type": "error", "requestId": asked.request_id, "error": no.reason})
            continue
        begun: Responses = getattr(socket.app.state, BEGUN)
        done = await respond(desk, begun, caller, asked, ties)
        if done is None:
            out.put_nowait({"type": "error", "requestId": asked.request_id, "error": _UNKNOWN})
            continue
        out.put_nowait({"type": "prompt-response", **_plain(done)})
        if done.next is not None:
            about = desk.store.prompt(done.next.request_id.partition(".")[0])
            out.put_nowait(_event(done.next, about.session_id if about is not None else ""))
