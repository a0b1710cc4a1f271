"""A house for the server's tests: a real store, the real loop, and both apps under the real uvicorn.

Everything runs on an event loop in its own thread, so that a test can be slow, rude or wrong like any client.
"""

from __future__ import annotations

import asyncio
import hashlib
import json
import socket
import threading
import time
from collections.abc import Coroutine
from concurrent.futures import Future
from pathlib import Path
from typing import Any

import httpx
import uvloop
from websockets.sync.client import ClientConnection
from websockets.sync.client import connect as websocket

from yourcall.agents.claude.agent import CLAUDE
from yourcall.core.state import Step
from yourcall.daemon.authority import Authority
from yourcall.daemon.loop import Loop
from yourcall.daemon.rules.lazy_rules import LazyRules
from yourcall.daemon.standing_orders import StandingOrders
from yourcall.links.changes import Changes
from yourcall.links.conversations import Conversations
from yourcall.links.questions import ScriptQuestions
from yourcall.model.events import (
    AnswerWritten,
    AnyCommand,
    AnyEvent,
    CallSettled,
    DialogClosed,
    PromptRaised,
    SessionSeen,
)
from yourcall.model.people import AnswerPolicy
from yourcall.model.prompts import Option, Prompt, Question, Tool
from yourcall.model.sessions import Session
from yourcall.server.app import make_app
from yourcall.server.devices import Devices
from yourcall.server.listen import bind_tcp, listener
from yourcall.server.scopes import ALL, Scope
from yourcall.server.signatures import Signatures, steady_clock
from yourcall.server.step_up import StepUp
from yourcall.store.search import Search
from yourcall.store.search_conversations import ConversationSearch
from yourcall.store.sqlite import Store

ALLOW = Option("allow", "Yes", "allow_once", "Runs it this once.", digit="1")
ALWAYS = Option("always", "Yes, and don't ask again", "allow_always", "Writes a rule.")
DENY = Option("deny", "No", "deny", "Tells the agent no.")
STOP = Option("stop", "No, and stop", "stop", "Ends the turn.")
PERMISSION = Question("permission", "Run this command?", (ALLOW, ALWAYS, DENY, STOP), free_text=True)


async def _passes(_session: Session, _command: str) -> str:
    return ""


class House:
    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.commands: list[AnyCommand] = []
        self.stopped = threading.Event()
        self.late = 0.0  # how far the clock of devices and codes is ahead
        self.passed = 0.0  # how far the clock of gestures is ahead
        self.hosts: frozenset[str] = frozenset()
        self._ready: Future[None] = Future()
        self._thread = threading.Thread(target=self._run, name="house")
        self._thread.start()
        self._ready.result(10)

    def _run(self) -> None:
        with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
            runner.run(self._live())

    async def _live(self) -> None:
        try:
            self.aio = asyncio.get_running_loop()
            self._leave = asyncio.Event()
            self.store = Store.open(self.folder / "yourcall.db")
            self.loop = Loop(self.store, self.commands.append)
            self.devices = Devices(
                self.store, lambda: time.time() + self.late, Signatures(lambda: time.time() + self.late)
            )
            tcp, unix = bind_tcp("127.0.0.1", 0), socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
            self.port: int = tcp.getsockname()[1]
            self.host = f"127.0.0.1:{self.port}"
            self.origin = f"http://{self.host}"
            self.hosts = frozenset({self.host, f"localhost:{self.port}", "desk.example.net"})
            self.path = str(self.folder / "api.sock")
            unix.bind(self.path)
            unix.listen(16)
            unix.setblocking(False)
            self.policy = AnswerPolicy()
            self.told: list[str] = []
            clock = steady_clock()
            self.step_up = StepUp(
                self.store,
                self.store.host_id(),
                lambda: self.hosts,
                lambda: clock() + self.passed,
                self.told.append,
            )
            self.devices.forgets.append(self.step_up.forget)
            asks = ScriptQuestions(self.loop, self.store)
            rules = LazyRules(self.folder, self.store, {CLAUDE.name: CLAUDE}.get, lambda: 30, note=self.store.note)
            authority = Authority(self.store, lambda: self.policy, rules.effects, proofs=self.step_up)
            self.loop.authority = authority.judge
            talks = Conversations({CLAUDE.name: CLAUDE}.get)
            changes = Changes(
                lambda session, before, file: talks.page(
                    session, "", before=before, after=None, file=file, limit=500
                )
            )
            self.orders = StandingOrders(self.loop, self.store, _passes)
            apps = [
                make_app(
                    self.loop,
                    self.devices,
                    lambda: self.hosts,
                    local=local,
                    stop=self.stopped.set,
                    conversations=talks,
                    changes=changes,
                    search=Search(self.folder / "search.db", self.store),
                    talk_search=ConversationSearch(self.folder / "search-conversations.db", self.store, talks),
                    rules=rules,
                    asks=asks,
                    orders=self.orders,
                    step_up=self.step_up,
                    policy=lambda: self.policy,
                )
                for local in (False, True)
            ]
            servers = [listener(app) for app in apps]
            serving = [
                asyncio.ensure_future(server.serve([sock]))
                for server, sock in zip(servers, (tcp, unix), strict=True)
            ]
            for server in servers:
                await server.listening.wait()
            self._ready.set_result(None)
        except BaseException as error:
            self._ready.set_exception(error)
            raise
        await self._leave.wait()
        for server in servers:
            server.leave()
        await asyncio.gather(*serving)
        self.store.close()

    def close(self) -> None:
        self.aio.call_soon_threadsafe(self._leave.set)
        self._thread.join(60)
        assert not self._thread.is_alive()

    def run(self, work: Coroutine[Any, Any, Any]) -> Any:
        return asyncio.run_coroutine_threadsafe(work, self.aio).result(20)

    # -- what happens in the world

    def post(self, event: AnyEvent, bodies: dict[str, bytes] | None = None) -> Step:
        return self.run(self.loop.post(event, bodies))

    def session(self, name: str = "s1", **said: Any) -> None:
        self.post(SessionSeen(time.time(), Session(name, "claude", "/home/user/project", seen_at=1.0, **said)))

    def ask(
        self,
        name: str,
        body: bytes | None = None,
        *,
        session: str = "s1",
        questions: tuple[Question, ...] = (PERMISSION,),
        at: float | None = None,
        cwd: str = "/home/user/project",
    ) -> Prompt:
        """The agent stops and asks; the prompt as it is stored."""
        data = json.dumps({"tool_input": {"command": "ls -la"}}).encode() if body is None else body
        request = hashlib.sha256(data).hexdigest()
        prompt = Prompt(
            id=name,
            kind="permission",
            agent="claude",
            session_id=session,
            cwd=cwd,
            title="Bash",
            opened_at=time.time() if at is None else at,
            body="ls -la",
            tool=Tool("Bash"),
            questions=questions,
            request=request,
            answerable=True,
        )
        self.post(PromptRaised(prompt.opened_at, prompt), {request: data})
        return prompt

    def written(self, name: str) -> None:
        """The holder hands the answer to the agent."""
        answer = self.loop.state.prompts[name].answer
        assert answer is not None
        self.post(AnswerWritten(time.time(), name, answer.id))

    def settled(self, name: str) -> None:
        """The agent's record says that the answer it was given decided."""
        self.post(DialogClosed(time.time(), name, "busy"))
        self.post(CallSettled(time.time(), name, "allowed", "held"))

    # -- who comes to the doors

    def token(self, name: str = "phone", may: tuple[Scope, ...] = ALL) -> str:
        return self.run(self.devices.add(name, may))[1]

    def http(self, token: str | None = None, **headers: str) -> httpx.Client:
        """A client on the network."""
        said = {**({"Authorization": f"Bearer {token}"} if token else {}), **headers}
        return httpx.Client(base_url=self.origin, headers=said, timeout=60, trust_env=False, verify=False)

    def local(self) -> httpx.Client:
        """The user's own command line."""
        transport = httpx.HTTPTransport(uds=self.path, verify=False)
        return httpx.Client(transport=transport, base_url="http://localhost", timeout=60, trust_env=False)

    def feed(self, after: int | str | None = None, token: str | None = None, **said: Any) -> ClientConnection:
        headers = {**({"Authorization": f"Bearer {token}"} if token else {}), **said.pop("headers", {})}
        query = "" if after is None else f"?after={after}"
        url = f"ws://{self.host}/api/live{query}"
        return websocket(url, additional_headers=headers, proxy=None, open_timeout=60, **said)


def heard(feed: ClientConnection) -> dict[str, Any]:
    return json.loads(feed.recv(timeout=60))
