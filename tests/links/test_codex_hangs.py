"""A Codex server that is there and does not speak, or is known by two names: nothing is lost, or said twice."""

from __future__ import annotations

import asyncio
import contextlib
import errno
import json
import socket
from collections.abc import AsyncIterator
from pathlib import Path

import pytest
from test_links_codex import DATA, Desk, listening, pending, place, serve_pending, serving
from websockets.asyncio.server import ServerConnection, unix_serve

from yourcall.agents.codex.agent import CODEX
from yourcall.links.agent_server import AgentServers
from yourcall.model.events import AnswerGiven
from yourcall.model.prompts import Answer

__all__ = ["place"]  # the fixture


class Hung:
    """The system takes the calls of a program that is stopped, and nobody says anything."""

    def __init__(self, place: Path) -> None:
        self._socket = socket.socket(socket.AF_UNIX)
        self._socket.bind(str(place))
        self._socket.listen(50)
        self._socket.setblocking(False)
        self._calls: list[socket.socket] = []

    def called(self) -> int:
        with contextlib.suppress(BlockingIOError):
            while True:
                self._calls.append(self._socket.accept()[0])
        return len(self._calls)

    def close(self) -> None:
        for each in (self._socket, *self._calls):
            each.close()


def test_a_server_that_hangs_for_a_while_keeps_its_sessions(place: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """It is stopped, or the machine swaps: what it asked is asked still when it comes back."""
    monkeypatch.setattr("yourcall.links.agent_server.GONE_S", 0.2)
    monkeypatch.setattr("yourcall.links.agent_server.OPENS_S", 0.3)

    async def scene() -> None:
        desk = Desk()
        async with listening(desk, place):
            async with unix_serve(serve_pending, str(place)):
                await desk.until(lambda: [p for p in desk.rows.values() if p.answerable])
            (prompt,) = desk.rows.values()
            await asyncio.to_thread(place.unlink, missing_ok=True)
            hung = Hung(place)
            await desk.until(lambda: hung.called() > 2)
            hung.close()
            assert desk.rows[prompt.id].state == "open"
            await asyncio.to_thread(place.unlink, missing_ok=True)
            async with unix_serve(serve_pending, str(place)):
                await desk.until(lambda: desk.rows[prompt.id].answerable)

    asyncio.run(scene())


def test_without_a_file_to_spare_no_session_is_called_over(place: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("yourcall.links.agent_server.GONE_S", 0.2)

    async def scene() -> None:
        desk = Desk()
        talking: list[ServerConnection] = []
        async with listening(desk, place), unix_serve(serving(talking), str(place)):
            await desk.until(lambda: [p for p in desk.rows.values() if p.answerable])
            (prompt,) = desk.rows.values()
            made, tries = socket.socket, 0

            def scarce(*given: object, **named: object) -> socket.socket:
                nonlocal tries
                tries += 1
                if tries < 4:
                    raise OSError(errno.EMFILE, "Too many open files")
                return made(*given, **named)  # type: ignore[arg-type]

            monkeypatch.setattr(socket, "socket", scarce)
            await talking[0].close()
            await desk.until(lambda: len(talking) == 2 and desk.rows[prompt.id].answerable)
            monkeypatch.undo()
            assert tries >= 4
            assert "held again" in [moment.detail for moment in desk.rows[prompt.id].history]

    asyncio.run(scene())


def test_a_server_by_two_names_is_joined_once(tmp_path: Path) -> None:
    """A home behind a link: Codex names its records by the folder itself, and that is a second way to its socket.
    The second connection knew nothing of our answer, and what that did was told as the desk's."""
    folder = tmp_path / "codex"
    folder.mkdir()
    link = tmp_path / "link"
    link.symlink_to(folder)
    names = [link / "control.sock", folder / "control.sock"]
    talking: list[tuple[ServerConnection, list[dict[str, object]]]] = []
    thread, _, asked = pending()
    call = asked["params"]["itemId"]  # type: ignore[index]

    async def serve(connection: ServerConnection) -> None:
        talking.append((connection, heard := []))
        await serve_pending(connection, heard)

    async def scene() -> None:
        desk = Desk()
        servers = AgentServers(desk, CODEX, lambda: names)
        desk.links.append(servers)
        task = asyncio.create_task(servers.run())
        async with unix_serve(serve, str(names[1])):
            await desk.until(lambda: [p for p in desk.rows.values() if p.answerable])
            await asyncio.sleep(0.3)  # a second connection would be there by now
            (prompt,) = desk.rows.values()
            await desk.post(AnswerGiven(2.0, prompt.id, Answer("a1", "phone", "http", {"decision": ("allow",)})))
            await desk.until(lambda: desk.rows[prompt.id].state == "sent")
            item = {"type": "commandExecution", "id": call, "status": "completed", "exitCode": 0}
            for message in (
                {
                    "method": "serverRequest/resolved",
                    "params": {"threadId": thread["id"], "requestId": asked["id"]},
                },
                {"method": "item/completed", "params": {"threadId": thread["id"], "item": item}},
            ):
                for connection, _ in sorted(talking, key=lambda each: any("result" in m for m in each[1])):
                    await connection.send(json.dumps(message))
            await desk.until(lambda: desk.rows[prompt.id].outcome)
            assert desk.rows[prompt.id].state == "confirmed"
            assert len(talking) == 1
        task.cancel()
        await asyncio.wait([task])

    asyncio.run(scene())


def test_a_server_that_is_overloaded_is_asked_again(place: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """`Server overloaded; retry later.`: what it asked in that thread was told to nobody, until it was over."""
    monkeypatch.setattr("yourcall.links.agent_server.AGAIN_S", 0.2)
    refused = 0

    class Overloaded:
        """The same connection, whose server takes the third request to listen to a thread."""

        def __init__(self, connection: ServerConnection) -> None:
            self._connection = connection

        async def __aiter__(self) -> AsyncIterator[str | bytes]:
            nonlocal refused
            async for data in self._connection:
                message = json.loads(data)
                if message.get("method") == "thread/resume" and refused < 2:
                    refused += 1
                    error = {"code": -32001, "message": "Server overloaded; retry later."}
                    await self._connection.send(json.dumps({"id": message["id"], "error": error}))
                else:
                    yield data

        async def send(self, message: str) -> None:
            await self._connection.send(message)

    async def serve(connection: ServerConnection) -> None:
        await serve_pending(Overloaded(connection))  # type: ignore[arg-type]

    async def scene() -> None:
        desk = Desk()
        async with listening(desk, place), unix_serve(serve, str(place)):
            await desk.until(lambda: [p for p in desk.rows.values() if p.answerable])
        assert refused == 2

    asyncio.run(scene())


def test_who_speaks_in_the_moment_the_connection_is_lost_is_told_so(place: Path) -> None:
    """It was an error of our own, for words that were surely not said."""

    async def scene() -> None:
        desk = Desk()
        talking: list[ServerConnection] = []
        async with listening(desk, place) as link, unix_serve(serving(talking), str(place)):
            await desk.until(lambda: [p for p in desk.rows.values() if p.answerable])
            (prompt,) = desk.rows.values()
            session = desk.state.sessions[prompt.session_id]
            live = link._of(session.id)
            assert live is not None
            async with live.turn:  # something is being told, on a busy disk
                note = {"threadId": session.id, "status": {"type": "active", "activeFlags": []}}
                await talking[0].send(json.dumps({"method": "thread/status/changed", "params": note}))
                await talking[0].close()
                await live.socket.wait_closed()
                said = [await link.send(session, "Go on."), await link.interrupt(session)]
        assert [each.result for each in said] == ["refused", "refused"], said

    asyncio.run(scene())


@pytest.mark.parametrize("year", [2020, 2999])
def test_what_was_on_record_before_it_was_asked_proves_nothing(
    place: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, year: int
) -> None:
    """A model may name two calls alike: the answer to the earlier one was taken for the proof of the later."""
    monkeypatch.setattr("yourcall.links.agent_server.RECORD_S", 1.0)
    lines = [json.loads(line)["msg"] for line in (DATA / "ask-freeform.jsonl").read_text().splitlines()]
    asked = next(m for m in lines if m.get("method") == "item/tool/requestUserInput")
    rollout = tmp_path / "rollout.jsonl"
    output = {"type": "function_call_output", "call_id": asked["params"]["itemId"]}
    output["output"] = '{"answers":{"db":{"answers":["PostgreSQL"]}}}'
    line = {"timestamp": f"{year}-01-01T00:00:00.000Z", "type": "response_item", "payload": output}
    rollout.write_text(json.dumps(line) + "\n")
    thread = {"id": asked["params"]["threadId"], "path": str(rollout), "status": {"type": "active"}}
    replies = {
        "initialize": {},
        "thread/loaded/list": {"data": [thread["id"]]},
        "thread/read": {"thread": thread},
        "thread/resume": {"thread": thread},
    }

    async def serve(connection: ServerConnection) -> None:
        async for data in connection:
            message = json.loads(data)
            if "method" in message and "id" in message:
                await connection.send(json.dumps({"id": message["id"], "result": replies[message["method"]]}))
                if message["method"] == "thread/resume":
                    await connection.send(json.dumps(asked))
            elif "result" in message:
                over = {"threadId": thread["id"], "requestId": asked["id"]}
                await connection.send(json.dumps({"method": "serverRequest/resolved", "params": over}))

    async def scene() -> str:
        desk = Desk()
        async with listening(desk, place) as link, unix_serve(serve, str(place)):
            await desk.until(lambda: [p for p in desk.rows.values() if p.answerable])
            (prompt,) = desk.rows.values()
            await desk.post(AnswerGiven(2.0, prompt.id, Answer("a1", "phone", "http", {"db": ("o2",)})))
            live = link._of(prompt.session_id)
            assert live is not None
            await desk.until(lambda: prompt.id in live.looking and not live.talk.unproved())
            return desk.rows[prompt.id].state

    assert asyncio.run(scene()) == ("confirmed" if year == 2999 else "accepted")
