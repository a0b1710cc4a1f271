"""The link to Codex's app-servers, against a server that says what the test wants on a real Unix socket."""

from __future__ import annotations

import asyncio
import contextlib
import errno
import json
import socket
from collections.abc import AsyncIterator, Awaitable, Callable
from pathlib import Path

import pytest
import uvloop
from websockets.asyncio.server import ServerConnection, unix_serve

from yourcall.agents.codex.agent import CODEX
from yourcall.agents.codex.live.threads import CONTROL
from yourcall.core.state import State
from yourcall.core.step import step
from yourcall.daemon.config import Codex, Config, Discovery
from yourcall.daemon.wiring import Daemon
from yourcall.links import conversations
from yourcall.links.agent_server import AgentServers, homes
from yourcall.model.conversation import Action
from yourcall.model.events import AnswerGiven, AnyEvent, Deliver, SessionEnded, SessionSeen
from yourcall.model.prompts import Answer, Prompt
from yourcall.model.sessions import Session
from yourcall.store.sqlite import Store

DATA = Path(__file__).resolve().parents[1] / "data/codex/app-server"
Script = Callable[[ServerConnection], Awaitable[None]]


class Desk:
    """The core beside the link."""

    def __init__(self) -> None:
        self.state = State()
        self.rows: dict[str, Prompt] = {}
        self.bodies: dict[str, bytes] = {}
        self.links: list[AgentServers] = []

    async def post(self, event: AnyEvent, bodies: dict[str, bytes] | None = None) -> object:
        self.bodies |= bodies or {}
        done = step(self.state, event)
        self.state.take(done)
        self.rows |= {prompt.id: prompt for prompt in done.prompts}
        for command in done.commands:
            if isinstance(command, Deliver):
                prompt = self.state.prompts[command.prompt_id]
                link = self.links[0]
                link._spawn(link.deliver(prompt, command.answer, self.bodies[prompt.request]))
        return done

    def body(self, id: str, /) -> bytes | None:
        return self.bodies.get(id)

    async def until(self, holds: Callable[[], object]) -> None:
        async with asyncio.timeout(60):
            while not holds():  # noqa: ASYNC110 - what is looked at has no event
                await asyncio.sleep(0.01)


@contextlib.asynccontextmanager
async def listening(desk: Desk, place: Path) -> AsyncIterator[AgentServers]:
    link = AgentServers(desk, CODEX, lambda: [place])
    desk.links.append(link)
    task = asyncio.create_task(link.run())
    try:
        yield link
    finally:
        task.cancel()
        await asyncio.wait([task])


def pending() -> tuple[dict[str, object], dict[str, object], dict[str, object]]:
    """What a server says to one who joins late: a thread, its resumption, and what is asked."""
    lines = [
        json.loads(line)["msg"] for line in (DATA / "late-join-after-tui-killed.jsonl").read_text().splitlines()
    ]
    resumed = next(m["result"] for m in lines if "thread" in m.get("result", {}))
    asked = next(m for m in lines if m.get("method", "").endswith("requestApproval"))
    return resumed["thread"], resumed, asked


async def serve_pending(connection: ServerConnection, heard: list[dict[str, object]] | None = None) -> None:
    thread, resumed, asked = pending()
    replies = {
        "initialize": {},
        "thread/loaded/list": {"data": [thread["id"]]},
        "thread/read": {"thread": thread},
        "thread/resume": resumed,
        "thread/items/read": {"data": []},
    }
    async for data in connection:
        message = json.loads(data)
        if heard is not None:
            heard.append(message)
        if "method" in message and "id" in message:
            await connection.send(json.dumps({"id": message["id"], "result": replies[message["method"]]}))
            if message["method"] == "thread/resume":
                await connection.send(json.dumps(asked))


@pytest.fixture
def place(tmp_path: Path) -> Path:
    return tmp_path / "control.sock"


def test_a_lost_connection_lets_go_and_a_new_one_holds_again(place: Path) -> None:
    async def scene() -> None:
        desk = Desk()
        async with listening(desk, place):
            async with unix_serve(serve_pending, str(place)):
                await desk.until(lambda: [p for p in desk.rows.values() if p.answerable])
            (prompt,) = desk.rows.values()
            await desk.until(lambda: not desk.rows[prompt.id].answerable)
            assert desk.rows[prompt.id].state == "open"
            await asyncio.to_thread(place.unlink, missing_ok=True)
            async with unix_serve(serve_pending, str(place)):
                await desk.until(lambda: desk.rows[prompt.id].answerable)
            assert "held again" in [moment.detail for moment in desk.rows[prompt.id].history]
            assert len(desk.rows) == 1

    uvloop.run(scene())


async def before_a_restart(place: Path) -> tuple[Desk, Prompt]:
    """A desk as a killed daemon leaves it: what Codex asked is still held, and nobody listens."""
    desk = Desk()
    async with listening(desk, place), unix_serve(serve_pending, str(place)):
        await desk.until(lambda: [p for p in desk.rows.values() if p.answerable])
        kept = State(dict(desk.state.prompts), dict(desk.state.sessions))
    await asyncio.to_thread(place.unlink, missing_ok=True)
    after = Desk()
    after.state, after.bodies, after.rows = kept, desk.bodies, dict(kept.prompts)
    (prompt,) = kept.prompts.values()
    return after, prompt


def test_an_answer_right_after_a_start_waits_until_codex_is_joined_again(place: Path) -> None:
    async def scene() -> None:
        desk, prompt = await before_a_restart(place)
        heard: list[dict[str, object]] = []
        async with listening(desk, place):
            await desk.post(AnswerGiven(2.0, prompt.id, Answer("a1", "phone", "http", {"decision": ("allow",)})))
            assert desk.rows[prompt.id].state == "answering"
            async with unix_serve(lambda connection: serve_pending(connection, heard), str(place)):
                await desk.until(lambda: desk.rows[prompt.id].state != "answering")
                assert desk.rows[prompt.id].state == "sent"
                asked = pending()[2]
                await desk.until(lambda: [m for m in heard if m.get("id") == asked["id"] and "result" in m])

    uvloop.run(scene())


def test_an_answer_that_waits_for_codex_is_not_sent_once_its_prompt_is_over(place: Path) -> None:
    async def scene() -> None:
        desk, prompt = await before_a_restart(place)
        heard: list[dict[str, object]] = []
        async with listening(desk, place) as link:
            await desk.post(AnswerGiven(2.0, prompt.id, Answer("a1", "phone", "http", {"decision": ("allow",)})))
            await desk.post(SessionEnded(3.0, prompt.session_id, "its process is gone"))
            over = desk.rows[prompt.id]
            assert over.state == "unsure"
            async with unix_serve(lambda connection: serve_pending(connection, heard), str(place)):
                await desk.until(lambda: link.reaches(prompt.session_id))
                await desk.until(lambda: [m for m in heard if m.get("method") == "thread/resume"])
                await asyncio.sleep(0.5)  # ten looks of an answer that waits
            assert not [m for m in heard if "result" in m]

    uvloop.run(scene())


def test_a_server_that_stays_away_takes_its_sessions_along(place: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Its socket is still there, as a killed server leaves it."""
    monkeypatch.setattr("yourcall.links.agent_server.GONE_S", 1.5)

    async def scene() -> None:
        desk = Desk()
        async with listening(desk, place):
            async with unix_serve(serve_pending, str(place)):
                await desk.until(lambda: [p for p in desk.rows.values() if p.answerable])
            (prompt,) = desk.rows.values()
            left = socket.socket(socket.AF_UNIX)
            await asyncio.to_thread(place.unlink, missing_ok=True)
            left.bind(str(place))
            left.close()
            await desk.until(lambda: not desk.state.sessions)
            assert desk.rows[prompt.id].state == "ended"

    uvloop.run(scene())


def test_junk_is_no_news_and_no_end(place: Path) -> None:
    async def junk(connection: ServerConnection) -> None:
        for message in ("", "{", "[]", '"x"', '{"id":[],"method":7}', '{"method":"turn/started","params":null}'):
            await connection.send(message)
        await connection.send(b"\xff\xfe")
        await serve_pending(connection)

    async def scene() -> None:
        desk = Desk()
        async with listening(desk, place), unix_serve(junk, str(place)):
            await desk.until(lambda: [p for p in desk.rows.values() if p.answerable])
            assert len(desk.state.sessions) == 1

    uvloop.run(scene())


def test_a_file_in_its_place_is_not_spoken_to(place: Path) -> None:
    place.write_text("")

    async def scene() -> None:
        desk = Desk()
        async with listening(desk, place):
            await asyncio.to_thread(place.unlink)
            async with unix_serve(serve_pending, str(place)):
                await desk.until(lambda: desk.rows)

    uvloop.run(scene())


def test_homes_are_the_configured_ones_the_users_and_those_of_sessions() -> None:
    seen = [
        Session("a", "codex", "/tmp", transcript="/home/x/.codex/sessions/2026/rollout-a.jsonl"),
        Session("b", "claude", "/tmp", transcript="/home/y/.claude/sessions/b.jsonl"),
        Session("c", "codex", "/tmp", transcript="relative/sessions/c.jsonl"),
    ]
    found = homes("codex", CODEX.server, ["/etc/one", "/etc/one"], Path("/home/me/.codex"), seen)
    assert found == [Path("/etc/one"), Path("/home/me/.codex"), Path("/home/x/.codex")]


@pytest.mark.parametrize(
    ("discovery", "expected"),
    [
        (Discovery("off"), ["/told"]),
        (Discovery("tmux", root_pid=7), ["/told"]),
        (Discovery("tmux"), ["/told", "/own"]),
    ],
)
def test_with_discovery_off_only_what_was_told_is_joined(
    tmp_path: Path, discovery: Discovery, expected: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("CODEX_HOME", "/own")
    store = Store.open(tmp_path / "yourcall.db")
    try:
        daemon = Daemon(store, Config(discovery=discovery, codex=Codex(["/told"])), lambda: None)
        assert daemon.sockets("codex") == [Path(home) / CONTROL for home in expected]
    finally:
        store.close()


def test_a_page_that_begins_with_the_end_of_a_call_still_names_it() -> None:
    path = DATA.parent / "rollouts/shared-thread-many-approvals.jsonl"
    before: int | None = None
    ends: list[Action] = []
    while True:
        page = conversations.page(path, CODEX.read_entry, before, 1, "")
        ends += [e for e in page.entries if isinstance(e, Action) and e.phase == "completed"]
        before = page.next_before
        if before is None:
            break
    assert len(ends) == 7
    assert all(end.title for end in ends), ends


def test_a_server_that_takes_its_time_is_waited_for(place: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """What it still asks must not be given up before it had the chance to say so."""
    monkeypatch.setattr("yourcall.links.agent_server.SETTLED_S", 0.1)
    replies = asyncio.Event()

    async def slow(connection: ServerConnection) -> None:
        await replies.wait()
        await serve_pending(connection)

    async def scene() -> None:
        desk = Desk()
        async with listening(desk, place):
            async with unix_serve(serve_pending, str(place)):
                await desk.until(lambda: [p for p in desk.rows.values() if p.answerable])
            (prompt,) = desk.rows.values()
            await desk.until(lambda: not desk.rows[prompt.id].answerable)
            await asyncio.to_thread(place.unlink, missing_ok=True)
            async with unix_serve(slow, str(place)):
                await desk.until(lambda: desk.links[0].reaches(prompt.session_id))
                await asyncio.sleep(1)  # longer than it would be given after the replies
                assert desk.rows[prompt.id].state == "open"
                replies.set()
                await desk.until(lambda: desk.rows[prompt.id].answerable)

    uvloop.run(scene())


def serving(talking: list[ServerConnection]) -> Callable[[ServerConnection], Awaitable[None]]:
    """A server with something pending, which remembers who called."""

    async def serve(connection: ServerConnection) -> None:
        talking.append(connection)
        await serve_pending(connection)

    return serve


def test_a_mistake_of_ours_ends_no_session(
    place: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr("yourcall.links.agent_server.GONE_S", 0.2)  # long over when the connection breaks

    async def scene() -> None:
        desk = Desk()
        stumbles = asyncio.Event()
        post = desk.post

        async def stumbling(event: AnyEvent, bodies: dict[str, bytes] | None = None) -> object:
            if stumbles.is_set() and isinstance(event, SessionSeen):
                stumbles.clear()
                raise RuntimeError("a mistake")
            return await post(event, bodies)

        monkeypatch.setattr(desk, "post", stumbling)
        talking: list[ServerConnection] = []
        async with listening(desk, place), unix_serve(serving(talking), str(place)):
            await desk.until(lambda: [p for p in desk.rows.values() if p.answerable])
            (prompt,) = desk.rows.values()
            await asyncio.sleep(0.4)
            stumbles.set()
            status = {"threadId": pending()[0]["id"], "status": {"type": "active", "activeFlags": []}}
            await talking[0].send(json.dumps({"method": "thread/status/changed", "params": status}))
            await desk.until(lambda: len(talking) == 2 and desk.rows[prompt.id].answerable)
            assert desk.rows[prompt.id].state == "open"
            assert prompt.session_id in desk.state.sessions

    uvloop.run(scene())
    assert "the connection to" in caplog.text


def test_a_look_that_fails_is_not_the_last_one(place: Path, caplog: pytest.LogCaptureFixture) -> None:
    """No file handle is left to list a folder with: that ended the whole daemon."""

    async def scene() -> None:
        desk, looks = Desk(), 0

        def places() -> list[Path]:
            nonlocal looks
            looks += 1
            if looks == 1:
                raise OSError(errno.EMFILE, "Too many open files")
            return [*homes("codex", CODEX.server, ["~nobody-of-this-name/.codex"], None, ()), place]

        task = asyncio.create_task(AgentServers(desk, CODEX, places).run())
        async with unix_serve(serve_pending, str(place)):
            await desk.until(lambda: desk.rows or task.done())
            assert not task.done()
            task.cancel()
            await asyncio.wait([task])

    uvloop.run(scene())
    assert "looking for Codex" in caplog.text
