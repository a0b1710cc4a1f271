"""The same stories on every chat platform, each with its real client library against a strict stand-in: pairing,
prompts, taps, words, outcomes, faults, and who is not heard.
"""

from __future__ import annotations

import asyncio
import json
import logging
import time
from typing import Any

import pytest
from channel_house import ALLOW, ALWAYS, DENY
from chat_stage import CODE, Chats, Stage

from kit.chat_people import GROUP
from yourcall.channels.chat.files import FORWARDED
from yourcall.channels.chat.tap_timing import AWAY, CHANGED
from yourcall.channels.context import ChannelContext
from yourcall.core.notify_policy import Notify
from yourcall.daemon.run import AGENTS
from yourcall.links.conversations import Conversations
from yourcall.links.stdio.sessions import Policy, StdioSessions
from yourcall.model.events import AnswerNotWritten, AnswerWritten, CallSettled, DialogClosed, SessionSeen
from yourcall.model.prompts import Option, Question, Verdict
from yourcall.model.sessions import Session
from yourcall.server.api.uploads import Uploads

BOXES = tuple(Option(f"o{n}", f"Box {n}", "choose") for n in range(3))


class Ear:
    """What is said to sessions, and what they are told to do."""

    def __init__(self) -> None:
        self.heard: list[tuple[str, str]] = []
        self.stopped: list[str] = []

    async def send(self, session: Session, text: str, as_command: bool, /) -> Any:
        self.heard.append((session.id, text))
        return Verdict("confirmed")

    async def interrupt(self, session: Session, /) -> Any:
        self.stopped.append(session.id)
        return Verdict("confirmed")


def desk_of(stage: Stage, voice: Any = None) -> ChannelContext:
    house = stage.house
    started = StdioSessions(house, AGENTS, Policy())  # type: ignore[arg-type]
    return ChannelContext(
        house.loop, voice, started, None, Conversations(AGENTS.get), Uploads(house.folder / "uploads")
    )


async def spoken_to(stage: Stage, ear: Ear, state: Any = "idle") -> None:
    """Ada has paired, and a session is there to speak to."""
    stage.desk = desk_of(stage, ear)
    stage.life(progress=False)
    await stage.pair()
    session = Session("s1", "claude", "/home/me/shop", state=state, started_at=1)
    await stage.house.post(SessionSeen(stage.house.clock(), session))


# --- prompts and their outcomes ----------------------------------------------------------------------------------


def test_a_prompt_has_buttons_and_is_edited_to_its_outcome(chats: Chats) -> None:
    async def story(stage: Stage) -> None:
        stage.life()
        await stage.pair()
        await stage.house.ask(title="npm test", body="npm test")
        message = await stage.prompt()
        assert "npm test" in stage.text(message)
        assert stage.labels(message) == ["✅ Allow", "✅ Always", "❌ Deny"]
        await stage.tap(message, "✅ Allow")
        await stage.see(lambda: stage.row().state == "answering", "the answer")
        answer = stage.row().answer
        assert answer is not None
        assert (answer.via, answer.choices) == (stage.people.name, {"decision": ("allow",)})
        assert answer.by.startswith("Ada")
        await stage.see(lambda: "Sending (Ada" in stage.text(message))
        await stage.see(lambda: not stage.labels(message), "no buttons any more")
        assert "Done" not in stage.text(message)
        await stage.house.post(AnswerWritten(stage.house.clock(), "p1", answer.id))
        await stage.house.post(DialogClosed(stage.house.clock(), "p1", "busy"))
        await stage.see(lambda: "Taken (Ada" in stage.text(message))
        await stage.house.post(CallSettled(stage.house.clock(), "p1", "allowed", "held"))
        await stage.see(lambda: "✓ Done (Ada" in stage.text(message))
        assert len(stage.prompts()) == 1

    chats(story)


def test_answered_elsewhere_it_is_withdrawn_within_a_second_and_a_late_tap_is_told(chats: Chats) -> None:
    async def story(stage: Stage) -> None:
        stage.life()
        await stage.pair()
        await stage.house.ask()
        message = await stage.prompt()
        data = stage.data(message, "✅ Allow")
        began = time.monotonic()
        await stage.house.at_the_desk()
        await stage.see(lambda: "Closed at the desk" in stage.text(message))
        assert time.monotonic() - began < 1, "a busy machine included"
        await stage.see(lambda: not stage.labels(message))
        await stage.press(message, data)
        await stage.told("Already closed at the desk.")

    chats(story)


def test_an_answer_that_came_back_is_told_aloud_and_its_buttons_are_back(chats: Chats) -> None:
    async def story(stage: Stage) -> None:
        stage.life()
        await stage.pair()
        await stage.house.ask()
        message = await stage.prompt()
        await stage.tap(message, "✅ Allow")
        await stage.see(lambda: stage.row().answer)
        answer = stage.row().answer
        assert answer is not None
        await stage.house.post(AnswerNotWritten(stage.house.clock(), "p1", answer.id, "the hook has left"))
        await stage.see(lambda: "An answer came back: the hook has left" in stage.text(message))
        await stage.told("Answer the message above again.")
        await stage.see(lambda: "❌ Deny" in stage.labels(message))
        await stage.settled()
        await stage.tap(message, "❌ Deny")
        await stage.see(lambda: stage.row().state == "answering")

    chats(story)


def test_two_people_are_told_and_the_first_answer_is_everybodys(chats: Chats) -> None:
    async def story(stage: Stage) -> None:
        stage.life()
        await stage.pair()
        await stage.pair("bob", code=await stage.invited())
        await stage.house.ask()
        ada, bob = await stage.prompt(), await stage.prompt(user="bob")
        late = stage.data(bob, "✅ Allow", user="bob")
        await stage.tap(ada, "❌ Deny")
        await stage.see(lambda: "Sending (Ada" in stage.text(bob, user="bob"), "withdrawn for Bob as well")
        await stage.see(lambda: not stage.labels(bob, user="bob"))
        await stage.press(bob, late, user="bob")
        await stage.told("Already answered by Ada", "bob")

    chats(story)


def test_a_reminder_is_a_new_message_and_the_old_one_says_so(chats: Chats) -> None:
    async def story(stage: Stage) -> None:
        stage.life(Notify(repeat_s=60, repeats=1))
        await stage.pair()
        await stage.house.ask()
        first = await stage.prompt()
        await stage.house.settled()
        stage.house.later(61)
        await stage.see(lambda: len(stage.prompts()) == 2)
        second = stage.prompts()[1].id
        assert stage.text(second).startswith("Again: ")
        await stage.see(lambda: "Asked again below" in stage.text(first))
        await stage.see(lambda: not stage.labels(first))
        await stage.settled()
        await stage.tap(second, "❌ Deny")
        await stage.see(lambda: stage.row().state == "answering")

    chats(story)


def test_a_message_that_a_person_deleted_is_no_trouble(chats: Chats) -> None:
    async def story(stage: Stage) -> None:
        runner = stage.life()
        await stage.pair()
        await stage.house.ask()
        message = await stage.prompt()
        await stage.house.settled()
        stage.people.delete(message)
        await stage.house.at_the_desk()
        await stage.see(lambda: not stage.house.store.receipts())
        assert runner.conditions[stage.people.name].problem == ""

    chats(story)


# --- who is heard ------------------------------------------------------------------------------------------------


def test_only_a_code_lets_in_and_only_once(chats: Chats) -> None:
    async def story(stage: Stage) -> None:
        stage.life()
        await stage.listens()
        stage.say("hello?", user="bob")
        await stage.told("private", "bob")
        stage.say("hello?", user="bob")
        stage.say("/pair WRON-GONE", user="bob")
        await stage.told("wrong", "bob")
        assert len(stage.people.shown(user="bob")) == 2, "told once that it is private"
        await stage.pair()
        stage.say(f"/pair {CODE}", user="bob")
        await stage.told("used before", "bob", times=2)
        assert len(stage.channel.targets()) == 1
        await stage.pair("bob", code=await stage.invited())
        assert len(stage.channel.targets()) == 2
        stage.say("/unpair", user="bob")
        await stage.see(lambda: len(stage.channel.targets()) == 1)
        await stage.told("Forgotten", "bob")
        assert list(stage.channel.people()) == [stage.people.person("ada")], "a private chat is its person"

    chats(story)


def test_a_stranger_who_guesses_keeps_nobody_out_and_is_not_told_each_time(chats: Chats) -> None:
    async def story(stage: Stage) -> None:
        stage.life()
        await stage.listens()
        for number in range(31):
            stage.say(f"/pair AAAA-{number:04}", user="eve")
        stage.say(f"/pair {CODE}", user="eve")
        await stage.pair()
        assert list(stage.channel.people()) == [stage.people.person("ada")]
        assert not any("Too many" in each for each in stage.people.told("eve")), "it was told that it is wrong"

    chats(story)


def test_one_person_is_unpaired_with_their_private_chat(chats: Chats) -> None:
    async def story(stage: Stage) -> None:
        stage.life()
        await stage.pair()
        later = await stage.invited()
        await stage.pair("bob", code=await stage.invited())
        await stage.channel.unpair(stage.people.person("bob"))
        assert len(stage.channel.targets()) == 1
        await stage.house.ask()
        message = await stage.prompt()
        assert not stage.prompts(user="bob")
        await stage.press(message, stage.data(message, "✅ Allow"), user="bob")
        stage.say(f"/pair {later}", user="bob")
        await stage.told("wrong", "bob")
        assert stage.row().state == "open"

    chats(story)


def test_a_stranger_in_a_paired_group_taps_and_speaks_in_vain(chats: Chats) -> None:
    async def story(stage: Stage) -> None:
        ear = Ear()
        stage.desk = desk_of(stage, ear)
        stage.life(progress=False)
        await stage.pair()
        await stage.pair(where=GROUP, code=await stage.invited())
        await stage.house.ask()
        message = await stage.prompt(GROUP)
        await stage.tap(message, "✅ Allow", user="eve", where=GROUP)
        await stage.told("You are not paired", "eve", GROUP)
        shown = len(stage.people.shown(GROUP))
        for words in ("/pause", "/list", "/steer shop rm -rf ~", f"/pair {CODE}"):
            stage.say(words, user="eve", where=GROUP)
        stage.say("yes", user="eve", where=GROUP, reply_to=message)
        stage.say("/list", user="ada", where=GROUP)
        await stage.told("1. shop", where=GROUP)
        said = stage.people.shown(GROUP)[shown:]
        assert [each.text.split()[0] for each in said] in (["1."], ["This", "1."]), [each.text for each in said]
        assert stage.row().state == "open"
        assert not ear.heard

    chats(story)


def test_a_code_is_given_in_private_only(chats: Chats) -> None:
    async def story(stage: Stage) -> None:
        stage.life()
        await stage.pair()
        await stage.pair(where=GROUP, code=await stage.invited())
        stage.say("/invite", where=GROUP)
        said = await stage.told("in a private chat", where=GROUP)
        assert f"{stage.people.sign}pair " not in said
        assert json.loads(stage.keep.facts["invites"]) == [], "there is none"

    chats(story)


def test_what_is_forwarded_is_not_the_persons_own_word(chats: Chats) -> None:
    async def story(stage: Stage) -> None:
        ear = Ear()
        await spoken_to(stage, ear)
        stage.say("/steer shop rm -rf ~", forwarded=True)
        await stage.told(FORWARDED.split(":")[0])
        stage.say("/steer shop go on")
        await stage.see(lambda: ear.heard)
        assert ear.heard == [("s1", "go on")]

    chats(story)


def test_bots_are_not_heard(chats: Chats) -> None:
    async def story(stage: Stage) -> None:
        ear = Ear()
        await spoken_to(stage, ear)
        stage.say("/steer shop rm -rf ~", bot=True)
        stage.say("/steer shop go on")
        await stage.see(lambda: ear.heard)
        assert ear.heard == [("s1", "go on")]

    chats(story)


# --- what is answered --------------------------------------------------------------------------------------------


def test_words_answer_a_question_and_go_along_with_a_decision(chats: Chats) -> None:
    async def story(stage: Stage) -> None:
        stage.life()
        await stage.pair()
        free = Question("decision", "May it?", (ALLOW, DENY), free_text=True)
        await stage.house.ask(questions=(free,))
        message = await stage.prompt()
        stage.say("use yarn & <b>", reply_to=message)
        await stage.see(lambda: "Your words: use yarn & <b>" in stage.text(message))
        assert stage.row().state == "open", "words alone are no yes and no no"
        await stage.settled()
        await stage.tap(message, "❌ Deny")
        await stage.see(lambda: stage.row().state == "answering")
        answer = stage.row().answer
        assert answer is not None
        assert (answer.choices, answer.texts) == ({"decision": ("deny",)}, {"decision": "use yarn & <b>"})

        ask = Question("q1", "Which colour?", (Option("r", "Red", "choose"),), free_text=True)
        await stage.house.ask("p2", kind="question", title="Which colour?", questions=(ask,))
        await stage.see(lambda: len(stage.prompts()) == 2)
        stage.say("a warm grey", reply_to=stage.prompts()[1].id)
        await stage.see(lambda: stage.row("p2").state == "answering")
        answer = stage.row("p2").answer
        assert answer is not None
        assert answer.texts == {"q1": "a warm grey"}

    chats(story)


def test_several_questions_are_pages_with_boxes_and_survive_a_restart(chats: Chats) -> None:
    async def story(stage: Stage) -> None:
        stage.life()
        await stage.pair()
        one = Question("q1", "Which colour?", (Option("r", "Red", "choose"), Option("g", "Green", "choose")))
        many = Question(
            "q2", "Which sizes?", tuple(Option(s, s.upper(), "choose") for s in ("s", "m", "l")), multi_select=True
        )
        words = Question("q3", "Whose name?", free_text=True)
        await stage.house.ask(kind="question", title="Some things", questions=(one, many, words))
        message = await stage.prompt()
        assert "1 of 3: " in stage.text(message)

        async def tap(label: str, then: str) -> None:
            await stage.see(lambda: label in stage.labels(message), label)
            await stage.settled()
            await stage.tap(message, label)
            await stage.see(lambda: then in stage.text(message) or then in stage.labels(message), then)

        await tap("○ Green", "2 of 3: ")
        await tap("☐ S", "☑ S")
        await tap("☐ L", "☑ L")
        await stage.house.settled()
        await stage.house.stop()
        stage.life()
        await stage.listens()
        await tap("☑ S", "☐ S")
        await tap("Next ›", "3 of 3: ")
        await stage.see(lambda: "Submit" in stage.labels(message))
        await stage.settled()
        await stage.tap(message, "Submit")
        await stage.told("Not sent: 'Whose name?' is not answered")
        assert stage.row().state == "open"
        stage.say("Ada's", reply_to=message)
        await stage.see(lambda: "Your words: Ada's" in stage.text(message))
        await stage.settled()
        await stage.tap(message, "Submit")
        await stage.see(lambda: stage.row().state == "answering")
        answer = stage.row().answer
        assert answer is not None
        assert answer.choices == {"q1": ("g",), "q2": ("l",)}
        assert answer.texts == {"q3": "Ada's"}

    chats(story)


def test_what_is_dangerous_is_said_twice(chats: Chats) -> None:
    async def story(stage: Stage) -> None:
        stage.life()
        await stage.pair()
        await stage.house.ask(title="rm -rf build", body="rm -rf build")
        message = await stage.prompt()
        await stage.tap(message, "✅ Allow")
        await stage.see(lambda: "Are you sure?" in stage.text(message))
        await stage.see(lambda: stage.labels(message) == ["Yes, I am sure", "Not yet"])
        await stage.settled()
        once = stage.data(message, "Yes, I am sure")
        await stage.tap(message, "Not yet")
        await stage.see(lambda: "✅ Always" in stage.labels(message))
        await stage.settled()
        await stage.press(message, once)
        assert stage.row().state == "open", "it was taken back"
        await stage.tap(message, "✅ Always")
        await stage.see(lambda: "Yes, I am sure" in stage.labels(message))
        await stage.settled()
        await stage.press(message, once)
        stage.house.ahead += 5
        assert stage.row().state == "open", "a yes to once is none to always"
        await stage.see(lambda: "Yes, I am sure" in stage.labels(message))
        await stage.settled()
        await stage.tap(message, "Yes, I am sure")
        await stage.see(lambda: stage.row().state == "answering")
        answer = stage.row().answer
        assert answer is not None
        assert (answer.choices, answer.sure) == ({"decision": ("always",)}, True)

    chats(story)


def test_a_digest_is_not_answered_and_one_alone_takes_the_next_instruction(chats: Chats) -> None:
    async def story(stage: Stage) -> None:
        stage.life(Notify(digest_s=0))
        await stage.pair()
        asks = {"kind": "ready", "title": "Ready", "questions": (Question("next", "What next?", free_text=True),)}
        await stage.house.ask("r1", body="All done @here.", **asks)
        message = await stage.prompt()
        stage.say("now the docs", reply_to=message)
        await stage.see(lambda: stage.row("r1").state == "answering")
        answer = stage.row("r1").answer
        assert answer is not None
        assert answer.texts == {"next": "now the docs"}
        await stage.house.stop()
        for n in (2, 3):
            await stage.house.ask(f"r{n}", session_id=f"s{n}", body=f"Turn {n} is over.", **asks)
        stage.life(Notify(digest_s=0))
        (digest,) = await stage.see(lambda: [m for m in stage.people.shown() if "2 sessions" in m.text])
        stage.say("go on", reply_to=digest.id)
        await stage.told("Several sessions")
        assert stage.row("r2").state == stage.row("r3").state == "open"

    chats(story)


# --- what is shown -----------------------------------------------------------------------------------------------


def test_a_long_plan_comes_as_a_file_and_is_not_approved_under_its_beginning(chats: Chats) -> None:
    async def story(stage: Stage) -> None:
        stage.life()
        await stage.pair()
        options = (Option("approve", "Approve", "allow_once"), Option("revise", "Deny", "deny"))
        plan = "# The plan\n" + "\n".join(f"{n}. step ä𝄞" for n in range(600))
        asked = Question("decision", "Approve this plan?", options, free_text=True)
        await stage.house.ask(kind="plan", title="A plan", body=plan, questions=(asked,))
        message = await stage.prompt()
        assert stage.labels(message) == ["❌ Deny"]
        assert "Not all of it is shown here" in stage.text(message)
        (file,) = await stage.see(lambda: stage.people.sent_files)
        assert (file["name"], file["text"], file["of"]) == ("plan.md", plan, message)

    chats(story)


@pytest.mark.parametrize(
    "command",
    [
        "npm test --token abcdefgh",
        "npm test -- " + "x" * 5000,
        "npm test\u200b",
        "npm test" + "\n" * 20 + "./evil",
    ],
    ids=["masked", "cut", "invisible", "far below"],
)
def test_what_is_shown_in_part_has_no_yes(chats: Chats, command: str) -> None:
    async def story(stage: Stage) -> None:
        stage.life(url="https://desk.example.net")
        await stage.pair()
        await stage.house.ask(title=command.split("\n")[0][:200], body=command, command=command)
        message = await stage.prompt()
        assert [label for label in stage.labels(message) if "Open" not in label] == ["❌ Deny"]
        assert "desk.example.net/#/p/p1" in str(stage.at(message)), "it can be opened"
        assert "Not all of it is shown here" in stage.text(message)
        assert "abcdefgh" not in stage.text(message)

    chats(story)


def test_titles_only_says_no_word_of_the_agents(chats: Chats) -> None:
    async def story(stage: Stage) -> None:
        stage.life(Notify(titles_only=True))
        await stage.pair()
        await stage.house.ask(title="cat the-secret-plan", body="cat the-secret-plan")
        message = await stage.prompt()
        assert stage.labels(message) == ["❌ Deny"]
        stage.say("/list")
        await stage.told("asks for permission", times=2)
        assert not any("secret-plan" in each for each in stage.people.told())

    chats(story)


HOSTILE = (
    "<b>x</b> *bold* _it_ ~s~ __u__ ||spoiler|| [a](http://evil.example) @everyone @here <!channel> <@U0ADA> "
    "<@7> <#C0GROUP> <http://evil.example|ok> @ada:example.org #room:example.org /stop !stop #tag `code` "
    "```\npre\n``` ``` > quote\n# head\n- list \u202egnp.exe \0\x1b[31m ä€𝄞 \ud800 :smile: <t:0> <a:x:1> "
    "&amp; &lt;!here&gt; \\* https://evil.example/x matrix:r/room"
)


def test_what_the_model_writes_is_inert(chats: Chats) -> None:
    """Each stand-in refuses what would be parsed there, and reads it back as a person does."""

    async def story(stage: Stage) -> None:
        stage.life()
        await stage.pair()
        clean = HOSTILE.replace("\ud800", "")
        options = tuple(Option(f"o{n}", f"{n} {clean}", "choose", clean) for n in range(3))
        await stage.house.ask(
            kind="question", title=clean, body=clean + "\n𝄞𝄞", questions=(Question("q" * 300, clean, options),),
            cwd="/home/me/shop*_`@everyone`",
        )  # fmt: skip
        message = await stage.prompt()
        shown = stage.text(message)
        assert "<!channel> <@U0ADA> <@7> <#C0GROUP> <http://evil.example|ok>" in shown
        assert "*bold* _it_ ~s~ __u__ ||spoiler|| [a](http://evil.example) @everyone @here" in shown
        assert "&amp; &lt;!here&gt; \\*" in shown
        assert "<U+202E>gnp.exe" in shown
        await stage.house.at_the_desk()
        await stage.see(lambda: "Closed at the desk" in stage.text(message))

    chats(story)


def test_words_that_break_out_of_a_block_stay_in_it(chats: Chats) -> None:
    async def story(stage: Stage) -> None:
        stage.life()
        await stage.pair()
        for number, command in enumerate(
            ["echo ```", "```\n@everyone\n```", "echo `a` ``b`` ````c````", "`", "\\`"]
        ):
            await stage.house.ask(f"p{number}", title="npm test", body=command, command=command)
            await stage.see(lambda number=number: len(stage.prompts()) == number + 1)
            text = stage.prompts()[-1].text.replace("\u200b", "")
            assert command.strip() in text, (command, text)

    chats(story)


# --- what goes wrong ---------------------------------------------------------------------------------------------


def test_a_button_that_was_made_up_or_made_for_another_chat_answers_nothing(chats: Chats) -> None:
    async def story(stage: Stage) -> None:
        stage.life()
        await stage.pair()
        await stage.pair("bob", code=await stage.invited())
        await stage.house.ask()
        ada, bob = await stage.prompt(), await stage.prompt(user="bob")
        data = stage.data(ada, "✅ Allow")
        made_up = [
            data[:-1] + ("0" if data[-1] != "0" else "1"),
            data.replace(".c.", ".y."),
            "x",
            "a.b.c.d",
            "." * 60,
        ]
        known = [data for _, data in stage.at(ada).buttons]  # where buttons are words, they are the same for all
        for each in [*made_up, stage.data(bob, "✅ Allow", user="bob")]:
            if each not in known:
                await stage.press(ada, each)
        await stage.house.ask("p2", title="npm two")
        await stage.see(lambda: len(stage.prompts()) == 2)
        await stage.settled()
        await stage.tap(stage.prompts()[1].id, "❌ Deny")
        await stage.see(lambda: stage.row("p2").state == "answering", "taps are read in their order")
        assert stage.row().state == "open"

    chats(story)


def test_a_button_of_what_the_message_showed_before_is_refused(chats: Chats) -> None:
    async def story(stage: Stage) -> None:
        stage.life()
        await stage.pair()
        free = Question("decision", "May it?", (ALLOW, ALWAYS, DENY), free_text=True)
        await stage.house.ask(questions=(free,))
        message = await stage.prompt()
        before = stage.data(message, "✅ Allow")
        stage.say("use yarn", reply_to=message)
        await stage.see(lambda: "Your words: use yarn" in stage.text(message))
        await stage.settled()
        await stage.press(message, before)
        await stage.told(CHANGED)
        assert stage.row().state == "open"

    chats(story)


def test_a_restart_in_the_middle_edits_the_same_message(chats: Chats) -> None:
    async def story(stage: Stage) -> None:
        stage.life()
        await stage.pair()
        await stage.house.ask()
        message = await stage.prompt()
        await stage.house.settled()
        await stage.house.stop()
        stage.life()
        await stage.listens()
        await stage.tap(message, "✅ Allow")
        await stage.see(lambda: "Sending (Ada" in stage.text(message))
        assert len(stage.prompts()) == 1

    chats(story)


def test_faults_on_the_way_show_it_once_and_bring_it_to_its_end(chats: Chats) -> None:
    async def story(stage: Stage) -> None:
        stage.life()
        await stage.pair()
        stage.people.faults += [502, (429, 1)]
        await stage.house.ask()
        message = await stage.prompt()
        await stage.house.settled()
        stage.people.faults += ["drop", (429, 1), 503]
        await stage.house.at_the_desk()
        await stage.see(lambda: "Closed at the desk" in stage.text(message))
        assert len(stage.prompts()) == 1

    chats(story)


def test_a_line_that_breaks_loses_nothing_and_doubles_nothing(chats: Chats) -> None:
    async def story(stage: Stage) -> None:
        ear = Ear()
        await spoken_to(stage, ear)
        stage.say("/steer shop one")
        await stage.see(lambda: len(ear.heard) == 1)
        stage.people.cut()
        stage.say("/steer shop two")
        await stage.see(lambda: len(ear.heard) == 2, "what was said in between")
        stage.say("/steer shop three")
        await stage.see(lambda: len(ear.heard) == 3)
        stage.people.say_again()
        stage.say("/steer shop four")
        await stage.see(lambda: ear.heard[-1] == ("s1", "four"))
        assert [words for _, words in ear.heard] == ["one", "two", "three", "four"]

    chats(story)


def test_what_was_said_while_nobody_ran_is_heard_once_and_what_is_old_is_asked_for_again(chats: Chats) -> None:
    async def story(stage: Stage) -> None:
        ear = Ear()
        await spoken_to(stage, ear)
        stage.say("/steer shop one")
        await stage.see(lambda: len(ear.heard) == 1)
        await stage.see(lambda: not any(name.startswith("u:") for name in stage.keep.facts), "done with")
        await stage.house.stop()
        stage.say("/steer shop two")
        stage.house.ahead = 0.0
        stage.life(progress=False)
        await stage.see(lambda: len(ear.heard) == 2)
        await stage.house.stop()
        stage.say("/steer shop three")
        stage.house.ahead = 3600.0
        stage.life(progress=False)
        await stage.told("was away")
        assert [words for _, words in ear.heard] == ["one", "two"]

    chats(story)


def test_a_send_whose_end_nobody_saw_is_not_repeated_and_its_buttons_work(chats: Chats) -> None:
    async def story(stage: Stage) -> None:
        stage.life()
        await stage.pair()
        if stage.people.name == "telegram":
            stage.people.lost.append("sendMessage")
        else:
            stage.people.lost = 1
        await stage.house.ask()
        message = await stage.prompt()
        await stage.see(lambda: [row.state for row in stage.house.store.receipts()] == ["shown"])
        await stage.house.settled()
        if stage.labels(message):
            await stage.tap(message, "✅ Allow")
            await stage.see(lambda: stage.row().state == "answering")
        assert len(stage.prompts()) == 1

    chats(story)


def test_who_throws_the_bot_out_is_forgotten(chats: Chats) -> None:
    async def story(stage: Stage) -> None:
        stage.life()
        await stage.pair()
        await stage.pair("bob", code=await stage.invited())
        stage.people.close(user="bob")
        await stage.house.ask()
        await stage.prompt()
        await stage.see(lambda: len(stage.channel.targets()) == 1)

    chats(story)


def test_no_secret_is_in_a_log_or_a_problem(chats: Chats, caplog: pytest.LogCaptureFixture) -> None:
    logging.getLogger("httpx").setLevel(logging.WARNING)  # as the daemon sets it

    async def story(stage: Stage) -> None:
        runner = stage.life()
        await stage.pair()
        stage.people.cut()
        stage.people.faults += [500, (429, 1)]
        await stage.house.ask(title="npm test", body="npm test the-agents-words")
        await stage.prompt()
        stage.people.faults += ["drop", 500]
        await stage.house.at_the_desk()
        stage.say("the-persons-words")
        stage.people.hang_up()
        await stage.house.ask("p2")
        name = stage.people.name
        await stage.see(lambda: name in runner.conditions and "reached" in runner.conditions[name].problem)
        for secret in ("topic-secret", "the-agents-words", "the-persons-words", CODE):
            assert secret not in caplog.text
            assert secret not in runner.conditions[name].problem + stage.channel.deaf

    with caplog.at_level(logging.DEBUG):
        chats(story)


def test_a_tap_from_while_nobody_listened_answers_nothing(chats: Chats) -> None:
    async def story(stage: Stage) -> None:
        stage.life()
        await stage.pair()
        await stage.house.ask()
        message = await stage.prompt()
        await stage.house.settled()
        await stage.house.stop()
        stage.people.tap(message, "✅ Allow")
        if stage.people.name == "telegram":
            return  # its own test has its own time
        stage.life()
        if getattr(stage.people, "keeps_taps", False):
            await stage.told(AWAY)
        stage.say("/list")
        await stage.told("1. shop")
        assert stage.row().state == "open"

    chats(story)


# --- commands, files, turns --------------------------------------------------------------------------------------


def test_sessions_are_listed_steered_and_interrupted(chats: Chats) -> None:
    async def story(stage: Stage) -> None:
        ear = Ear()
        await spoken_to(stage, ear, "working")
        stage.say("/list")
        assert "shop" in await stage.told("1. ")
        stage.say("/steer 1 look at /etc/hosts & <this>")
        await stage.see(lambda: ear.heard == [("s1", "look at /etc/hosts & <this>")])
        stage.say("and /list it")
        await stage.see(lambda: ear.heard[1:] == [("s1", "and /list it")], "the session that was spoken to")
        stage.say("/interrupt")
        await stage.see(lambda: ear.stopped == ["s1"])
        stage.say("/help")
        sign = stage.people.sign
        assert f"{sign}interrupt: " in await stage.told(f"{sign}resume: ")

    chats(story)


def test_a_session_is_started_where_it_is_said(chats: Chats) -> None:
    class Starting:
        def __init__(self) -> None:
            self.begun: list[tuple[str, str, str]] = []

        async def offers(self) -> list[str]:
            return ["claude", "codex"]

        async def start(self, agent: str, wish: Any, /, *, remote: bool) -> str:
            assert remote
            self.begun.append((agent, wish.cwd, wish.prompt))
            return "s1"

    async def story(stage: Stage) -> None:
        starting = Starting()
        stage.desk = ChannelContext(stage.house.loop, None, starting)  # type: ignore[arg-type]
        stage.life(progress=False)
        await stage.pair()
        stage.say("/start codex /home/me/shop fix it")
        await stage.told("Started: s1")
        assert starting.begun == [("codex", "/home/me/shop", "fix it")]

    chats(story)


def test_a_file_is_the_next_instruction_with_its_words(chats: Chats) -> None:
    async def story(stage: Stage) -> None:
        ear = Ear()
        await spoken_to(stage, ear)
        sign = stage.people.sign
        stage.people.say(f"{sign}steer shop like this", file=("plan.png", b"\x89PNG large"))
        await stage.see(lambda: ear.heard)
        ((where, words),) = ear.heard
        assert where == "s1"
        assert words.startswith("like this\n\nThe file for this:\n")
        path = stage.house.folder / "uploads" / words.rpartition("/")[2]
        assert path.read_bytes() == b"\x89PNG large"

    chats(story)


def test_a_running_turn_is_one_message_that_grows(chats: Chats) -> None:
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
            return [m.text for m in stage.people.shown() if m.text.startswith(("Working in", "Turn over in"))]

        stage.desk = desk_of(stage, Ear())
        stage.life(Notify(digest_s=0))
        await stage.pair()
        await is_now("working")
        stage.say("/steer shop now the docs")
        await stage.told("Done")
        writes(type="tool_use", id="t1", name="Bash", input={"command": "npm test --token abcdefgh @here"})
        await stage.see(lambda: turns() and "… Bash: npm test --token •••" in turns()[0], "the first step")
        writes(type="text", text="It is deployed.")
        await stage.see(lambda: "It is deployed." in turns()[0], "more of it")
        await is_now("idle")
        await stage.see(lambda: turns()[0].startswith("Turn over in shop"), "its end")
        assert len(turns()) == 1

    chats(story)


def test_a_stop_in_the_middle_of_an_instruction_is_owned_up_to(chats: Chats) -> None:
    async def story(stage: Stage) -> None:
        class Stuck(Ear):
            async def send(self, session: Session, text: str, as_command: bool, /) -> Any:
                self.heard.append((session.id, text))
                await asyncio.Event().wait()

        ear = Stuck()
        await spoken_to(stage, ear)
        stage.say("/steer shop deploy")
        await stage.see(lambda: ear.heard)
        await stage.house.stop()
        stage.life(progress=False)
        await stage.told("restarted in the middle")
        await stage.listens()
        assert len(ear.heard) == 1

    chats(story)
