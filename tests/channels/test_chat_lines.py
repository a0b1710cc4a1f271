"""The lines to Slack, Discord and Matrix: opened anew, resumed, crowded, refused; what a library is kept from."""

from __future__ import annotations

import json
import threading
import time
from importlib import import_module
from typing import Any

import pytest
from chat_stage import PLATFORMS, Line, Stage
from test_chats import Ear, spoken_to

from kit.chat_people import GROUP
from kit.poll import PATIENCE_S


@pytest.mark.parametrize("name", ["slack", "discord"])
def test_a_connection_that_the_service_moves_loses_nothing(line: Line, name: str) -> None:
    async def story(stage: Stage) -> None:
        ear = Ear()
        await spoken_to(stage, ear)
        opened = stage.people.opened
        stage.people.refresh()
        stage.say("/steer shop one")
        await stage.see(lambda: stage.people.opened > opened, "a new connection")
        stage.say("/steer shop two")
        await stage.see(lambda: [words for _, words in ear.heard] == ["one", "two"])
        assert stage.channel.deaf == ""

    line(name, story)


def test_a_gateway_session_is_resumed_and_a_forgotten_one_is_begun_anew(line: Line) -> None:
    async def story(stage: Stage) -> None:
        ear = Ear()
        await spoken_to(stage, ear)
        stage.say("/steer shop one")
        await stage.see(lambda: len(ear.heard) == 1)
        stage.people.cut()
        stage.say("/steer shop two")
        await stage.see(lambda: len(ear.heard) == 2)
        assert stage.people.resumed == 1
        stage.people.forget_session()
        stage.people.cut()
        stage.say("/steer shop three")
        await stage.see(lambda: len(ear.heard) == 3, "fetched, as the session is gone")
        assert [words for _, words in ear.heard] == ["one", "two", "three"]

    line("discord", story)


def test_a_tap_that_the_gateway_tells_late_counts_from_when_it_was_made(line: Line) -> None:
    """Pressed in the moment the message came, and told after a break: it was not looked at."""

    async def story(stage: Stage) -> None:
        people = stage.people
        people.look = lambda: None
        stage.life()
        await stage.pair()
        for n in range(2):  # how long the line needs at the least
            stage.say("/help")
            await stage.see(lambda n=n: sum("!interrupt" in each for each in people.told()) == n + 1)
        await stage.house.ask()
        message = await stage.prompt()
        data = stage.data(message, "✅ Allow")
        told: list[Any] = []
        dispatch, people._dispatch = people._dispatch, lambda *event: _keep(told, event)
        people.press(message, data, hasty=True)
        before = time.monotonic()
        stage.say("/list")  # told late, too
        await stage.see(lambda: time.monotonic() - before > 2.5, "a break")
        people._dispatch = dispatch
        for event in told:
            people.run(dispatch(*event))
        await stage.told("Too quick")
        assert stage.row().state == "open"

    line("discord", story)


async def _keep(told: list[Any], event: Any) -> None:
    told.append(event)


def test_a_second_program_with_the_same_app_is_said(line: Line, monkeypatch: pytest.MonkeyPatch) -> None:
    from yourcall.channels.slack import socket

    monkeypatch.setattr(socket, "CROWDED_S", 0.05)

    async def story(stage: Stage) -> None:
        stage.people.two_programs = True
        stage.life()
        await stage.see(lambda: "another program" in stage.channel.deaf)
        stage.people.two_programs = False
        stage.people.refresh()
        await stage.see(lambda: stage.channel.deaf == "")

    line("slack", story)


def test_a_stop_while_the_gateway_is_being_opened_leaves_nothing_open(
    line: Line, monkeypatch: pytest.MonkeyPatch
) -> None:
    from yourcall.channels.discord import gateway

    monkeypatch.setattr(gateway, "OPENS_S", 0.1)

    async def story(stage: Stage) -> None:
        stage.people.mute = True
        stage.life()
        await stage.see(lambda: stage.people.unanswered, "a connection")
        await stage.house.stop()
        await stage.see(lambda: not stage.people.unanswered, "its end")

    line("discord", story)


@pytest.mark.parametrize("name", ["discord", "matrix"])
def test_a_stop_before_anything_was_read_closes_what_a_reply_has_opened(
    line: Line, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    channel = import_module(f"yourcall.channels.{name}.channel")
    library = threading.Event()

    def slowly(module: str) -> Any:
        library.wait(PATIENCE_S)
        return import_module(module)

    async def story(stage: Stage) -> None:
        stage.life()
        await stage.pair()
        await stage.house.stop()
        undone = {"chat": stage.people.chat(), "message_id": stage.say("/steer shop deploy")}
        stage.keep.facts["u:1"] = json.dumps(undone).encode()
        monkeypatch.setattr(channel, "import_module", slowly)
        stage.life()
        await stage.told("restarted in the middle")
        assert not stage.channel.api.closed
        await stage.house.stop()
        assert stage.channel.api.closed
        library.set()

    line(name, story)


@pytest.mark.parametrize("name", ["slack", "discord", "matrix"])
def test_a_wrong_token_is_said_and_not_repeated_in_a_hurry(line: Line, name: str) -> None:
    async def story(stage: Stage) -> None:
        naps: list[float] = []

        async def nap(seconds: float) -> None:
            naps.append(seconds)
            await short(seconds)

        short, stage.house.nap = stage.house.nap, nap  # type: ignore[method-assign]
        stage.people.secrets = {
            **stage.people.secrets,
            "token": "xoxb-1-2-wrong" if name == "slack" else "MTIz.x.y",
        }
        stage.life()
        await stage.see(lambda: "does not take this token" in stage.channel.deaf)
        await stage.see(lambda: 60.0 in naps)
        assert "wrong" not in stage.channel.deaf

    line(name, story)


@pytest.mark.parametrize("name", ["slack", "discord", "matrix"])
def test_files_are_fetched_from_the_platform_alone(line: Line, name: str) -> None:
    """The address is in what a person sends; the token would go along."""

    async def story(stage: Stage) -> None:
        ear = Ear()
        await spoken_to(stage, ear)
        elsewhere = "http://127.0.0.1:1/files/x"
        if name == "slack":
            more: dict[str, Any] = {
                "subtype": "file_share",
                "files": [{"name": "x", "url_private_download": elsewhere}],
            }
        elif name == "matrix":
            more = {"msgtype": "m.file", "filename": "x", "url": elsewhere}
        else:
            more = {"attachments": [{"id": "1", "filename": "x", "size": 1, "url": elsewhere}]}
        stage.say("/steer shop this", **more)
        await stage.told("Not taken: it is kept somewhere else")
        assert not ear.heard

    line(name, story)


@pytest.mark.parametrize("name", sorted(set(PLATFORMS) - {"telegram"}))
def test_a_stranger_who_floods_keeps_nobody_out(line: Line, name: str) -> None:
    async def story(stage: Stage) -> None:
        ear = Ear()
        await spoken_to(stage, ear)
        await stage.pair(where=GROUP, code=await stage.invited())
        for n in range(150):
            stage.say(f"/pair AAAA-{n:04}", user="eve", where=GROUP)
        stage.say("/steer shop go on")
        await stage.see(lambda: ear.heard == [("s1", "go on")])

    line(name, story)


@pytest.mark.parametrize("name", sorted(set(PLATFORMS) - {"telegram"}))
def test_strangers_do_not_push_out_what_is_known_of_a_chat(line: Line, name: str) -> None:
    """By what was said last there, one knows what was missed."""

    async def story(stage: Stage) -> None:
        await spoken_to(stage, Ear())
        await stage.see(lambda: stage.channel.book.all_seen())
        before = stage.channel.book.all_seen()
        for n in range(5):
            stage.say(f"anybody? {n}", user="eve")
        await stage.told("private", "eve")
        await stage.see(lambda: stage.people.handled)
        assert stage.channel.book.all_seen() == before

    line(name, story)
