"""The hooks' socket: agents' hooks come in, requests are held on it, answers go back on the same connection.

Rule: what arrives here can raise prompts and tell how they end; nothing that arrives here can answer one. An
answer goes only to the connection that holds that very request.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
import os
import re
import secrets
import socket
import struct
import time
from collections.abc import Awaitable
from pathlib import Path
from typing import Protocol

from msgspec.structs import replace

from yourcall.agents.sightings import Caller, HookCall
from yourcall.links.agent_processes import process as kernel
from yourcall.model.events import AnswerNotWritten, AnswerWritten, AnyEvent, DialogClosed, HolderLost
from yourcall.system.connections import BACKLOG, Crowd, Guest, peer_of, share
from yourcall.system.peer import boot_seconds, peer_pid
from yourcall.system.sockets import bind_unix
from yourcall.system.tasks import Turnstile

log = logging.getLogger(__name__)

WAITING = frozenset({"PermissionRequest", "Elicitation", "Rules"})
REQUEST_ID = re.compile(r"[a-z0-9]{8,32}")
GREETING_S = 10.0  # a local program that cannot finish its greeting in this time is broken or hostile
ALPHABET = "abcdefghjkmnpqrstuvwxyz23456789"  # read aloud and typed without a mistake
LARGEST_ENV = 64 * 1024
LARGEST_PAYLOAD = 32 * 1024 * 1024
RULED_S = 2.0  # so long a hook waits for the rules (`DAEMON_S` in hook/ruling.py)
MOST_CONNECTIONS = 2_000  # a hook has one; of those that have not greeted us yet, the oldest makes room
AT_ONCE = 16  # looks at the processes behind a connection in one turn of the loop; each takes 0.3 ms
HOLDER_BACK_S = 3.0  # a hook tries to reconnect every half second; after this it is not coming back


class HookSink(Protocol):
    """Who the hooks talk to: the daemon."""

    async def hook(self, agent: str, call: HookCall) -> bool:
        """Take a hook call; True if the request is to be held."""
        ...

    async def post(self, event: AnyEvent) -> object: ...

    async def agent_died(self, prompt_id: str) -> None: ...


class Hooks:
    """All hook connections that are open, and the requests they hold."""

    def __init__(self, taker: HookSink, informing: frozenset[str] = frozenset()) -> None:
        """`informing`: the agents whose hooks hold nothing: while one runs, no dialog is shown."""
        self._taker = taker
        self._informing = informing
        self._holders: dict[str, asyncio.StreamWriter] = {}
        self._greeted: dict[str, bytes] = {}  # what a hook that has just come will be told in one go
        self._handed: set[tuple[str, str]] = set()  # (prompt, answer): once handed over, never "not handed over"
        self._crowd = Crowd(share(MOST_CONNECTIONS, 2))
        self._tasks: set[asyncio.Task[None]] = set()
        self._door, self._turnstile = Turnstile(AT_ONCE), Turnstile()

    async def serve(self, home: Path) -> asyncio.AbstractServer:
        def protocol() -> asyncio.StreamReaderProtocol:
            return asyncio.StreamReaderProtocol(_ToTheLastWord(limit=1 << 16), self._accept)

        sock = bind_unix(home, "hook.sock")
        return await asyncio.get_running_loop().create_unix_server(protocol, sock=sock, backlog=BACKLOG)

    def held(self, prompt_id: str) -> bool:
        return prompt_id in self._holders

    def deliver(self, prompt_id: str, answer_id: str, output: bytes, strict: bool) -> None:
        """Hand an answer to the holder; if it is away (a restart), to the holder that comes back."""
        head = f"answer {answer_id} {'strict' if strict else 'plain'} {len(output)}\n"
        if prompt_id in self._greeted:
            # It is told "hold" first: a hook that has its answer leaves, and what it has not read by then would
            # take its last word with it (the system then reports a broken connection instead).
            self._greeted[prompt_id] += head.encode() + output
            self._handed.add((prompt_id, answer_id))
        elif writer := self._listening(prompt_id):
            self._handed.add((prompt_id, answer_id))
            writer.write(head.encode() + output)
        else:
            self._later(self._not_back(prompt_id, answer_id))

    def release(self, prompt_id: str) -> None:
        if writer := self._listening(prompt_id):
            writer.write(b"release\n")

    def _listening(self, prompt_id: str) -> asyncio.StreamWriter | None:
        """Who holds it, unless the connection is broken already: what it said last may still be under way."""
        writer = self._holders.get(prompt_id)
        return None if writer is None or writer.is_closing() else writer

    async def let_go_of_absent(self, prompt_ids: list[str]) -> None:
        """After a start: requests that were held before and whose hooks have not come back in time."""
        await asyncio.sleep(HOLDER_BACK_S)
        for prompt_id in prompt_ids:
            if prompt_id not in self._holders:
                await self._taker.post(HolderLost(time.time(), prompt_id, "its hook is gone"))

    async def _not_back(self, prompt_id: str, answer_id: str) -> None:
        await asyncio.sleep(HOLDER_BACK_S)
        if (prompt_id, answer_id) not in self._handed:
            why = "the hook that held this request is gone; answer it at the desk"
            await self._taker.post(AnswerNotWritten(time.time(), prompt_id, answer_id, why))

    def _handed_to(self, prompt_id: str) -> list[str]:
        return [answer_id for prompt, answer_id in self._handed if prompt == prompt_id]

    async def _forget(self, prompt_id: str) -> None:
        """Once nobody can ask any more whether an answer to this request was handed over."""
        await asyncio.sleep(2 * HOLDER_BACK_S)
        if prompt_id not in self._holders:
            self._handed -= {pair for pair in self._handed if pair[0] == prompt_id}

    def _later(self, work: Awaitable[None]) -> None:
        task = asyncio.ensure_future(work)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    async def _accept(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        guest = self._crowd.enter(peer_of(writer.get_extra_info("socket")), writer.transport.abort)
        try:
            if guest in self._crowd and is_mine(writer):
                await self._serve(reader, writer, guest)
        except (
            OSError,
            asyncio.IncompleteReadError,
            ValueError,
            TimeoutError,
            asyncio.LimitOverrunError,
        ) as error:
            log.debug("hook connection: %r", error)
        except asyncio.CancelledError:
            return  # at our end; Python 3.11 would write an error into the log for each connection
        finally:
            self._crowd.leave(guest)
            writer.close()
            with contextlib.suppress(OSError):
                await writer.wait_closed()

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter, guest: Guest) -> None:
        await self._door.turn()
        callers = callers_of(writer)  # before it is heard: a hook that only informs is gone in a moment
        async with asyncio.timeout(GREETING_S):
            agent, call = await _greeting(reader, self._informing)
        call = replace(call, callers=callers)
        self._crowd.know(guest)
        await self._turnstile.turn()
        if call.event == "Rules" and (reader.at_eof() or time.time() > call.at + RULED_S):
            return  # too slow: its hook has looked at the rules itself, and nothing is to be recorded twice
        if not call.request_id:
            await self._taker.hook(agent, call)
            return
        prompt_id = call.request_id
        if prompt_id in self._holders:
            log.warning("a second hook claims request %s; it is not served", prompt_id)
            return
        self._holders[prompt_id] = writer
        self._greeted[prompt_id] = b"hold\n"
        told = False
        try:
            if not await self._taker.hook(agent, call):
                writer.write(b"release\n")
                await self._taker.post(HolderLost(time.time(), prompt_id, "the desk has it"))
                await writer.drain()
                told = True
                return
            writer.write(self._greeted.pop(prompt_id))
            told = await self._listen(prompt_id, reader)
        finally:
            del self._holders[prompt_id]
            self._greeted.pop(prompt_id, None)
            if self._handed_to(prompt_id):
                self._later(self._forget(prompt_id))
            if not told:
                await self._taker.post(HolderLost(time.time(), prompt_id, "its hook ended without a word"))

    async def _listen(self, prompt_id: str, reader: asyncio.StreamReader) -> bool:
        """What the holder says until it leaves; True if it said how it ended."""
        post = self._taker.post
        while line := await reader.readline():
            await self._turnstile.turn()
            now = time.time()
            match line.decode("utf-8", "replace").rstrip("\n").split(" ", 2):
                case ["wrote", answer_id] if (prompt_id, answer_id) in self._handed:
                    await post(AnswerWritten(now, prompt_id, answer_id))
                    return True
                case ["unwritten", answer_id, status] if (prompt_id, answer_id) in self._handed:
                    why = f"the agent's dialog could not be seen to be open (its state is {status[:20]!r})"
                    await post(AnswerNotWritten(now, prompt_id, answer_id, why))
                case ["left", "busy" | "idle" | "over" as to]:
                    await post(DialogClosed(now, prompt_id, to))
                    return True
                case ["dead"]:
                    await self._taker.agent_died(prompt_id)
                    return True
                case ["leaving", *words]:
                    # Whoever leaves like this has written nothing: an answer on its way to it comes back.
                    why = " ".join(words)
                    for answer_id in self._handed_to(prompt_id):
                        await post(AnswerNotWritten(now, prompt_id, answer_id, why))
                    await post(HolderLost(now, prompt_id, why))
                    return True
                case other:
                    log.debug("holder of %s said %r", prompt_id, other[0][:40])
        return False


class _ToTheLastWord(asyncio.StreamReader):
    """A hook that leaves breaks the connection off; what it said before that is still heard."""

    def set_exception(self, exc: Exception) -> None:
        if isinstance(exc, ConnectionError):
            self.feed_eof()
        else:
            super().set_exception(exc)


async def _greeting(reader: asyncio.StreamReader, informing: frozenset[str]) -> tuple[str, HookCall]:
    head = (await reader.readline()).decode("ascii").split()
    magic, agent, event, request_id, env_size, payload_size = head
    if magic != "yourcall/1" or int(env_size) > LARGEST_ENV or int(payload_size) > LARGEST_PAYLOAD:
        raise ValueError("not a greeting of ours")
    block = (await reader.readexactly(int(env_size))).decode("utf-8", "replace")
    payload = await reader.readexactly(int(payload_size))
    env = dict(pair.split("=", 1) for pair in block.split("\0") if "=" in pair)
    if event in WAITING and agent not in informing:
        if not REQUEST_ID.fullmatch(request_id):
            raise ValueError("a held request without a usable id")
    else:
        request_id = ""
    now = time.time()
    return agent, HookCall(_started(env, now), event, payload, env, request_id, new_id())


def callers_of(writer: asyncio.StreamWriter) -> tuple[Caller, ...]:
    """The process that connected and its parents, nearest first; empty if it is gone already."""
    connected_at = boot_seconds()
    first = kernel.facts(peer_pid(writer.get_extra_info("socket")) or 0)
    if first is None or (first.began and first.began > connected_at):
        return ()
    return tuple(
        Caller(each.pid, each.started, each.sid == each.pid and each.terminal != 0) for each in kernel.chain(first)
    )


def new_id() -> str:
    """An id for a prompt that no hook holds; the same letters as the hook program's own."""
    return "".join(secrets.choice(ALPHABET) for _ in range(10))


def _started(env: dict[str, str], now: float) -> float:
    """When the hook was started, so that a prompt that waited through our outage keeps its true age."""
    try:
        started = float(env.get("started", now))
    except ValueError:
        return now
    return started if now - 2 * 86_400 < started <= now else now


def is_mine(writer: asyncio.StreamWriter) -> bool:
    """The socket is 0600 in a 0700 folder; where the system can tell, the peer is checked too."""
    sock: socket.socket | None = writer.get_extra_info("socket")
    if sock is None or not hasattr(socket, "SO_PEERCRED"):
        return True
    _, uid, _ = struct.unpack("3i", sock.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, struct.calcsize("3i")))
    return uid == os.getuid()
