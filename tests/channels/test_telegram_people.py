"""Telegram with several people, several bots, files, and what goes wrong between them."""

from __future__ import annotations

import asyncio
import sqlite3
import threading
from typing import Any

import msgspec
import pytest
from channel_house import ALLOW, DENY, House, Keep, Lives
from msgspec.structs import replace
from telegram_stage import Acts, Stage

from kit.telegram_server import TelegramServer
from yourcall.agents.session_spec import StartOptions
from yourcall.channels import runner
from yourcall.channels.chat import channel as shared
from yourcall.channels.chat.memory import Chat
from yourcall.channels.chat.progress import BEGINNING, Follow, Progress
from yourcall.channels.context import ChannelContext
from yourcall.channels.runner import Condition
from yourcall.channels.telegram.channel import Settings, Telegram
from yourcall.channels.telegram.polling import AGAIN_S
from yourcall.core.notify_policy import Notify
from yourcall.daemon.loop import Loop
from yourcall.daemon.run import AGENTS
from yourcall.daemon.standing_orders import StandingOrders
from yourcall.links.conversations import Conversations
from yourcall.links.stdio.sessions import Policy, StdioSessions
from yourcall.model.events import AnswerNotWritten, DialogReached, HolderLost, SessionEnded, SessionSeen
from yourcall.model.prompts import Option, Question, Verdict
from yourcall.model.sessions import Session
from yourcall.server.api.uploads import Uploads

BOXES = tuple(Option(f"o{n}", f"Box {n}", "choose") for n in range(3))
BOXED = Question("q1", "Which?", (*BOXES, DENY), multi_select=True)


async def with_bob(stage: Stage, chat: int = 7) -> None:
    """Ada has paired; Bob does, too."""
    stage.server.say("/invite")
    invited = await stage.see(lambda: [m["text"] for m in stage.server.shown() if "/pair " in m["text"]])
    code = invited[-1].rpartition("/pair ")[2]
    stage.server.say(f"/pair {code}", chat=chat, user=8, name="Bob")
    await stage.see(
        lambda: sum("Paired" in m["text"] for m in stage.server.shown(chat)) == (2 if chat == 7 else 1)
    )


def desk_of(stage: Stage, voice: Any = None) -> ChannelContext:
    house = stage.house
    started = StdioSessions(house, AGENTS, Policy())  # type: ignore[arg-type]
    return ChannelContext(
        house.loop, voice, started, None, Conversations(AGENTS.get), Uploads(house.folder / "uploads")
    )


class Ear:
    """What is said to sessions."""

    def __init__(self) -> None:
        self.heard: list[tuple[str, str]] = []

    async def send(self, session: Session, text: str, as_command: bool, /) -> Any:
        self.heard.append((session.id, text))
        return Verdict("confirmed")

    async def interrupt(self, session: Session, /) -> Any:
        raise AssertionError("nobody asked for it")


def test_submit_sends_what_its_person_saw_and_nothing_that_somebody_else_ticked_since(acts: Acts) -> None:
    async def story(stage: Stage) -> None:
        stage.life()
        await stage.pair(chat=-5, kind="group")
        await stage.house.ask(kind="question", title="Boxes", questions=(BOXED,))
        message = await stage.prompt(-5)
        stage.server.tap(message, "☐ Box 0", chat=-5)
        await stage.see(lambda: "☑ Box 0" in stage.server.labels(message, -5))
        (submit,) = [
            k["callback_data"] for r in stage.server.keyboard(message, -5) for k in r if k["text"] == "Submit"
        ]
        stage.server.tap(message, "☐ Box 2", chat=-5)
        await stage.see(lambda: "☑ Box 2" in stage.server.labels(message, -5))
        toast = await stage.toast(stage.server.press(message, submit, chat=-5))
        assert "changed" in toast["text"]
        assert stage.row().state == "open"
        stage.server.tap(message, "Submit", chat=-5)
        await stage.see(lambda: stage.row().state == "answering")
        answer = stage.row().answer
        assert answer is not None
        assert answer.choices == {"q1": ("o0", "o2")}

    acts(story)


def test_the_same_tick_twice_is_one_tick(acts: Acts) -> None:
    async def story(stage: Stage) -> None:
        stage.life()
        await stage.pair()
        await stage.house.ask(kind="question", title="Boxes", questions=(BOXED,))
        message = await stage.prompt()
        tick = stage.server.keyboard(message)[0][0]["callback_data"]
        for _ in range(2):
            await stage.toast(stage.server.press(message, tick))
        await stage.see(lambda: "☑ Box 0" in stage.server.labels(message))
        stage.server.tap(message, "Submit")
        await stage.see(lambda: stage.row().state == "answering")
        answer = stage.row().answer
        assert answer is not None
        assert answer.choices == {"q1": ("o0",)}

    acts(story)


def test_what_is_dangerous_is_said_twice_and_the_second_yes_is_to_the_very_same(acts: Acts) -> None:
    async def story(stage: Stage) -> None:
        stage.life()
        await stage.pair()
        await stage.house.ask(title="rm -rf build", body="rm -rf build")
        message = await stage.prompt()
        toast = await stage.toast(stage.server.tap(message, "✅ Allow"))
        assert toast["text"] == "It deletes files, or work. Tap again to confirm."
        await stage.see(lambda: "Are you sure?" in stage.text(message))
        (once,) = [k["callback_data"] for r in stage.server.keyboard(message) for k in r if "sure" in k["text"]]
        stage.server.tap(message, "Not yet")
        await stage.see(lambda: "✅ Always" in stage.server.labels(message))
        toast = await stage.toast(stage.server.press(message, once))
        assert "changed" in toast["text"], "it was taken back"
        stage.server.tap(message, "✅ Always")
        await stage.see(lambda: "Yes, I am sure" in stage.server.labels(message))
        toast = await stage.toast(stage.server.press(message, once))
        assert "changed" in toast["text"], "a yes to once is none to always"
        assert stage.row().state == "open"
        stage.server.tap(message, "Yes, I am sure")
        await stage.see(lambda: stage.row().state == "answering")
        answer = stage.row().answer
        assert answer is not None
        assert answer.choices == {"decision": ("always",)}
        assert answer.sure

        # It came back: nothing is half said.
        await stage.house.post(AnswerNotWritten(stage.house.clock(), "p1", answer.id, "the hook has left"))
        await stage.see(lambda: "came back" in stage.text(message))
        await stage.see(lambda: stage.server.labels(message) == ["✅ Allow", "✅ Always", "❌ Deny"])

    acts(story)


def test_an_answer_that_came_back_with_a_restart_is_told_aloud_once(acts: Acts) -> None:
    async def story(stage: Stage) -> None:
        def aloud() -> int:
            return sum(m["text"].endswith("above again.") for m in stage.server.shown())

        stage.life()
        await stage.pair()
        await stage.house.ask()
        message = await stage.prompt()
        stage.server.tap(message, "✅ Allow")
        await stage.see(lambda: "Sending (Ada" in stage.text(message))
        await stage.house.settled()
        await stage.house.stop()
        answer = stage.row().answer
        assert answer is not None
        await stage.house.post(AnswerNotWritten(stage.house.clock(), "p1", answer.id, "the hook has left"))
        stage.life()
        await stage.see(lambda: "An answer came back: the hook has left" in stage.text(message))
        await stage.see(lambda: aloud() == 1, "told aloud")
        await stage.house.settled()
        await stage.house.stop()
        await stage.house.post(HolderLost(stage.house.clock(), "p1", "its hook has left"))
        stage.life()
        await stage.see(lambda: "only be answered at the desk" in stage.text(message))
        await stage.house.settled()
        assert aloud() == 1

    acts(story)


def test_two_programs_that_read_one_bot_are_said_where_people_look(acts: Acts) -> None:
    async def story(stage: Stage) -> None:
        stage.life()
        await stage.pair()
        assert stage.channel.deaf == ""
        stage.server.two_pollers = True
        stage.server.say("/list")
        await stage.see(lambda: "another program reads this bot's messages" in stage.channel.deaf)
        stage.server.two_pollers = False
        await stage.see(lambda: stage.channel.deaf == "", "all is well again")

    acts(story)


def test_numbers_that_begin_anew_are_heard_and_do_not_keep_us_busy(acts: Acts) -> None:
    """After a week without a word Telegram may count from anywhere."""

    async def story(stage: Stage) -> None:
        stage.life()
        await stage.pair()
        stage.server.counts_anew(5)
        stage.server.say("/help")
        await stage.see(lambda: any("/interrupt" in m["text"] for m in stage.server.shown()))
        polls = stage.server.polls
        stage.server.again()
        await stage.see(lambda: stage.server.polls > polls + 1)
        assert stage.server.polls < polls + 20, "not a busy loop"
        assert sum("/interrupt" in m["text"] for m in stage.server.shown()) == 1

    acts(story)


def test_another_bot_begins_with_an_empty_book(acts: Acts) -> None:
    async def story(stage: Stage) -> None:
        stage.life()
        await stage.pair()
        await stage.house.stop()
        stage.server.token = "999:AAother-bot-other-bot-other-bot-other-b"
        stage.server.counts_anew(3)
        stage.life()
        await stage.see(lambda: not stage.channel.targets(), "nobody is paired with it")
        await stage.pair()
        await stage.house.ask()
        assert await stage.prompt()

    acts(story)


def test_a_reply_that_does_not_say_which_message_is_not_a_reason_to_send_it_again(acts: Acts) -> None:
    async def story(stage: Stage) -> None:
        runner = stage.life()
        await stage.pair()
        stage.server.garbled.append("sendMessage")
        await stage.house.ask()
        message = await stage.prompt()
        await stage.see(lambda: "did not say which" in runner.conditions.get("telegram", Condition()).problem)
        await stage.house.settled()
        stage.house.later(120)
        await stage.house.settled()
        assert len(stage.prompts()) == 1
        await stage.house.at_the_desk()
        query = stage.server.tap(message, "✅ Allow")
        assert "desk" in (await stage.toast(query))["text"]
        await stage.see(lambda: not stage.server.keyboard(message), "what is over loses its buttons")
        assert "Closed at the desk" in stage.text(message)

    acts(story)


def test_a_link_that_telegram_does_not_take_is_left_out_and_the_message_comes(acts: Acts) -> None:
    async def story(stage: Stage) -> None:
        stage.life(url="https://laptop:7717")
        await stage.pair()
        await stage.house.ask()
        message = await stage.prompt()
        assert stage.server.labels(message) == ["✅ Allow", "✅ Always", "❌ Deny"]
        await stage.house.at_the_desk()
        await stage.see(lambda: "Closed at the desk" in stage.text(message))

    acts(story)


def test_what_was_worked_out_before_the_outcome_does_not_cover_it(acts: Acts) -> None:
    """As when somebody ticks a box right after a restart, and the desk answers in the same moment."""

    async def story(stage: Stage) -> None:
        stage.life()
        await stage.pair()
        await stage.house.ask()
        message = await stage.prompt()
        chat, before = stage.channel.book.chat(7), stage.channel.fresh(stage.row())
        assert chat is not None
        await stage.house.at_the_desk()
        await stage.see(lambda: "Closed at the desk" in stage.text(message))
        await stage.house.settled()
        assert await stage.channel.show(chat, message, before) is None
        assert "Closed at the desk" in stage.text(message)
        assert not stage.server.keyboard(message)

    acts(story)


def test_who_pairs_while_something_waits_is_told_of_it(acts: Acts) -> None:
    async def story(stage: Stage) -> None:
        stage.life()
        await stage.house.ask()
        await stage.house.settled()
        await stage.pair()
        assert await stage.prompt()

    acts(story)


def test_a_picture_is_the_next_instruction_with_its_words(acts: Acts) -> None:
    async def story(stage: Stage) -> None:
        ear = Ear()
        stage.desk = desk_of(stage, ear)
        stage.life(progress=False)
        await stage.pair()
        session = Session("s1", "claude", "/home/me/shop", state="idle", started_at=1)
        await stage.house.post(SessionSeen(stage.house.clock(), session))
        stage.server.uploads |= {"small": b"s", "large": b"\x89PNG large"}
        sizes = [{"file_id": "small", "file_size": 1}, {"file_id": "large", "file_size": 10}]
        stage.server.say("", caption="/steer shop like this", photo=sizes)
        await stage.see(lambda: ear.heard)
        ((where, words),) = ear.heard
        assert where == "s1"
        assert words.startswith("like this\n\nThe file for this:\n")
        path = stage.house.folder / "uploads" / words.rpartition("/")[2]
        assert path.read_bytes() == b"\x89PNG large"
        assert path.stat().st_mode & 0o777 == 0o600
        stage.server.uploads["doc"] = b"text"
        stage.server.say("", document={"file_id": "doc", "file_name": "../../x; rm.sh"})
        await stage.see(lambda: len(ear.heard) == 2)
        kept = ear.heard[1][1].rpartition("\n")[2]
        assert kept.startswith(str(stage.house.folder / "uploads"))
        assert ".." not in kept
        assert " " not in kept

    acts(story)


@pytest.mark.parametrize(
    ("more", "says"),
    [
        ({"voice": {"file_id": "v"}}, "only words, pictures and files"),
        ({"sticker": {"file_id": "v"}}, "only words, pictures and files"),
        ({"document": {"file_id": "none", "file_size": 30 << 20}}, "20 MB"),
        ({"document": {"file_id": "gone"}}, "404"),
        ({"photo": [{"file_id": "gone"}], "media_group_id": "9"}, "one by one"),
    ],
)
def test_what_is_not_taken_is_said(acts: Acts, more: dict[str, Any], says: str) -> None:
    async def story(stage: Stage) -> None:
        ear = Ear()
        stage.desk = desk_of(stage, ear)
        stage.life(progress=False)
        await stage.pair()
        stage.server.say("", **more)
        await stage.see(lambda: any("Not taken" in m["text"] and says in m["text"] for m in stage.server.shown()))
        assert not ear.heard
        assert not list((stage.house.folder / "uploads").glob("*"))

    acts(story)


def test_a_session_that_ended_is_gone_on_with_by_number_and_by_the_beginning_of_its_id(acts: Acts) -> None:
    async def story(stage: Stage) -> None:
        stage.desk = desk_of(stage)
        stage.life()
        await stage.pair()
        house = stage.house
        for name, at in (("aaaa1111-old", 10.0), ("bbbb2222-new", 20.0), ("bbbb3333-new", 30.0)):
            session = Session(name, "claude", f"/home/me/{name[:4]}", started_at=at, seen_at=at)
            await house.post(SessionSeen(house.clock() + at, session))
            await house.post(SessionEnded(house.clock() + at, name))

        async def says(words: str) -> str:
            told = len(stage.server.shown())
            stage.server.say(words)
            await stage.see(lambda: len(stage.server.shown()) > told)
            return stage.server.shown()[-1]["text"]

        listed = await says("/resume")
        assert [line.partition(" · ")[0] for line in listed.split("\n")[1:]] == ["1. bbbb", "2. bbbb", "3. aaaa"]
        assert "2 sessions match" in await says("/resume bbbb go on")
        assert "no such session" in await says("/resume zzzz go on")
        # Which one was found is seen from what is wrong with its folder: there is none.
        for word, folder in (("3", "/home/me/aaaa"), ("aaaa1", "/home/me/aaaa"), ("bbbb2222", "/home/me/bbbb")):
            said = await says(f"/resume {word} go on")
            assert said.startswith("Not started: "), word
            assert folder in said

    acts(story)


def test_titles_only_is_kept_in_lists_refusals_and_running_turns(acts: Acts) -> None:
    async def story(stage: Stage) -> None:
        stage.life(Notify(titles_only=True))
        await stage.pair()
        await stage.house.ask(title="swordfish", body="swordfish", questions=(replace(BOXED, text="swordfish?"),))
        await stage.prompt()
        stage.server.say("/list")
        await stage.see(
            lambda: any("asks for permission" in m["text"] and "1. " in m["text"] for m in stage.server.shown())
        )
        await stage.house.settled()
        assert not any("swordfish" in m["text"] for m in stage.server.shown())

    acts(story)


def test_a_stopped_listener_is_said(acts: Acts) -> None:
    async def story(stage: Stage) -> None:
        stage.life()
        await stage.pair()

        async def broken() -> None:
            raise RuntimeError("https://secret.example")

        stage.channel.book.tidy = broken  # type: ignore[method-assign]
        listening = asyncio.create_task(stage.channel.listen(desk_of(stage)))
        await asyncio.wait([listening])
        assert isinstance(listening.exception(), RuntimeError)
        assert stage.channel.deaf == "it stopped listening (RuntimeError), and tries again"

    acts(story)


def test_a_turn_that_begins_while_the_one_before_is_told_to_be_over_is_shown(lives: Lives) -> None:
    class Slow(TelegramServer):
        asked, goes_on = threading.Event(), threading.Event()

        def _sendMessage(self, fields: dict[str, Any]) -> tuple[int, Any]:
            self.asked.set()
            self.goes_on.wait(30)
            return super()._sendMessage(fields)

    async def story(house: House) -> None:
        with Slow() as server:
            stage = Stage(house, server)
            server.chats[7] = {"type": "private", "forum": False}
            now = house.clock()
            await house.post(SessionSeen(now, Session("s1", "claude", "/home/me/shop", state="idle", seen_at=now)))
            secrets = {"token": server.token}
            channel = Telegram("telegram", Settings(server=server.url), house.world(secrets))
            chat = Chat(7)
            await channel.book.put_chat(chat)
            progress = Progress(channel, desk_of(stage))
            await progress._put(Follow(7, "s1", now - 60, begun=True))
            (before,) = progress._all()
            looking = asyncio.create_task(progress._look(before))
            await house.until(server.asked.is_set, what="the end of the turn before is being told")
            await progress.follow(chat, "s1", 0, BEGINNING)
            server.goes_on.set()
            await looking
            assert [(each.at > before.at, each.message_id) for each in progress._all()] == [(True, 0)]

    lives(story)


def test_a_turn_that_cannot_be_read_or_forgotten_hides_no_other(lives: Lives) -> None:
    """A disk that is busy for a moment, or a row of another version: the others are shown all the same."""

    async def story(house: House) -> None:
        with TelegramServer() as server:
            stage = Stage(house, server)
            server.chats[7] = {"type": "private", "forum": False}
            now = house.clock()
            await house.post(SessionSeen(now, Session("s1", "claude", "/home/me/shop", state="idle", seen_at=now)))
            world = house.world({"token": server.token})

            class Busy(Keep):
                async def put(self, key: str, value: bytes | None, /) -> None:
                    if key == "f:gone:7" and len(failed) < 2:
                        failed.append(key)
                        raise OSError("the disk is busy")
                    await super().put(key, value)

            failed: list[str] = []
            keep = Busy()
            channel = Telegram("telegram", Settings(server=server.url), replace(world, keep=keep))
            await channel.book.put_chat(Chat(7))
            progress = Progress(channel, desk_of(stage))
            keep.facts["f:odd:7"] = b'{"chat": "x"}'
            keep.facts["f:gone:7"] = msgspec.json.encode(Follow(7, "gone", now))
            running = asyncio.create_task(progress.run())
            await house.until(lambda: running.done() or len(failed) == 2, what="one that could not be forgotten")
            await progress.follow(Chat(7), "s1", 0, BEGINNING)
            await progress._put(Follow(7, "s1", now - 60, begun=True))
            await house.until(lambda: running.done() or server.shown(7), what="the turn is shown")
            assert not running.done()
            running.cancel()

    lives(story)


def test_a_start_without_a_network_does_not_make_the_bot_deaf_to_its_own_name(acts: Acts) -> None:
    """In a group, Telegram's own menu puts the bot's name behind each command."""

    async def story(stage: Stage) -> None:
        stage.server.faults += ["drop", "drop"]
        stage.life()
        await stage.pair(chat=-100, kind="supergroup")
        assert stage.server.methods()[:2] == ["getMe", "setMyCommands"]
        assert not stage.server.commands
        stage.server.say("/list@Somebody_elses_bot", chat=-100, kind="supergroup")
        stage.server.say("/list@my_yourcall_bot", chat=-100, kind="supergroup")
        await stage.see(lambda: any("Nothing runs" in m["text"] for m in stage.server.shown(-100)), "heard")
        assert stage.server.commands
        assert sum("Nothing runs" in m["text"] for m in stage.server.shown(-100)) == 1

    acts(story)


def test_who_unpairs_while_a_session_is_started_stays_unpaired(acts: Acts) -> None:
    class Slow:
        begun, goes_on = asyncio.Event(), asyncio.Event()

        async def offers(self) -> list[str]:
            return ["claude"]

        async def start(self, agent: str, wish: Any, /, *, remote: bool) -> str:
            self.begun.set()
            await self.goes_on.wait()
            return "s1"

    async def story(stage: Stage) -> None:
        slow = Slow()
        stage.desk = replace(desk_of(stage), starting=slow)
        stage.life(progress=False)
        await stage.pair()
        stage.server.say("/start /home/me/shop fix it")
        await slow.begun.wait()
        stage.server.say("/unpair")
        await stage.see(lambda: not stage.channel.targets(), "forgotten")
        slow.goes_on.set()
        await stage.see(lambda: any("Started" in m["text"] for m in stage.server.shown()))
        await stage.see(lambda: not any(name.startswith("u:") for name in stage.keep.facts), "done")
        assert not stage.channel.targets()

    acts(story)


def broken_disk(stage: Stage) -> sqlite3.Connection:
    """Nothing can be written to the log until it is closed."""
    disk = sqlite3.connect(stage.house.store.path, isolation_level=None)
    disk.execute("CREATE TRIGGER no BEFORE INSERT ON log BEGIN SELECT RAISE(ABORT, 'no room'); END")
    return disk


def mended(disk: sqlite3.Connection) -> None:
    disk.execute("DROP TRIGGER no")
    disk.close()


def test_a_tap_that_met_a_full_disk_is_taken_by_the_next_life(
    acts: Acts, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    """A daemon that the disk fails is started again by its service."""

    async def story(stage: Stage) -> None:
        house, short = stage.house, stage.house.nap

        async def nap(seconds: float) -> None:
            await (asyncio.Event().wait() if seconds == AGAIN_S else short(seconds))  # it leaves before that

        monkeypatch.setattr(house, "nap", nap)
        stage.life()
        await stage.pair()
        await house.ask()
        message = await stage.prompt()
        await house.settled()
        disk = broken_disk(stage)
        stage.server.tap(message, "✅ Allow")
        await stage.see(lambda: "could not be handled" in caplog.text, "it failed")
        await house.stop()
        mended(disk)
        house.loop = Loop(house.store, lambda _: None)
        stage.life()
        await stage.see(lambda: stage.row().state == "answering", "the answer")
        answer = stage.row().answer
        assert answer is not None
        assert answer.choices == {"decision": ("allow",)}

    acts(story)


def test_what_cannot_be_done_at_all_is_said_and_ends(acts: Acts) -> None:
    async def story(stage: Stage) -> None:
        stage.life()
        await stage.pair()
        await stage.house.ask()
        message = await stage.prompt()
        await stage.house.settled()
        disk = broken_disk(stage)
        stage.server.tap(message, "✅ Allow")
        await stage.see(
            lambda: any("not known whether" in m["text"] for m in stage.server.shown()), "that it failed"
        )
        stage.server.say("/list")
        await stage.see(lambda: any("1. shop" in m["text"] for m in stage.server.shown()), "the next one")
        mended(disk)

    acts(story)


def test_instructions_that_wait_are_arranged_in_the_chat(acts: Acts) -> None:
    async def passes(_session: Session, _command: str) -> str:
        return ""

    async def story(stage: Stage) -> None:
        orders = StandingOrders(stage.house.loop, stage.house.store, passes)
        stage.desk = replace(desk_of(stage, Ear()), orders=orders)
        stage.life(progress=False)
        await stage.pair()
        session = Session("s1", "claude", "/home/me/shop", state="working", started_at=1)
        await stage.house.post(SessionSeen(stage.house.clock(), session))
        stage.server.say("/queue shop fix the docs")
        await stage.see(lambda: [each.text for each in orders.queue("s1").orders] == ["fix the docs"], "one")
        stage.server.say("/queue 1 then the tests")
        await stage.see(lambda: any("2. then the tests" in m["text"] for m in stage.server.shown()), "both")
        assert {each.via for each in orders.queue("s1").orders} == {"telegram"}
        stage.server.say("/queue drop 1")
        await stage.see(
            lambda: [each.text for each in orders.queue("s1").orders] == ["then the tests"], "one less"
        )
        await orders.hold("s1", "Ada")
        stage.server.say("/queue")
        await stage.see(lambda: any("Held: by Ada" in m["text"] for m in stage.server.shown()), "what holds it")
        stage.server.say("/queue go")
        await stage.see(lambda: not orders.queue("s1").held, "it to go on")
        stage.server.say("/queue drop 7")
        await stage.see(lambda: any("1 wait there" in m["text"] for m in stage.server.shown()), "a no")
        stage.server.say("/queue nowhere x")
        await stage.see(lambda: any("no such session" in m["text"] for m in stage.server.shown()), "another no")

    acts(story)


def test_a_command_that_fails_in_the_middle_is_said(acts: Acts) -> None:
    class Hoarse(Ear):
        async def send(self, session: Session, text: str, as_command: bool, /) -> Any:
            raise OSError("no file handle is left")

    async def story(stage: Stage) -> None:
        stage.desk = desk_of(stage, Hoarse())
        stage.life(progress=False)
        await stage.pair()
        session = Session("s1", "claude", "/home/me/shop", state="idle", started_at=1)
        await stage.house.post(SessionSeen(stage.house.clock(), session))
        said = stage.server.say("/steer shop go on")
        (told,) = await stage.see(lambda: [m for m in stage.server.shown() if "not known whether" in m["text"]])
        assert told["reply_parameters"]["message_id"] == said
        assert "file handle" not in told["text"]

    acts(story)


def test_questions_that_are_only_being_written_down_are_not_answered_by_an_old_button(acts: Acts) -> None:
    async def story(stage: Stage) -> None:
        house = stage.house
        stage.life()
        await stage.pair()
        await house.ask()
        message = await stage.prompt()
        await house.settled()
        data = stage.server.keyboard(message)[0][0]["callback_data"]
        await house.post(HolderLost(house.clock(), "p1", "its hook has left"))
        await house.settled()
        disk = sqlite3.connect(house.store.path, isolation_level=None)
        disk.execute("BEGIN IMMEDIATE")
        other = Question("decision", "Delete everything?", (replace(ALLOW, label="Delete"), DENY))
        writing = asyncio.create_task(house.post(DialogReached(house.clock(), "p1", "screen", (other,), "r")))
        await house.until(lambda: house.store.busy, what="it is being written")
        toast = await stage.toast(stage.server.press(message, data))
        assert "changed" in toast["text"]
        disk.execute("ROLLBACK")
        disk.close()
        await writing
        assert stage.row().state == "open"

    acts(story)


@pytest.mark.parametrize(
    ("words", "started"),
    [
        ("opencode /home/me/shop fix it", ("opencode", "/home/me/shop", "fix it")),
        ("Opencode /home/me/shop fix it", ("opencode", "/home/me/shop", "fix it")),
        ("opencode /home/me/my shop\nfix it", ("opencode", "/home/me/my shop", "fix it")),
        ("Codex /home/me/shop fix it", ("codex", "/home/me/shop", "fix it")),
        ("/home/me/opencode fix it", ("claude", "/home/me/opencode", "fix it")),
        ("/home/me/shop opencode it", ("claude", "/home/me/shop", "opencode it")),
    ],
)
def test_an_agent_over_acp_is_started_by_its_name_however_a_phone_writes_it(
    acts: Acts, words: str, started: tuple[str, str, str]
) -> None:
    class Starting:
        def __init__(self) -> None:
            self.begun: list[tuple[str, str, str]] = []

        async def offers(self) -> list[str]:
            return ["claude", "opencode"]

        async def start(self, agent: str, wish: StartOptions, /, *, remote: bool) -> str:
            assert remote
            self.begun.append((agent, wish.cwd, wish.prompt))
            return "s1"

    async def story(stage: Stage) -> None:
        starting = Starting()
        stage.desk = replace(desk_of(stage), starting=starting)
        stage.life(progress=False)
        await stage.pair()
        stage.server.say(f"/start {words}")
        await stage.see(lambda: any("Started: s1" in m["text"] for m in stage.server.shown()))
        assert starting.begun == [started]

    acts(story)


def test_words_for_a_question_that_is_over_are_told_to_be_late_and_said_to_nobody(acts: Acts) -> None:
    """Somebody was faster: a *yes* that was meant for that question is no instruction."""

    async def story(stage: Stage) -> None:
        ear = Ear()
        stage.desk = desk_of(stage, ear)
        stage.life(Notify(digest_s=0), progress=False)
        await stage.pair()
        asked = Question("q1", "Which colour?", (Option("r", "Red", "choose"),), free_text=True)
        await stage.house.ask(kind="question", title="Which colour?", questions=(asked,))
        message = await stage.prompt()
        await stage.house.at_the_desk()
        said = stage.server.say("yes", reply_to=message)
        late = await stage.see(
            lambda: [m for m in stage.server.shown() if m.get("reply_parameters", {}).get("message_id") == said]
        )
        assert late[0]["text"].startswith("Not sent (")
        assert late[0]["text"].endswith("already closed at the desk")
        assert not ear.heard
        # A session that was ready and is not any more: what is said to it is an instruction all the same.
        nexts = (Question("next", "What next?", free_text=True),)
        await stage.house.ask("r1", kind="ready", title="Ready", body="Done.", questions=nexts)
        await stage.see(lambda: len(stage.prompts()) == 2)
        await stage.house.at_the_desk("r1")
        stage.server.say("now the docs", reply_to=stage.prompts()[1]["message_id"])
        await stage.see(lambda: ear.heard == [("s1", "now the docs")], "said to the session")

    acts(story)


def test_what_people_send_each_other_in_a_group_is_none_of_our_business(acts: Acts) -> None:
    """A bot that may manage topics sees everything; in a topic, each message is a reply to the topic's first."""

    async def story(stage: Stage) -> None:
        stage.desk = desk_of(stage, Ear())
        stage.life(progress=False)
        group: dict[str, Any] = {"chat": -100, "kind": "supergroup", "forum": True}
        await stage.pair(**group)
        stage.server.uploads["cat"] = b"cat"
        told = len(stage.server.shown(-100))
        stage.server.say("", **group, thread=50, reply_to=50, sticker={"file_id": "v"})
        stage.server.say("", **group, thread=50, reply_to=50, photo=[{"file_id": "cat"}])
        stage.server.say("look", **group, thread=50, reply_to=61, document={"file_id": "cat"})
        stage.server.say("good morning", **group, ago=3600)
        stage.server.say("/list", **group)
        await stage.see(lambda: any("Nothing runs" in m["text"] for m in stage.server.shown(-100)))
        await stage.see(lambda: not any(name.startswith("u:") for name in stage.keep.facts), "all is done")
        assert len(stage.server.shown(-100)) == told + 1
        assert "getFile" not in stage.server.methods()

    acts(story)


def test_what_waited_for_its_turn_too_long_is_sent_when_it_comes(
    lives: Lives, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Telegram is slow, and one message after the other goes to a chat: what was not begun is surely not there."""
    monkeypatch.setattr(runner, "PATIENCE_S", 1.0)
    monkeypatch.setattr(shared, "SEND_S", 0.5)

    class Slow(TelegramServer):
        held, goes_on = threading.Event(), threading.Event()

        def _sendMessage(self, fields: dict[str, Any]) -> tuple[int, Any]:
            if "npm one" in fields["text"]:
                self.held.set()
                self._lock.wait_for(self.goes_on.is_set, 30)
            return super()._sendMessage(fields)

    async def story(house: House) -> None:
        with Slow() as server:
            stage = Stage(house, server)
            stage.life()
            await stage.pair()
            await house.ask("p1", title="npm one")
            await house.until(server.held.is_set, what="the first is on its way")
            await house.ask("p2", title="npm two")
            await house.until(
                lambda: {row.notice: row.why for row in house.store.receipts()}.get("p2"), what="it waited"
            )
            server.goes_on.set()
            with server._lock:
                server._lock.notify_all()
            await stage.see(lambda: any("npm two" in m["text"] for m in server.shown()), "told after all")
            await house.stop()

    lives(story)


def test_what_cannot_be_told_in_a_topic_that_was_closed_is_told_in_general(acts: Acts) -> None:
    async def story(stage: Stage) -> None:
        stage.life()
        await stage.pair(chat=-100, kind="supergroup", forum=True)
        await stage.house.ask("p1")
        await stage.see(lambda: len(stage.prompts(-100)) == 1)
        await stage.house.settled()
        stage.server.faults.append((400, "Bad Request: TOPIC_CLOSED"))
        await stage.house.ask("p2")
        await stage.see(lambda: len(stage.prompts(-100)) == 2, "told all the same")
        assert "message_thread_id" not in stage.prompts(-100)[1]
        assert len(stage.server.topics) == 1

    acts(story)


def test_why_words_were_not_said_is_masked_as_everything_that_leaves(acts: Acts) -> None:
    class Strict(Ear):
        async def send(self, session: Session, text: str, as_command: bool, /) -> Any:
            return Verdict("refused", "the agent says: npm login --token abcdefgh failed")

    async def story(stage: Stage) -> None:
        stage.desk = desk_of(stage, Strict())
        stage.life(Notify(digest_s=0), progress=False)
        await stage.pair()
        nexts = (Question("next", "What next?", free_text=True),)
        await stage.house.ask("r1", kind="ready", title="Ready", body="Done.", questions=nexts)
        message = await stage.prompt()
        await stage.house.at_the_desk("r1")
        stage.server.say("go on", reply_to=message)
        (told,) = await stage.see(lambda: [m["text"] for m in stage.server.shown() if "Not said" in m["text"]])
        assert told == "Not said: the agent says: npm login --token ••• failed"

    acts(story)


def test_a_message_in_a_group_that_moved_is_not_taken_for_another_with_its_number(acts: Acts) -> None:
    """What became a supergroup counts its messages anew."""

    async def story(stage: Stage) -> None:
        server, house = stage.server, stage.house
        runner = stage.life()
        await stage.pair(chat=-5, kind="group")
        await house.ask("p1", title="npm one")
        before = await stage.prompt(-5)
        await house.settled()
        server.moved[-5] = -1005
        server.chats[-1005] = {"type": "supergroup"}
        server._message = before - 1
        await house.ask("p2", title="npm two")
        assert await stage.prompt(-1005) == before
        await house.settled()
        await house.at_the_desk("p1")
        await stage.see(lambda: [row.notice for row in house.store.receipts()] == ["p2"], "the first is over")
        assert "npm two" in stage.text(before, -1005)
        assert "✅ Allow" in server.labels(before, -1005)
        assert "another id" in runner.conditions["telegram"].problem
        await house.stop()
        stage.life()
        server.tap(before, "❌ Deny", chat=-1005)
        await stage.see(lambda: "Sending (Ada: Deny)" in stage.text(before, -1005))

    acts(story)


def test_a_running_turn_in_a_group_that_moved_is_not_shown_in_another_message(lives: Lives) -> None:
    async def story(house: House) -> None:
        with TelegramServer() as server:
            stage = Stage(house, server)
            server.chats[-1005] = {"type": "supergroup"}
            server.messages[-1005, 101] = {"message_id": 101, "text": "another prompt"}
            now = house.clock()
            await house.post(SessionSeen(now, Session("s1", "claude", "/home/me/shop", state="idle", seen_at=now)))
            channel = Telegram("telegram", Settings(server=server.url), house.world({"token": server.token}))
            await channel.book.put_chat(Chat(-5, private=False))
            await channel.book.move_chat("-5", -1005)
            progress = Progress(channel, desk_of(stage))
            await progress._put(Follow(-5, "s1", now - 60, message_id=101, begun=True))
            (followed,) = progress._all()
            await progress._look(followed)
            assert server.messages[-1005, 101]["text"] == "another prompt"
            assert not progress._all()

    lives(story)
