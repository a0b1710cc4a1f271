"""Codex through its app-server: how soon a request is shown, and an answer acted on; beside a bare client.

The rule it keeps: one app-server, one thread, one owner that listens to it all; both sides are further clients of
the same server, and every clock is the owner's.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

from bench.clock import in_turn, ms
from bench.latency import OF_BARE, WITHIN_MS
from bench.place import Yourcall
from bench.row import Row
from bench.size import Size
from bench.turn import fetched
from bench.wires import Live, Poster
from kit.codex import CodexHome, run_codex
from kit.codex_client import Client
from kit.responses_server import ResponsesServer, escalated, say

NOTE = "yourcall listens to a thread as soon as it works; the bare client only once it waits."


def told(at: Path, size: Size) -> Iterator[Row]:
    binary = fetched("codex")
    with ExitStack() as stack:
        model = stack.enter_context(ResponsesServer())
        home = CodexHome.make(at, model)
        stack.callback(home.close)
        run_codex(binary, home, "app-server", "daemon", "start")
        ours = Yourcall(at)
        ours.home.mkdir()
        (ours.home / "config.toml").write_text(f'[codex]\nhomes = ["{home.config}"]\n')
        stack.enter_context(ours)
        owner, bare = (stack.enter_context(Client(home.socket)) for _ in range(2))
        scene = Scene(model, owner, bare, ours, home.project)
        taken = in_turn(size.of(30, 2), {"ours": scene.through_us, "bare": scene.through_bare})
    shown, answered = ({name: [each[n] for each in rounds] for name, rounds in taken.items()} for n in (0, 1))
    against = "a bare client that resumes the thread when it waits"
    name = "a request of Codex's is shown: from its change of state to a subscriber"
    yield Row(name, "ms", ms(shown["ours"]), against, ms(shown["bare"]), most=WITHIN_MS, note=NOTE)
    name = "an answer reaches Codex: from the POST to the end of the item"
    yield Row(name, "ms", ms(answered["ours"]), "a bare client", ms(answered["bare"]), most_ratio=OF_BARE)


class Scene:
    """One thread that asks again and again."""

    def __init__(self, model: ResponsesServer, owner: Client, bare: Client, ours: Yourcall, project: Path) -> None:
        self._owner, self._bare, self._ours = owner, bare, ours
        self._words = model.script("ask", [escalated("true")], [say("Done.")])
        self._thread = owner.start(project)
        self._known: set[str] = set()

    def through_us(self) -> tuple[float, float]:
        with Live(self._ours.port, "/api/live", self._ours.token) as live:
            self._begin()
            prompt = live.raised_in(self._thread)
            while prompt["kind"] != "permission" or prompt["id"] in self._known:
                prompt = live.raised_in(self._thread)
            shown = time.perf_counter()
        self._known.add(prompt["id"])
        waits = self._waits()
        with Poster(self._ours.port, self._ours.token) as poster:
            began = time.perf_counter()
            poster.send(f"/api/prompts/{prompt['id']}/answer", b'{"option": "allow"}')
            ended = self._ended()
            poster.reply()
        self._over()
        return shown - waits, ended - began

    def through_bare(self) -> tuple[float, float]:
        """It hears of the change like everybody, resumes, is asked, answers, and leaves."""

        def resume(message: dict[str, Any]) -> None:
            if _waiting(message) and message["params"]["threadId"] == self._thread:
                self._bare.send("thread/resume", {"threadId": self._thread, "excludeTurns": True})

        self._bare.react = resume
        self._begin()
        shown, request = self._bare.wait(lambda m: m.get("method") == "item/commandExecution/requestApproval")
        self._bare.react = lambda message: None
        waits = self._waits()
        began = time.perf_counter()
        self._bare.reply(request["id"], {"decision": "accept"})
        ended = self._ended()
        self._over()
        self._bare.call("thread/unsubscribe", {"threadId": self._thread})
        return shown - waits, ended - began

    def _begin(self) -> None:
        self._owner.call(
            "turn/start", {"threadId": self._thread, "input": [{"type": "text", "text": self._words}]}
        )

    def _waits(self) -> float:
        return self._owner.wait(_waiting)[0]

    def _ended(self) -> float:
        def is_end(message: dict[str, Any]) -> bool:
            item = message.get("params", {}).get("item", {}) if message.get("method") == "item/completed" else {}
            return item.get("type") == "commandExecution"

        return self._owner.wait(is_end)[0]

    def _over(self) -> None:
        self._owner.wait(lambda m: m.get("method") == "turn/completed")


def _waiting(message: dict[str, Any]) -> bool:
    if message.get("method") != "thread/status/changed":
        return False
    return "waitingOnApproval" in message["params"]["status"].get("activeFlags", [])
