"""The lines to Slack, Discord and Matrix: opened anew, resumed, crowded, refused; what a library is kept from."""

from __future__ import annotations

import time
from collections.abc import Awaitable, Callable
from typing import Any

import pytest
from channel_house import House, Lives
from chat_stage import PLATFORMS, Stage
from test_chats import Ear, spoken_to

from kit.chat_people import GROUP
from yourcall.model.prompts import Option, Question

Line = Callable[[str, Callable[[Stage], Awaitable[None]]], None]


@pytest.fixture
def line(lives: Lives) -> Line:
    def run(name: str, story: Callable[[Stage], Awaitable[None]]) -> None:
        async def inside(house: House) -> None:
            with PLATFORMS[name]() as people:
                await story(Stage(house, people))
                await house.stop()

        lives(inside)

    return run


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


# --- Matrix alone -------------------------------------------------------------------------------------------


def test_an_encrypted_room_is_left_and_nothing_of_an_agents_is_said_there(line: Line) -> None:
    async def story(stage: Stage) -> None:
        people = stage.people
        stage.life()
        await stage.pair()
        await stage.pair(where=GROUP, code=await stage.invited())
        people.happens(people.chat(GROUP), people.person("eve"), "m.room.encryption", {}, state_key="")
        await stage.told("I cannot read here", where=GROUP)
        await stage.see(lambda: people.left == {people.chat(GROUP)})
        assert len(stage.channel.targets()) == 1
        await stage.house.ask()
        await stage.prompt()
        assert not stage.prompts(GROUP)
        people.rooms["!new:example.org"] = set()
        people.invite("!new:example.org", "eve", encrypted=True)
        await stage.see(lambda: "!new:example.org" in people.left, "an invitation to another one")

    line("matrix", story)


def test_invitations_of_strangers_are_followed_a_few_times(line: Line, monkeypatch: pytest.MonkeyPatch) -> None:
    from yourcall.channels.matrix import sync

    monkeypatch.setattr(sync, "MOST_JOINS", 2)

    async def story(stage: Stage) -> None:
        people = stage.people
        stage.life()
        await stage.pair()
        for n in range(4):
            people.invite(f"!spam{n}:example.org", "eve")
        people.invite("!mine:example.org", "ada")
        await stage.see(lambda: people.person("yourcall") in people.rooms["!mine:example.org"])
        there = [n for n in range(4) if people.person("yourcall") in people.rooms[f"!spam{n}:example.org"]]
        assert len(there) <= 2

    line("matrix", story)


def test_a_room_that_somebody_else_comes_into_is_private_no_more(line: Line) -> None:
    async def story(stage: Stage) -> None:
        people = stage.people
        stage.life()
        await stage.pair()
        await stage.invited()
        room = people.chat()
        people.rooms[room].add(people.person("eve"))
        people.happens(room, people.person("eve"), "m.room.member", {"membership": "join"}, state_key="@eve")
        stage.say("/invite")
        await stage.told("in a private chat")
        shown = len(people.shown())
        stage.say("what do you think?")  # to the others
        stage.say("/list")
        await stage.told("Nothing runs")
        assert len(people.shown()) == shown + 1

    line("matrix", story)


@pytest.mark.parametrize("powerless", [False, True])
def test_a_tap_that_did_not_count_can_be_made_again(line: Line, powerless: bool) -> None:
    """A second tap on a reaction takes it away: the first is taken back for them, or the button gets another
    word."""

    async def story(stage: Stage) -> None:
        people = stage.people
        people.powerless = powerless
        stage.life()
        await stage.pair()
        await stage.house.ask()
        message = await stage.prompt()
        word = stage.data(message, "✅ Allow")
        people.look = lambda: None
        await stage.press(message, word)
        await stage.told("Too quick")
        if powerless:
            await stage.see(lambda: "✅ Allow ②" in [data for _, data in stage.at(message).buttons])
        else:
            taps = [e["event_id"] for e in people.events if e["sender"] == people.person("ada")]
            await stage.see(lambda: taps[-1] in people.redacted)
        await stage.settled()
        stage.house.ahead += 5
        await stage.press(message, stage.data(message, "✅ Allow"))
        await stage.see(lambda: stage.row().state == "answering")

    line("matrix", story)


def test_long_labels_are_numbers_with_their_words_in_the_message(line: Line) -> None:
    """A client cuts a reaction after sixteen signs; two choices must not look alike."""

    async def story(stage: Stage) -> None:
        stage.life()
        await stage.pair()
        labels = [f"Migrate the database number {n} now" for n in range(3)]
        asked = Question("q", "Which?", tuple(Option(f"o{n}", label, "choose") for n, label in enumerate(labels)))
        await stage.house.ask(kind="question", title="Which?", questions=(asked,))
        message = await stage.prompt()
        assert [data for _, data in stage.at(message).buttons] == [
            "1\ufe0f\u20e3",
            "2\ufe0f\u20e3",
            "3\ufe0f\u20e3",
        ]
        assert stage.labels(message) == labels
        await stage.tap(message, labels[1])
        await stage.see(lambda: stage.row().state == "answering")
        answer = stage.row().answer
        assert answer is not None
        assert answer.choices == {"q": ("o1",)}

    line("matrix", story)


def test_reactions_that_are_no_buttons_are_none(line: Line) -> None:
    async def story(stage: Stage) -> None:
        people = stage.people
        stage.life()
        await stage.pair()
        await stage.house.ask()
        message = await stage.prompt()
        theirs = people.say("look at this")
        for where, word in ((message, "👍"), (theirs, "✅ Allow"), ("$nowhere", "✅ Allow"), (message, "")):
            await stage.press(where, word)
        people.happens(people.chat(), people.person("ada"), "m.reaction", {"m.relates_to": {"rel_type": 7}})
        people.happens(people.chat(), people.person("ada"), "m.reaction", {"m.relates_to": "x"})
        people.happens(people.chat(), people.person("ada"), "m.room.message", {"msgtype": ["m.text"], "body": {}})
        edit = {
            "msgtype": "m.text",
            "body": "* !unpair",
            "m.new_content": {"msgtype": "m.text", "body": "!unpair"},
        }
        edit["m.relates_to"] = {"rel_type": "m.replace", "event_id": theirs}  # type: ignore[assignment]
        people.happens(people.chat(), people.person("ada"), "m.room.message", edit)
        await stage.press(message, "❌ Deny")
        await stage.see(lambda: stage.row().state == "answering")
        answer = stage.row().answer
        assert answer is not None
        assert answer.choices == {"decision": ("deny",)}
        assert stage.channel.targets()

    line("matrix", story)


def test_a_label_that_looks_like_a_number_of_ours_does_not_stand_for_another_option(line: Line) -> None:
    async def story(stage: Stage) -> None:
        stage.life()
        await stage.pair()
        labels = ["2\ufe0f\u20e3", "Delete nothing at all, please", "Step ②", "Step", "3"]
        options = tuple(Option(f"o{n}", label, "choose") for n, label in enumerate(labels))
        asked = Question("q", "Which?", options, multi_select=True)
        await stage.house.ask(kind="question", title="Which?", questions=(asked,))
        message = await stage.prompt()
        words = [data for _, data in stage.at(message).buttons]
        assert words[:3] == ["1\ufe0f\u20e3", "2\ufe0f\u20e3", "3\ufe0f\u20e3"]
        assert stage.labels(message) == [*(f"☐ {label}" for label in labels), "Submit"]
        await stage.tap(message, "☐ Delete nothing at all, please")
        await stage.see(lambda: "☑ Delete nothing at all, please" in stage.labels(message))
        await stage.settled()
        await stage.tap(message, "Submit")
        await stage.see(lambda: stage.row().state == "answering")
        answer = stage.row().answer
        assert answer is not None
        assert answer.choices == {"q": ("o1",)}

    line("matrix", story)


def test_rooms_full_of_large_events_do_not_stop_the_others(line: Line, monkeypatch: pytest.MonkeyPatch) -> None:
    from yourcall.channels.matrix import api

    monkeypatch.setattr(api, "LARGEST_SYNC", 200_000)

    async def story(stage: Stage) -> None:
        ear = Ear()
        people = stage.people
        await spoken_to(stage, ear)
        people.rooms["!spam:example.org"] = {people.person("yourcall"), people.person("eve")}
        for _ in range(20):
            said = {"msgtype": "m.text", "body": "x" * 30_000}
            people.happens("!spam:example.org", people.person("eve"), "m.room.message", said)
        stage.say("/steer shop go on")
        await stage.see(lambda: ear.heard == [("s1", "go on")])

    line("matrix", story)


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
