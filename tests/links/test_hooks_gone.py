"""A hook that breaks off while we are busy with what it said: nothing is written to it, and that is told."""

from __future__ import annotations

import asyncio
from pathlib import Path

import uvloop

from yourcall.agents.sightings import HookCall
from yourcall.links.hooks import Hooks
from yourcall.model.events import AnswerNotWritten, AnyEvent
from yourcall.system.sockets import reach_unix

ASKED = "aaaabbbbcc"


class Busy:
    """A daemon whose disk keeps it waiting."""

    def __init__(self) -> None:
        self.disk = asyncio.Event()
        self.said: list[AnyEvent] = []

    async def hook(self, agent: str, call: HookCall) -> bool:
        return True

    async def post(self, event: AnyEvent) -> None:
        self.said.append(event)
        await self.disk.wait()

    async def agent_died(self, prompt_id: str) -> None:
        raise AssertionError

    async def heard(self, *answers: str) -> None:
        async with asyncio.timeout(40):
            while not {*answers} <= {e.answer_id for e in self.said if isinstance(e, AnswerNotWritten)}:  # noqa: ASYNC110
                await asyncio.sleep(0.01)


def test_an_answer_for_a_hook_that_has_just_broken_off_comes_back(tmp_path: Path) -> None:
    """On the loop that the daemon runs on, to write on such a connection is an error."""

    async def told() -> list[AnyEvent]:
        daemon = Busy()
        hooks = Hooks(daemon)
        server = await hooks.serve(tmp_path)
        talk = await asyncio.to_thread(reach_unix, tmp_path, "hook.sock")
        talk.send(f"yourcall/1 claude PermissionRequest {ASKED} 0 2\n{{}}".encode())
        await asyncio.to_thread(talk.recv, 5)
        hooks.deliver(ASKED, "first", b"{}", strict=False)
        talk.send(b"unwritten first busy\n")
        await daemon.heard("first")
        talk.close()  # with words of ours that it never read
        try:
            for n in range(20):  # at the first of these we may not know it yet
                hooks.deliver(ASKED, f"a{n}", b"{}", strict=False)
                hooks.release(ASKED)
                await asyncio.sleep(0.01)
            await daemon.heard("a19")
        finally:
            daemon.disk.set()
            server.close()
        return daemon.said

    with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
        said = runner.run(told())
    back = [event.answer_id for event in said if isinstance(event, AnswerNotWritten)]
    assert back[0] == "first"
    assert "a19" in back
