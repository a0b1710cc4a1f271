"""Events of the real opencode, played again to our plugin and from there to the folder and the core."""

from __future__ import annotations

import json
import os
import socket
import subprocess
import threading
from contextlib import closing
from pathlib import Path
from typing import Any

from kit.poll import PATIENCE_S, until
from yourcall.agents.kit.own_record import read_entry
from yourcall.agents.opencode.app import OPENCODE, App
from yourcall.agents.opencode.live.connection import PluginConversation
from yourcall.agents.opencode.setup import source
from yourcall.agents.session_spec import PluginGreeting
from yourcall.agents.sightings import Caller
from yourcall.core.state import State
from yourcall.core.step import step
from yourcall.model.conversation import AnyEntry
from yourcall.model.events import AnswerGiven, AnswerWritten, AnyEvent, CallSettled
from yourcall.model.prompts import Answer, Prompt

TESTS = Path(__file__).resolve().parents[2]
LOGS = sorted(path.stem for path in (TESTS / "data" / "opencode").glob("*.jsonl"))


def logged(log: str) -> list[dict[str, Any]]:
    lines = (TESTS / "data" / "opencode" / f"{log}.jsonl").read_text().splitlines()
    return [json.loads(line)["event"] for line in lines]


class Player:
    """The plugin in a process of its own, and the daemon's side of its socket."""

    def __init__(self, folder: Path, app: App = OPENCODE) -> None:
        self.state = State()
        self.prompts: dict[str, Prompt] = {}
        self.bodies: dict[str, bytes] = {}
        self.records: dict[str, list[AnyEntry]] = {}
        self.settled: dict[str, CallSettled] = {}
        self.calls: list[dict[str, Any]] = []
        self.at = 1.0
        self.over = False
        self._lock = threading.Lock()
        file = folder / "plugin.mjs"
        file.write_text(source(app, f"{folder}/hook"))
        self._server = socket.socket(socket.AF_UNIX)
        self._server.bind(str(folder / "plugin.sock"))
        self._server.listen(1)
        self._server.settimeout(PATIENCE_S)
        self._process = subprocess.Popen(
            ["node", str(TESTS / "kit" / "opencode_plugin.mjs"), str(file)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            env={"PATH": os.environ["PATH"], "TMUX": "/tmp/s,1,0", "TMUX_PANE": "%3"},
        )
        self._line, _ = self._server.accept()
        self._lines = self._line.makefile("rb")
        magic, name, about = self._lines.readline().split(b" ", 2)
        assert (magic, name) == (b"yourcall/1", app.name.encode())
        self.talk = PluginConversation(app, PluginGreeting((Caller(7, "1"),), about, "/records"))
        self._threads = [threading.Thread(target=work) for work in (self._read, self._watch)]
        for thread in self._threads:
            thread.start()

    def close(self) -> None:
        assert self._process.stdin is not None
        self._process.stdin.close()
        self._process.wait(PATIENCE_S)
        for thread in self._threads:
            thread.join()
        assert self._process.stdout is not None
        for each in (self._process.stdout, self._lines, self._line, self._server):
            each.close()

    def _read(self) -> None:
        for data in self._lines:
            with self._lock:
                self.over = self.over or b'"ended"' in data
                self.at += 1.0
                output = self.talk.hear(data, self.at)
                self.bodies |= output.bodies
                for message in output.lines:
                    self._line.sendall(message + b"\n")
                if output.record_of:
                    kept = [] if output.record_anew else self.records.get(output.record_of, [])
                    self.records[output.record_of] = kept + [e for one in output.record for e in read_entry(one)]
                for event in output.events:
                    self._take(event)

    def _watch(self) -> None:
        assert self._process.stdout is not None
        for line in self._process.stdout:
            self.calls.append(json.loads(line))

    def _take(self, event: AnyEvent) -> None:
        done = step(self.state, event)
        self.state.take(done)
        for prompt in done.prompts:
            self.prompts[prompt.id] = prompt
        if isinstance(event, CallSettled):
            self.settled[event.prompt_id] = event

    def settle(self) -> None:
        """Until the plugin has told what it was told."""
        ended = {"id": "end", "type": "session.deleted", "properties": {"info": {"id": "none"}}}
        self.tell(ended)
        until(lambda: self.over, what="the plugin's last word")

    def tell(self, event: dict[str, Any]) -> None:
        assert self._process.stdin is not None
        self._process.stdin.write(json.dumps(event).encode() + b"\n")
        self._process.stdin.flush()

    def prompt(self, request: str) -> Prompt:
        """The prompt of a request, once it is raised."""
        return until(
            lambda: next(
                (p for p in [*self.prompts.values()] if request in str(self.bodies.get(p.request))), None
            ),
            what=request,
        )

    def answer(self, prompt: Prompt, answer: Answer) -> None:
        with self._lock:
            messages = self.talk.answer(prompt, answer, self.bodies[prompt.request])
            assert isinstance(messages, list), messages
            self._take(AnswerGiven(self.at, prompt.id, answer))
            for message in messages:
                self._line.sendall(message + b"\n")
            self._take(AnswerWritten(self.at, prompt.id, answer.id))
        asked = json.loads(self.bodies[prompt.request])["id"]
        until(lambda: any(asked in call.get("post", "") for call in self.calls), what=f"the answer to {asked}")


def played(folder: Path, log: str, answers: dict[str, Answer] | None = None) -> Player:
    """The whole log. `answers`: by what stands in the request, what we say before the log says the same."""
    player = Player(folder)
    with closing(player):
        for event in logged(log):
            player.tell(event)
            if event["type"].endswith(".asked"):
                prompt = player.prompt(event["properties"]["id"])
                ours = next((a for text, a in (answers or {}).items() if text in json.dumps(event)), None)
                if ours is not None:
                    player.answer(prompt, ours)
        player.settle()
    return player
