"""Telegram against a strict stand-in of its Bot API: pairing, prompts, taps, words, outcomes, and faults."""

from __future__ import annotations

import asyncio
import json
import logging
from typing import Any

import pytest
from channel_house import ALLOW, ALWAYS, DENY
from msgspec.structs import replace
from telegram_stage import CODE, Acts, Stage

from kit.telegram_server import TOKEN
from yourcall.channels import runner
from yourcall.channels.chat import channel as chat
from yourcall.channels.context import ChannelContext
from yourcall.core.notify_policy import Notify
from yourcall.daemon.run import AGENTS
from yourcall.links.conversations import Conversations
from yourcall.links.stdio.sessions import Policy, StdioSessions
from yourcall.model.events import (
    DialogReached,
    HolderLost,
    SessionSeen,
)
from yourcall.model.prompts import Option, Question
from yourcall.model.sessions import Session


def test_answered_elsewhere_the_message_says_so_and_a_late_tap_is_told(acts: Acts) -> None:
    async def story(stage: Stage) -> None:
        stage.life()
        await stage.pair()
        await stage.house.ask()
        message = await stage.prompt()
        data = stage.server.keyboard(message)[0][0]["callback_data"]
        await stage.house.at_the_desk()
        await stage.see(lambda: "Closed at the desk" in stage.text(message))
        assert not stage.server.keyboard(message)
        toast = await stage.toast(stage.server.press(message, data))
        assert toast["text"] == "Already closed at the desk."
        assert toast["show_alert"] is True

    acts(story)


def test_too_many_codes_are_not_even_looked_at(acts: Acts) -> None:
    async def story(stage: Stage) -> None:
        stage.life()
        for number in range(30):
            stage.server.say(f"/pair AAAA-{number:04}", chat=8, user=8)
        stage.server.say(f"/pair {CODE}", chat=8, user=8)
        stage.server.say("hello", chat=9, user=9)  # who is heard later
        await stage.see(lambda: stage.server.shown(9))
        assert not any("Too many" in m["text"] for m in stage.server.shown(8)), (
            "it was told that its code is wrong"
        )
        assert not stage.channel.targets()
        stage.house.ahead += 3700
        stage.server.say(f"/pair {CODE}", chat=8, user=8)
        await stage.see(lambda: stage.channel.targets())

    acts(story)


def test_a_stranger_who_guesses_keeps_nobody_out(acts: Acts) -> None:
    async def story(stage: Stage) -> None:
        stage.life()
        for number in range(30):
            stage.server.say(f"/pair AAAA-{number:04}", chat=8, user=8)
        stage.server.say(f"/pair {CODE}", chat=8, user=8)
        stage.server.say(f"/pair {CODE}", chat=9, user=9)
        await stage.see(lambda: stage.channel.targets())
        assert stage.channel.targets() == ["9"]

    acts(story)


def test_a_stranger_in_a_paired_group_taps_and_speaks_in_vain(acts: Acts) -> None:
    async def story(stage: Stage) -> None:
        stage.life()
        await stage.pair(chat=-100, user=7, kind="supergroup")
        await stage.house.ask()
        message = await stage.prompt(-100)
        query = stage.server.tap(message, "✅ Allow", chat=-100, user=66)
        assert "not paired" in (await stage.toast(query))["text"]
        shown = len(stage.server.shown(-100))
        stage.server.say("/pause", chat=-100, user=66, kind="supergroup")
        stage.server.say("yes", chat=-100, user=66, kind="supergroup", reply_to=message)
        stage.server.say("yes", chat=-100, user=7, kind="supergroup", reply_to=message, sender_chat={"id": -100})
        query = stage.server.tap(message, "❌ Deny", chat=-100, user=7)
        assert (await stage.toast(query))["text"] == "Sending…"
        assert len(stage.server.shown(-100)) == shown, "nobody is answered who is not paired"

    acts(story)


def test_a_long_plan_comes_as_a_file_and_is_not_approved_under_its_beginning(acts: Acts) -> None:
    async def story(stage: Stage) -> None:
        stage.life()
        await stage.pair()
        options = (
            Option("approve", "Approve", "allow_once"),
            Option("revise", "Deny", "deny"),
            Option("outline", "Outline first", "deny"),
        )
        plan = "# The plan\n" + "\n".join(f"{n}. step ä𝄞" for n in range(600))
        asked = Question("decision", "Approve this plan?", options, free_text=True)
        await stage.house.ask(kind="plan", title="A plan", body=plan, questions=(asked,))
        message = await stage.prompt()
        assert stage.server.labels(message) == ["❌ Deny", "❌ Outline first"]
        assert "Not all of it is shown here" in stage.text(message)
        (file,) = await stage.see(lambda: stage.server.files)
        assert (file["file_name"], file["text"], file["reply_to"]) == ("plan.md", plan, message)
        stage.server.tap(message, "❌ Outline first")
        await stage.see(lambda: stage.row().state == "answering")
        answer = stage.row().answer
        assert answer is not None
        assert answer.choices == {"decision": ("outline",)}

    acts(story)


def test_a_file_that_takes_too_long_costs_nobody_the_message(acts: Acts, monkeypatch: pytest.MonkeyPatch) -> None:
    """Telegram makes a group wait between files; the message itself is there, and is brought to its outcome."""
    monkeypatch.setattr(runner, "PATIENCE_S", 1.0)
    monkeypatch.setattr(chat, "SEND_S", 0.5)

    async def story(stage: Stage) -> None:
        short = stage.house.nap

        async def nap(seconds: float) -> None:
            if seconds > 10:
                await asyncio.Event().wait()  # longer than anybody is patient
            await short(seconds)

        monkeypatch.setattr(stage.house, "nap", nap)
        stage.life()
        await stage.pair()
        stage.server.faults += [None, (429, 15)]
        await stage.house.ask(kind="plan", title="A plan", body="# The plan\n" + "a step\n" * 2000)
        message = await stage.prompt()
        await stage.see(lambda: "sendDocument" in stage.server.methods(), "the file")
        await stage.house.at_the_desk()
        await stage.see(lambda: not stage.server.labels(message), "no buttons any more")
        assert "Closed at the desk" in stage.text(message)

    acts(story)


def test_a_rule_that_wants_it_said_twice_is_heard(acts: Acts) -> None:
    async def story(stage: Stage) -> None:
        stage.life()
        await stage.pair()
        await stage.house.ask(needs_confirmation=True)
        message = await stage.prompt()
        query = stage.server.tap(message, "✅ Allow")
        assert "Tap again to confirm" in (await stage.toast(query))["text"]
        await stage.see(lambda: stage.server.labels(message) == ["Yes, I am sure", "Not yet"])
        assert stage.row().state == "open"
        stage.server.tap(message, "Not yet")
        await stage.see(lambda: "✅ Allow" in stage.server.labels(message))
        stage.server.tap(message, "✅ Always")
        await stage.see(lambda: "Yes, I am sure" in stage.server.labels(message))
        stage.server.tap(message, "Yes, I am sure")
        await stage.see(lambda: stage.row().state == "answering")
        answer = stage.row().answer
        assert answer is not None
        assert (answer.choices, answer.sure) == ({"decision": ("always",)}, True)

    acts(story)


HOSTILE = (
    "<b>x</b> *bold* [a](http://evil.example) @everyone /stop #tag `code` ```\npre\n``` \u202egnp.exe "
    "\0\x1b[31m ä€𝄞 \ud800 tg://user?id=1"
)


def test_what_the_model_writes_is_inert(acts: Acts) -> None:
    async def story(stage: Stage) -> None:
        stage.life()
        await stage.pair()
        clean = HOSTILE.replace("\ud800", "")
        options = tuple(Option(f"o{n}", f"{n} {clean}", "choose", clean) for n in range(3))
        await stage.house.ask(
            kind="question", title=clean, body=clean + "\n𝄞𝄞", questions=(Question("q" * 300, clean, options),),
            cwd=f"/home/me/shop {clean.replace('/', '')}",
        )  # fmt: skip
        (message,) = await stage.see(lambda: stage.prompts())
        units = message["text"].encode("utf-16-le")
        outside, at = "", 0
        for entity in message["entities"]:
            if entity["type"] in ("code", "pre"):
                outside += units[at * 2 : entity["offset"] * 2].decode("utf-16-le")
                at = entity["offset"] + entity["length"]
        outside += units[at * 2 :].decode("utf-16-le")
        assert not set("<>@/#*`") & set(outside), outside
        assert "\u202e" not in message["text"]
        assert not stage.server.labels(message["message_id"]), "nobody chooses what cannot be seen as it is"

    acts(story)


def test_questions_that_changed_since_are_not_answered_by_an_old_button(acts: Acts) -> None:
    async def story(stage: Stage) -> None:
        stage.life()
        await stage.pair()
        await stage.house.ask()
        message = await stage.prompt()
        data = stage.server.keyboard(message)[0][0]["callback_data"]
        other = Question("decision", "Delete everything?", (replace(ALLOW, label="Delete"), DENY, ALWAYS))
        await stage.house.post(HolderLost(stage.house.clock(), "p1", "its hook has left"))
        await stage.house.post(DialogReached(stage.house.clock(), "p1", "screen", (other,), "r"))
        toast = await stage.toast(stage.server.press(message, data))
        assert "changed" in toast["text"]
        assert stage.row().state == "open"
        await stage.see(lambda: stage.server.labels(message) == ["❌ Deny"], "what the tool gets is not known")
        stage.server.tap(message, "❌ Deny")
        await stage.see(lambda: stage.row().state == "answering")

    acts(story)


def test_what_was_chosen_for_other_questions_is_not_part_of_the_answer(acts: Acts) -> None:
    """The message is brought to the new questions by itself; what was ticked before was an answer to others."""

    async def story(stage: Stage) -> None:
        stage.life()
        await stage.pair()
        sort = Question("q1", "Keep which one?", (Option("a", "Apples", "choose"), Option("b", "Pears", "choose")))
        size = Question("q2", "How many?", (Option("f", "Few", "choose"), Option("m", "Many", "choose")))
        await stage.house.ask(kind="question", title="Fruit", questions=(sort, size))
        message = await stage.prompt()
        stage.server.tap(message, "○ Apples")
        await stage.see(lambda: "2 of 2: How many?" in stage.text(message))
        other = replace(sort, text="Throw away which one?")
        await stage.house.post(HolderLost(stage.house.clock(), "p1", "its hook has left"))
        await stage.house.post(DialogReached(stage.house.clock(), "p1", "screen", (other, size), "r"))
        await stage.see(lambda: "1 of 2: Throw away which one?" in stage.text(message), "the new question")
        assert "○ Apples" in stage.server.labels(message), "nothing is chosen yet"

    acts(story)


def test_titles_only_says_no_word_of_the_agent_and_has_only_a_no(acts: Acts) -> None:
    async def story(stage: Stage) -> None:
        stage.life(Notify(titles_only=True))
        await stage.pair()
        asked = Question("decision", "May it deploy?", (ALLOW, DENY), free_text=True)
        await stage.house.ask(title="deploy everything", body="deploy everything", questions=(asked,))
        message = await stage.prompt()
        assert "deploy" not in stage.text(message)
        assert stage.server.labels(message) == ["❌ Deny"]
        await stage.house.settled()
        await stage.house.stop()
        stage.life(Notify(titles_only=True))
        stage.server.say("soon", reply_to=message)
        await stage.see(lambda: "editMessageText" in stage.server.methods())
        assert "deploy" not in stage.text(message), "nor after a restart"
        stage.server.tap(message, "❌ Deny")
        await stage.see(lambda: stage.row().state == "answering")

    acts(story)


def test_a_tap_told_twice_and_a_tap_pressed_twice_are_one_answer(acts: Acts) -> None:
    async def story(stage: Stage) -> None:
        stage.life()
        await stage.pair()
        await stage.house.ask()
        message = await stage.prompt()
        data = stage.server.keyboard(message)[0][0]["callback_data"]
        stage.server.press(message, data)
        second = stage.server.press(message, data)
        assert "Already answered by Ada" in (await stage.toast(second))["text"]
        stage.server.again()
        await stage.house.stop()
        stage.keep.facts.pop("offset")  # as if the power had gone before it was written down
        stage.life()
        polls = stage.server.polls
        await stage.see(lambda: stage.server.polls > polls + 1)
        assert (
            sum(
                1
                for moment in stage.row().history
                if moment.state == "answering" and not moment.detail.startswith("too late")
            )
            == 1
        )

    acts(story)


def test_an_instruction_whose_end_nobody_saw_is_not_repeated(acts: Acts) -> None:
    async def story(stage: Stage) -> None:
        stage.life()
        await stage.pair()
        stage.server.say("/invite")
        await stage.see(lambda: sum("once" in m["text"] for m in stage.server.shown()) == 1)
        await stage.see(lambda: not any(name.startswith("u:") for name in stage.keep.facts))
        await stage.house.stop()
        offset = int(stage.keep.facts["offset"])
        stage.keep.facts["offset"] = str(offset - 1).encode()
        stage.server.again()
        stage.life()
        await stage.see(lambda: any("restarted" in m["text"] for m in stage.server.shown()))
        assert sum("once" in m["text"] for m in stage.server.shown()) == 1

    acts(story)


def test_an_old_instruction_is_asked_for_again(acts: Acts) -> None:
    async def story(stage: Stage) -> None:
        stage.life()
        await stage.pair()
        stage.server.say("/invite", ago=3600)
        await stage.see(lambda: any("was away" in m["text"] for m in stage.server.shown()))

    acts(story)


def test_faults_on_the_way_show_it_once_and_bring_it_to_its_end(acts: Acts) -> None:
    async def story(stage: Stage) -> None:
        stage.life()
        await stage.pair()
        stage.server.faults += [(502, "Bad Gateway"), (429, 1)]
        stage.server.poll_faults += [
            "drop",
            502,
            (409, "Conflict: terminated by other getUpdates request"),
            (429, 1),
        ]
        await stage.house.ask()
        message = await stage.prompt()
        stage.server.faults += ["drop", (429, 1), (500, "Internal")]
        await stage.house.at_the_desk()
        await stage.see(lambda: "Closed at the desk" in stage.text(message))
        assert len(stage.prompts()) == 1

    acts(story)


def test_who_blocks_the_bot_is_forgotten_and_a_group_that_moved_is_followed(acts: Acts) -> None:
    async def story(stage: Stage) -> None:
        stage.life()
        await stage.pair()
        stage.server.say("/invite")
        said = await stage.see(lambda: [m["text"] for m in stage.server.shown() if "once" in m["text"]])
        stage.server.say(said[0].splitlines()[1], chat=-5, user=7, kind="group")
        await stage.see(lambda: len(stage.channel.targets()) == 2)
        stage.server.blocked.add(7)
        stage.server.moved[-5] = -1005
        stage.server.chats[-1005] = {"type": "supergroup"}
        await stage.house.ask()
        message = await stage.prompt(-1005)
        await stage.see(lambda: list(stage.channel.targets()) == ["-1005"])
        await stage.house.at_the_desk()
        await stage.see(lambda: "Closed at the desk" in stage.text(message, -1005))

    acts(story)


def test_a_group_with_topics_has_one_for_each_project(acts: Acts) -> None:
    async def story(stage: Stage) -> None:
        stage.life()
        await stage.pair(chat=-100, kind="supergroup", forum=True)
        await asyncio.gather(*(stage.house.ask(f"p{n}") for n in range(3)))
        await stage.see(lambda: len(stage.prompts(-100)) == 3)
        assert list(stage.server.topics.values()) == ["shop"]
        ((_, thread),) = stage.server.topics
        assert {m["message_thread_id"] for m in stage.prompts(-100)} == {thread}
        stage.server.topics.clear()
        await stage.house.ask("p9")
        await stage.see(lambda: len(stage.prompts(-100)) == 4)
        await stage.house.ask("p10")
        await stage.see(lambda: len(stage.prompts(-100)) == 5)
        assert list(stage.server.topics.values()) == ["shop"], "a topic that was deleted is made anew"

    acts(story)


def test_without_the_right_to_make_topics_it_is_told_in_general(acts: Acts) -> None:
    async def story(stage: Stage) -> None:
        stage.server.may_make_topics = False
        stage.life()
        await stage.pair(chat=-100, kind="supergroup", forum=True)
        await stage.house.ask()
        message = await stage.prompt(-100)
        assert "message_thread_id" not in stage.server.messages[-100, message]

    acts(story)


def test_the_token_is_in_no_log_and_no_problem(acts: Acts, caplog: pytest.LogCaptureFixture) -> None:
    logging.getLogger("httpx").setLevel(logging.WARNING)  # as the daemon sets it

    async def story(stage: Stage) -> None:
        runner = stage.life()
        await stage.pair()
        stage.server.poll_faults += [(401, "Unauthorized"), (404, "Not Found"), "drop"]
        stage.server.faults += ["drop", (400, "Bad Request: something new")]
        await stage.house.ask()
        await stage.see(lambda: runner.conditions.get("telegram") and runner.conditions["telegram"].problem)
        stage.server.hang_up()
        await stage.house.ask("p2")
        await stage.see(lambda: "reached" in runner.conditions["telegram"].problem)
        secret = TOKEN.partition(":")[2]
        assert secret not in caplog.text
        assert secret not in runner.conditions["telegram"].problem

    with caplog.at_level(logging.INFO):
        acts(story)


def test_a_late_tick_never_covers_the_outcome(acts: Acts) -> None:
    async def story(stage: Stage) -> None:
        stage.life()
        await stage.pair()
        boxes = tuple(Option(f"o{n}", f"Box {n}", "choose") for n in range(6))
        asked = Question("q1", "Which?", boxes, multi_select=True)
        await stage.house.ask(kind="question", title="Boxes", questions=(asked,))
        message = await stage.prompt()
        for n in range(6):
            stage.server.tap(message, f"☐ Box {n}")
        await stage.see(lambda: "☑ Box 0" in stage.server.labels(message))
        await stage.house.at_the_desk()
        await stage.see(lambda: "Closed at the desk" in stage.text(message))
        await stage.see(lambda: len(stage.server.toasts) == 6)
        await stage.house.settled()
        assert "Closed at the desk" in stage.text(message)
        assert not stage.server.keyboard(message)
        assert not [name for name in stage.keep.facts if name.startswith("d:")], "the draft goes with it"

    acts(story)


def test_a_denial_on_any_page_answers_the_whole(acts: Acts) -> None:
    async def story(stage: Stage) -> None:
        stage.life()
        await stage.pair()
        name = Question("name", "Name", free_text=True)
        action = Question("action", "What shall it be told?", (Option("ok", "Send", "allow_once"), DENY))
        await stage.house.ask(kind="elicitation", title="A form", questions=(action, name))
        message = await stage.prompt()
        stage.server.tap(message, "❌ Deny")
        await stage.see(lambda: stage.row().state == "answering")
        answer = stage.row().answer
        assert answer is not None
        assert answer.choices == {"action": ("deny",)}

    acts(story)


def test_what_is_only_at_the_desk_has_no_button_and_says_so(acts: Acts) -> None:
    async def story(stage: Stage) -> None:
        stage.life()
        await stage.pair()
        await stage.house.ask(answerable=False)
        message = await stage.prompt()
        assert "only be answered at the desk" in stage.text(message)
        assert not stage.server.keyboard(message)
        stage.server.say("yes", reply_to=message)
        await stage.see(
            lambda: sum("only be answered at the desk" in m["text"] for m in stage.server.shown()) == 2
        )

    acts(story)


def test_a_send_whose_end_nobody_saw_is_not_repeated_and_its_buttons_work(acts: Acts) -> None:
    async def story(stage: Stage) -> None:
        stage.life()
        await stage.pair()
        stage.server.lost.append("sendMessage")
        await stage.house.ask()
        message = await stage.prompt()
        await stage.see(lambda: [row.state for row in stage.house.store.receipts()] == ["shown"])
        await stage.house.settled()
        stage.server.tap(message, "✅ Allow")
        await stage.see(lambda: stage.row().state == "answering")
        assert len(stage.prompts()) == 1

    acts(story)


def test_nonsense_from_outside_is_passed_over(acts: Acts) -> None:
    async def story(stage: Stage) -> None:
        stage.life()
        await stage.pair()
        await stage.house.ask()
        message = await stage.prompt()
        for data in ("", "x", "a.b.c.d", "." * 60, f"{'0' * 16}.{'0' * 10}.c.1"):
            assert "too old" in (await stage.toast(stage.server.press(message, data)))["text"]
        key = stage.server.keyboard(message)[0][0]["callback_data"].rpartition(".c.")[0]
        for rest in ("c.0000000000", "t.0000000000", "p.99999", "n.", "s.", "y."):
            await stage.toast(stage.server.press(message, f"{key}.{rest}"))
        with stage.server._lock:
            stage.server._update({"message": {"message_id": "no number"}})
            stage.server._update({"poll": {"id": "1"}})
        stage.server.say("/list@another_bot")
        stage.server.say("/help@my_yourcall_bot")
        await stage.see(lambda: any("/interrupt" in m["text"] for m in stage.server.shown()))
        assert stage.row().state == "open"
        assert {each["command"] for each in stage.server.commands} >= {
            "list", "start", "resume", "steer", "interrupt", "mode", "pause",
        }  # fmt: skip

    acts(story)


def test_a_running_turn_is_one_message_that_grows_and_survives_a_restart(acts: Acts) -> None:
    async def story(stage: Stage) -> None:
        house, record = stage.house, stage.house.folder / "s1.jsonl"
        record.write_text("")

        def writes(**block: Any) -> None:
            line = {"type": "assistant", "message": {"role": "assistant", "content": [block]}}
            with record.open("a") as file:
                file.write(json.dumps(line) + "\n")

        async def is_now(state: Any) -> None:
            session = Session("s1", "claude", "/home/me/shop", state=state, transcript=str(record))
            await house.post(SessionSeen(house.clock(), session))

        def turns() -> list[str]:
            return [
                m["text"] for m in stage.server.shown() if m["text"].startswith(("Working in", "Turn over in"))
            ]

        started = StdioSessions(house, AGENTS, Policy())  # type: ignore[arg-type]
        stage.desk = ChannelContext(house.loop, None, started, None, Conversations(AGENTS.get))  # type: ignore[arg-type]
        stage.life(Notify(digest_s=0))
        await stage.pair()
        writes(type="text", text="From an earlier turn.")
        nexts = (Question("next", "What next?", free_text=True),)
        await house.ask("r1", kind="ready", title="Ready", body="Done.", questions=nexts)
        await is_now("waiting")
        stage.server.say("now the docs", reply_to=await stage.prompt())
        await stage.see(lambda: stage.row("r1").state == "answering")
        await is_now("working")
        writes(type="tool_use", id="t1", name="Bash", input={"command": "npm test --token abcdefgh @here"})
        await stage.see(lambda: turns() and "… Bash: npm test --token •••" in turns()[0], "the first step")
        await stage.see(lambda: any(b'"message_id":1' in fact for fact in stage.keep.facts.values()), "on record")
        await house.stop()
        stage.life(Notify(digest_s=0))
        writes(type="text", text="It is deployed.")
        await stage.see(lambda: "It is deployed." in turns()[0], "more of it")
        assert turns()[0].startswith("Working in shop")
        assert "abcdefgh" not in turns()[0]
        stage.server.faults.append((429, 1))
        await is_now("idle")
        await stage.see(lambda: turns()[0].startswith("Turn over in shop"), "its end")
        assert len(turns()) == 1
        assert "earlier turn" not in turns()[0]
        assert "It is deployed." in turns()[0]
        await stage.see(lambda: not any(name.startswith("f:") for name in stage.keep.facts), "followed no more")

    acts(story)
