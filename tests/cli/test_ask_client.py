"""`yourcall.client`: what a person does, from a program; blocking and with asyncio, against a real daemon."""

from __future__ import annotations

import asyncio
import json
import os
import socketserver
import sqlite3
import sys
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from dataclasses import dataclass
from http.server import BaseHTTPRequestHandler
from pathlib import Path
from typing import Any

import pytest

from kit import agent_sdk
from kit.agent_sdk import PermissionResultAllow, PermissionResultDeny
from kit.yourcall import Yourcall as Daemon
from yourcall.client import (
    AsyncYourcall,
    Choice,
    Interrupted,
    NotAnswered,
    NotRunning,
    Refused,
    Withdrawn,
    Yourcall,
    can_use_tool,
)


def test_list_show_and_answer(yc: Daemon, claude: Any) -> None:
    held = claude.asks("Bash", command="touch x")
    prompt = yc.wait_prompt()
    client = Yourcall(yc.home)
    (seen,) = client.prompts()
    assert (seen.id, seen.kind, client.prompt(seen.id[:6]).id) == (prompt["id"], "permission", prompt["id"])
    assert [session.agent for session in client.sessions()] == ["claude"]
    result = client.answer(seen.id, "deny", text="Not now.", wait=1)
    assert result.result in ("sent", "accepted", "confirmed")
    assert held.answer()
    assert client.answer(seen.id, "allow").result == "too_late"
    with pytest.raises(Refused):
        client.prompt("nosuch")


def test_ask_and_watch_over_the_network_with_a_token(yc: Daemon) -> None:
    token = yc.run("devices", "add", "robot", "--json").json["token"]
    client = Yourcall(url=yc.url, token=token)
    heard: list[tuple[str, str]] = []
    listening = threading.Event()

    def listen() -> None:
        for news in client.watch(0):
            listening.set()
            if news.prompt is not None:
                heard.append((news.prompt.id, news.prompt.state))
                if news.prompt.state == "confirmed":
                    return

    with ThreadPoolExecutor() as pool:
        asked = pool.submit(
            client.ask, "Ship it?", [Choice("Ship", "ship", "Goes live."), "wait"], text=True, name="CI"
        )
        prompt = yc.wait_prompt()
        assert prompt["questions"][0]["options"][0]["description"] == "Goes live."
        listener = pool.submit(listen)
        assert listening.wait(20)
        yc.run("answer", prompt["id"], "Ship", "--text", "Go!")
        answer = asked.result(20)
        listener.result(20)
    assert (answer.option, answer.text, answer.by) == ("ship", "Go!", "cli")
    assert heard[-1] == (prompt["id"], "confirmed")
    with pytest.raises(Refused) as error:
        Yourcall(url=yc.url, token="yc_wrong").prompts()
    assert error.value.status == 401


def test_whatever_ends_the_wait_withdraws_the_question(yc: Daemon, tmp_path: Path) -> None:
    client = Yourcall(yc.home)
    with pytest.raises(NotAnswered):
        client.ask("Anybody?", ["yes"], timeout=0.5)
    assert yc.waiting() == []
    wish = client.raise_hand("Anybody?", ["yes"])
    client.withdraw(wish["id"])
    with pytest.raises(Withdrawn):
        client.wait(wish, 5)
    with pytest.raises(NotRunning):
        Yourcall(tmp_path / "nowhere").ask("Anybody?", ["yes"])

    async def cancelled() -> None:
        task = asyncio.create_task(AsyncYourcall(yc.home).ask("Still?", ["yes"]))
        await asyncio.to_thread(yc.wait_prompt)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task

    async def at_once() -> None:
        """While the question itself is still on its way."""
        task = asyncio.create_task(AsyncYourcall(yc.home).ask("Not yet?", ["yes"]))
        await asyncio.sleep(0)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task

    for how in (cancelled, at_once):
        asyncio.run(how())
        assert yc.waiting() == []


class Between(BaseHTTPRequestHandler):
    """Something between a script and yourcall that passes all on, but lets nobody wait."""

    def passed_on(self) -> None:
        body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
        if self.path.endswith("/wait"):
            status, said = 429, b'{"error": "Too many."}'
        else:
            status, told = self.server.beyond.http(self.command, self.path, json.loads(body) if body else None)
            said = json.dumps(told).encode()
        self.send_response(status)
        self.send_header("Content-Length", str(len(said)))
        self.end_headers()
        self.wfile.write(said)

    do_POST = do_DELETE = passed_on

    def address_string(self) -> str:
        return "a socket"

    def log_message(self, *_: object) -> None:
        pass


class Ending(Between):
    """A server that is just leaving: what it says is its library's, not ours."""

    def passed_on(self) -> None:
        self.rfile.read(int(self.headers["Content-Length"]))
        self.send_error(500)

    do_POST = passed_on


def test_words_of_a_server_that_is_just_leaving_are_no_reply(tmp_path: Path) -> None:
    with (
        socketserver.UnixStreamServer(str(tmp_path / "api.sock"), Ending) as leaving,
        ThreadPoolExecutor() as pool,
    ):
        serving = pool.submit(leaving.handle_request)
        with pytest.raises(Interrupted, match=r"an internal error \(HTTP 500\).*may or may not"):
            Yourcall(tmp_path).answer("abcd", "allow")
        serving.result(10)


def test_a_question_that_may_not_be_waited_for_is_withdrawn(yc: Daemon, tmp_path: Path) -> None:
    """With asyncio it stayed on every phone, and nobody waited for what was answered."""
    with (
        socketserver.UnixStreamServer(str(tmp_path / "api.sock"), Between) as between,
        ThreadPoolExecutor() as pool,
    ):
        between.beyond = yc  # type: ignore[attr-defined]
        serving = pool.submit(between.serve_forever, 0.01)
        try:
            with pytest.raises(Refused, match="Too many"):
                asyncio.run(AsyncYourcall(tmp_path).ask("Anybody?", ["yes"]))
            with pytest.raises(Refused, match="Too many"):
                Yourcall(tmp_path).ask("Anybody?", ["yes"])
        finally:
            between.shutdown()
            serving.result(10)
    assert yc.waiting() == []


def test_several_at_once_with_asyncio(yc: Daemon) -> None:
    async def three() -> list[str]:
        client = AsyncYourcall(yc.home)
        asked = [asyncio.create_task(client.ask(f"Number {n}?", ["a", "b"])) for n in range(3)]
        await asyncio.to_thread(yc.wait_prompt, 3)
        for prompt in await client.prompts():
            result = await client.answer(prompt.id, "b" if "1" in prompt.title else "a")
            assert result.result == "confirmed"
        return [(await each).option for each in asked]

    assert asyncio.run(three()) == ["a", "b", "a"]


def test_watching_with_asyncio_goes_on_after_a_restart_and_can_be_cancelled(yc: Daemon) -> None:
    async def listen() -> list[str]:
        heard: list[str] = []
        begun = asyncio.Event()

        async def follow() -> None:
            async for news in AsyncYourcall(yc.home).watch(0):
                if news.prompt is not None:
                    heard.append(f"{news.prompt.title} {news.prompt.state}")
                    begun.set()

        first = (await asyncio.to_thread(yc.run, "ask", "One?", "-o", "yes")).out.strip()
        task = asyncio.create_task(follow())
        async with asyncio.timeout(60):
            await begun.wait()
        await asyncio.to_thread(yc.kill)
        await asyncio.to_thread(yc.start)
        await asyncio.to_thread(yc.run, "answer", first, "yes")
        async with asyncio.timeout(60):
            while "One? confirmed" not in heard:  # noqa: ASYNC110 - a list that another task fills
                await asyncio.sleep(0.02)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        return heard

    assert asyncio.run(listen())[0] == "One? open"

    async def nobody() -> None:
        async for _ in AsyncYourcall(yc.home / "none").watch():
            pytest.fail("there is nobody to hear")

    with pytest.raises(NotRunning):
        asyncio.run(nobody())
    with pytest.raises(NotRunning):
        next(Yourcall(yc.home / "none").watch())


@dataclass
class Suggestion:
    destination: str


@dataclass
class Context:
    suggestions: list[Suggestion]


@pytest.fixture
def sdk(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "claude_agent_sdk", agent_sdk)


@pytest.mark.usefixtures("sdk")
def test_a_ready_callback_for_the_agent_sdk(yc: Daemon) -> None:
    async def ask(*words: str, suggestions: list[Suggestion] | None = None) -> Any:
        callback = can_use_tool(AsyncYourcall(yc.home), name="bot")
        given = {"command": "rm x"}
        task = asyncio.ensure_future(callback("Bash", given, Context(suggestions or [])))
        prompt = await asyncio.to_thread(yc.wait_prompt)
        assert (prompt["kind"], prompt["tool"]) == ("permission", {"name": "Bash", "input": given})
        said = await asyncio.to_thread(yc.run, "answer", prompt["id"], *words)
        assert said.code == 0, said
        return await task

    assert asyncio.run(ask("allow")) == PermissionResultAllow()
    edited = asyncio.run(ask("allow", "--input", '{"command": "ls"}'))
    assert edited == PermissionResultAllow(updated_input={"command": "ls"})
    rules = [Suggestion("localSettings")]
    assert asyncio.run(ask("remember", suggestions=rules)) == PermissionResultAllow(updated_permissions=rules)
    assert asyncio.run(ask("deny", "--text", "No!")) == PermissionResultDeny(message="No!")
    assert asyncio.run(ask("stop")) == PermissionResultDeny(message="The person said no.", interrupt=True)


@pytest.mark.usefixtures("sdk")
def test_a_question_through_the_agent_sdk_is_a_question(yc: Daemon) -> None:
    features = {
        "question": "Which features?",
        "header": "Features",
        "multiSelect": True,
        "options": [{"label": word, "description": f"{word}."} for word in ("Login", "Search", "Dark mode")],
    }
    colour = {"question": "Which colour?", "options": [{"label": "Red"}, {"label": "Blue"}]}
    given = {"questions": [features, colour]}

    async def ask() -> Any:
        task = asyncio.ensure_future(
            can_use_tool(AsyncYourcall(yc.home), name="bot")("AskUserQuestion", given, None)
        )
        for text, labels, words in (
            ("Which features?", ["Login", "Search", "Dark mode"], ["o1,o3"]),
            ("Which colour?", ["Red", "Blue"], ["--text", "Green, please."]),
        ):
            prompt = await asyncio.to_thread(yc.wait_prompt)
            (question,) = prompt["questions"]
            assert (prompt["kind"], question["text"]) == ("question", text)
            assert [option["label"] for option in question["options"]] == labels
            assert (await asyncio.to_thread(yc.run, "answer", prompt["id"], *words)).code == 0
        return await task

    answers = {"Which features?": "Login, Dark mode", "Which colour?": "Green, please."}
    assert asyncio.run(ask()) == PermissionResultAllow(updated_input={**given, "answers": answers})


@pytest.mark.usefixtures("sdk")
def test_nobody_to_ask_is_a_deny(tmp_path: Path) -> None:
    said = asyncio.run(can_use_tool(AsyncYourcall(tmp_path))("Bash", {}, None))
    assert (said.behavior, "not running" in said.message) == ("deny", True)


def test_other_prompts_are_not_a_scripts_to_touch(yc: Daemon, claude: Any) -> None:
    claude.asks("Bash", command="rm -rf /")
    prompt = yc.wait_prompt()
    for method, path, body in (
        ("POST", "/wait", {"wait": 0}),
        ("POST", "/taken", {"answer": "x"}),
        ("DELETE", "", None),
    ):
        assert yc.http(method, f"/api/asks/{prompt['id']}{path}", body)[0] == 404
    assert yc.show(prompt["id"])["state"] == "open"


def test_a_question_is_asked_from_a_folder_whose_name_is_no_text(
    yc: Daemon, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = os.fsencode(tmp_path) + b"/\xff"
    os.mkdir(folder)
    monkeypatch.chdir(os.fsdecode(folder))
    wish = Yourcall(yc.home).raise_hand("Ship it?", ["yes", "no"], attended=False)
    assert yc.show(wish["id"])["cwd"] == f"{tmp_path}/\ufffd"


class Slow(Yourcall):
    """Needs until `ready` to say that it has an answer."""

    ready = 0.0

    def call(self, method: str, path: str, body: object = None, timeout: float = 10.0) -> Any:
        while path.endswith("/taken") and time.monotonic() < self.ready:
            time.sleep(0.01)
        return super().call(method, path, body, timeout)


def test_an_answer_that_is_said_to_be_taken_is_not_thrown_away_at_the_last_moment(yc: Daemon) -> None:
    """Whoever answered is told that the script has it: then it has it, even if its time is up meanwhile."""

    async def asked() -> str:
        desk = AsyncYourcall(yc.home)
        slow = desk.blocking = Slow(yc.home)
        slow.ready = time.monotonic() + 8.5
        asking = asyncio.ensure_future(desk.ask("Deploy?", ["yes", "no"], timeout=8))
        prompt = await asyncio.to_thread(yc.wait_prompt)
        await asyncio.to_thread(yc.run, "answer", prompt["id"], "yes", "--no-wait")
        try:
            said = (await asking).option
        except NotAnswered:
            said = "nothing"
        return f"{said} {yc.show(prompt['id'])['state']}"

    assert asyncio.run(asked()) == "yes confirmed"


def test_an_error_of_yourcalls_own_is_no_refusal(yc: Daemon, claude: Any) -> None:
    claude.asks("Bash", command="touch x")
    prompt = yc.wait_prompt()["id"]
    with closing(sqlite3.connect(yc.home / "yourcall.db", isolation_level=None)) as disk:
        disk.execute("BEGIN IMMEDIATE")  # nobody else can write, so it is not known what becomes of it
        with pytest.raises(Interrupted, match="may or may not"):
            Yourcall(yc.home).answer(prompt, "allow", wait=20)
    assert yc.ended() != 0
    yc.start()
