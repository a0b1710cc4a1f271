"""Who asks a session of ours something and leaves, or starts one while yourcall stops: nobody else suffers."""

from __future__ import annotations

import asyncio
import os
from pathlib import Path

import pytest
import uvloop

from yourcall.agents.registry import AGENTS
from yourcall.agents.session_spec import Output, RequestDone, Speaking, StartOptions
from yourcall.core.state import State
from yourcall.links.stdio import process
from yourcall.links.stdio.process import PipedProcess
from yourcall.links.stdio.sessions import Policy, Running, StdioSessions
from yourcall.model.events import AnyEvent
from yourcall.model.prompts import Answer, Prompt, Refused
from yourcall.model.sessions import Session

ENV = {"PATH": os.environ.get("PATH", os.defpath)}


class Desk:
    def __init__(self) -> None:
        self.state = State()
        self.told: list[AnyEvent] = []

    async def post(self, event: AnyEvent, bodies: dict[str, bytes] | None = None) -> object:
        self.told.append(event)
        return None


class Words:
    """The plainest agent: it repeats, and `granted` is its word on what it was asked."""

    session_id = "s1"
    speaking = Speaking()

    def __init__(self) -> None:
        self.heard: list[bytes] = []

    def state(self) -> bytes:
        return b""

    def open(self) -> list[bytes]:
        return []

    def hear(self, line: bytes, at: float) -> Output:
        self.heard.append(line)
        return Output(done=RequestDone("r1")) if line == b"granted" else Output()

    def answer(self, prompt: Prompt, answer: Answer, request: bytes) -> bytes | Refused:
        return Refused("never asked")

    def say(self, text: str, command: bool) -> bytes | Refused:
        return text.encode() + b"\n"

    def ask(self, wish: str, value: str) -> tuple[str, bytes] | Refused:
        return "r1", b"please\n"


def test_a_word_that_comes_just_as_its_asker_leaves_ends_no_session(tmp_path: Path) -> None:
    go, said = tmp_path / "go", tmp_path / "said"
    os.mkfifo(go)
    os.mkfifo(said)
    script = f"read _; read _ < '{go}'; echo granted; echo said > '{said}'; while read x; do echo \"$x\"; done"

    async def act() -> list[bytes]:
        started = StdioSessions(Desk(), {}, Policy())
        talk, loop = Words(), asyncio.get_running_loop()
        running = Running(PipedProcess.start(["/bin/sh", "-c", script], ENV, tmp_path), talk)
        started._running.add(running)
        started._spawn(started._follow(running))
        session = Session("s1", "words", "/p")
        asking = asyncio.create_task(started.interrupt(session))
        async with asyncio.timeout(60):
            while not running.asked:  # noqa: ASYNC110 - what is looked at has no event
                await asyncio.sleep(0.01)
            go.write_text("now\n")
            said.read_text()  # the loop stands still: the word is in the pipe, and not read yet
            loop.call_later(0, asking.cancel)  # its asker leaves in the very turn in which it is read
            await asyncio.wait([asking])
            verdict = await started.send(session, "still there?")
            assert verdict.result == "sent", verdict
            while b"still there?" not in talk.heard and not running.over.is_set():  # noqa: ASYNC110
                await asyncio.sleep(0.01)
        await started.close()
        return talk.heard

    assert uvloop.run(act()) == [b"granted", b"still there?"]


def test_yourcall_stops_even_if_a_session_is_started_meanwhile(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It waited for the new one to end by itself, which it need not do for days."""
    monkeypatch.setattr(process, "ENDS_S", 1.0)
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("SHELL", "/bin/sh")
    ready = tmp_path / "ready"
    stubborn = f"trap '' TERM; touch '{ready}'; while read x; do :; done"

    async def act() -> str | Refused:
        started = StdioSessions(Desk(), AGENTS, Policy(), {"acp": Policy()})
        running = Running(PipedProcess.start(["/bin/sh", "-c", stubborn], ENV, tmp_path), Words())
        started._running.add(running)
        started._spawn(started._follow(running))
        async with asyncio.timeout(60):
            while not ready.exists():  # noqa: ASYNC110 - what another program has done
                await asyncio.sleep(0.01)
            closing = asyncio.create_task(started.close())
            await asyncio.sleep(0)  # it waits for the stubborn one
            wish = StartOptions(str(tmp_path), "", command=("/bin/sleep", "60"))
            starting = asyncio.create_task(started.start("acp", wish, remote=False))
            await closing
            return await starting

    said = uvloop.run(act())
    assert isinstance(said, Refused)
    assert "is stopping" in said.reason
