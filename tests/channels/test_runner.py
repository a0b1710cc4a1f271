"""The runner: told once, brought up to date, taken back; over faults, restarts and answers in the middle."""

from __future__ import annotations

import asyncio
import sqlite3
import time
from pathlib import Path

import pytest
from channel_house import Board, House, Lives, in_house
from msgspec.structs import replace

from yourcall.channels.channel import Carried, Failed, Gone, Later, Notice, Unclear
from yourcall.core.notify_policy import Notify
from yourcall.model.prompts import Receipt


def test_a_prompt_is_told_once_and_withdrawn_when_answered_anywhere(lives: Lives) -> None:
    async def story(house: House) -> None:
        board = Board(withdraw=True)
        house.start(board)
        await house.ask()
        await house.until(lambda: board.shown, what="the notice")
        assert [notice.title for notice in board.shown.values()] == ["Claude asks for permission in shop"]
        await house.answer()
        await house.until(lambda: not board.shown, what="withdrawn")
        await house.confirm()
        await house.until(lambda: not house.store.receipts(), what="forgotten")
        assert board.deeds == [("send", "", "open"), ("withdraw", "", "moving")]

    lives(story)


def test_where_it_can_be_edited_it_is_brought_to_its_outcome(lives: Lives) -> None:
    async def story(house: House) -> None:
        board = Board(edit=True)
        house.start(board)
        await house.ask()
        await house.until(lambda: board.shown)
        await house.answer()
        await house.until(lambda: board.deeds[-1] == ("update", "", "moving"))
        (notice,) = board.shown.values()
        assert notice.outcome == "Sending (cli: Allow)", "never more than is known"
        await house.confirm()
        await house.until(lambda: not house.store.receipts())
        (notice,) = board.shown.values()
        assert (notice.standing, notice.outcome) == ("over", "Done (cli: Allow)")

    lives(story)


def test_a_desk_that_answers_is_said(lives: Lives) -> None:
    async def story(house: House) -> None:
        board = Board(edit=True)
        house.start(board)
        await house.ask()
        await house.until(lambda: board.shown)
        await house.at_the_desk()
        await house.until(lambda: not house.store.receipts())
        assert [notice.outcome for notice in board.shown.values()] == ["Closed at the desk"]

    lives(story)


def test_what_is_answered_at_once_is_never_told(lives: Lives) -> None:
    async def story(house: House) -> None:
        board = Board(withdraw=True)
        runner = house.start(board)
        prompt = await house.ask(opened_at=house.clock())
        assert prompt.id
        await house.answer()
        await house.confirm()
        house.later(3600)
        await house.ask("p2")
        await house.until(lambda: board.sends == 1)
        await house.settled()
        assert [notice.id for notice in board.shown.values()] == ["p2"]
        assert set(runner._prompts) == {"p2"}, "what is over is not kept in mind"
        assert runner.conditions["board"].worked_at > 0

    lives(story)


def test_an_answer_in_the_middle_of_a_send_is_seen_right_after_it(lives: Lives) -> None:
    async def story(house: House) -> None:
        board = Board(withdraw=True)
        slow = asyncio.Event()
        board.next.append(slow)
        house.start(board)
        await house.ask()
        await house.until(lambda: board.sends)
        await house.answer()
        slow.set()
        await house.until(lambda: board.deeds[-1][0] == "withdraw")
        assert not board.shown

    lives(story)


def test_what_fails_for_now_is_tried_again_and_told_once(lives: Lives) -> None:
    async def story(house: House) -> None:
        board = Board(withdraw=True)
        board.next += [Later("down"), Later("down"), Later("busy", 2.0)]
        runner = house.start(board)
        await house.ask()
        await house.until(lambda: board.sends == 3)
        await house.until(lambda: runner.conditions["board"].problem == "busy")
        naps = house.naps
        await house.until(lambda: house.naps > naps + 5, what="some patience")
        assert board.sends == 3, "not before the time it asked for"
        house.later(3)
        await house.until(lambda: board.shown)
        await house.settled()
        assert board.sends == 4
        assert runner.conditions["board"].problem == ""

    lives(story)


def test_patience_that_was_asked_for_ends_with_a_clock_that_is_set_back(lives: Lives) -> None:
    async def story(house: House) -> None:
        board = Board(withdraw=True)
        board.next += [Later("busy", 30.0)]
        house.start(board)
        await house.ask()
        await house.until(lambda: house.naps > 3, what="some patience")
        house.later(-86_400)
        await house.until(lambda: board.shown, what="told today, not tomorrow")

    lives(story)


def test_while_a_channel_is_down_nothing_is_sent_for_what_is_over(lives: Lives) -> None:
    async def story(house: House) -> None:
        board = Board(withdraw=True)
        board.next += [Later("down", 5.0)]
        house.start(board)
        await house.ask()
        await house.until(lambda: board.sends)
        await house.answer()
        await house.confirm()
        await house.until(lambda: not house.store.receipts())
        assert board.deeds == [("send", "", "open")]

    lives(story)


def test_a_line_that_broke_is_repeated_only_where_that_shows_one(lives: Lives) -> None:
    async def story(house: House) -> None:
        sure, unsure = Board("sure", replaces=True, withdraw=True), Board("unsure", edit=True)
        sure.next.append(Unclear("the line broke"))
        unsure.next.append(Unclear("the line broke"))
        house.start(sure, unsure)
        await house.ask()
        await house.until(lambda: sure.shown)
        await house.settled()
        assert (sure.sends, unsure.sends) == (2, 1)
        await house.answer()
        await house.confirm()
        await house.until(lambda: not house.store.receipts())
        assert [deed for deed, _, _ in unsure.deeds] == ["send"], "nothing is known to edit"

    lives(story)


def test_a_channel_that_cannot_work_says_so_and_the_others_go_on(lives: Lives) -> None:
    async def story(house: House) -> None:
        broken, board = Board("broken"), Board("board")
        broken.next.append(Failed("it said 401: check the token"))
        runner = house.start(broken, board)
        await house.ask()
        await house.until(lambda: board.shown)
        await house.settled()
        assert runner.conditions["broken"].problem == "it said 401: check the token"
        assert broken.sends == 1
        # Somebody mends it, and starts anew.
        await house.stop()
        house.start(broken, board)
        await house.until(lambda: broken.shown)
        await house.settled()
        assert board.sends == 1

    lives(story)


def test_every_device_is_told_once_and_one_that_is_gone_not_again(lives: Lives) -> None:
    async def story(house: House) -> None:
        board = Board(targets=("phone", "tablet"), withdraw=True)
        board.next.append(Gone("unsubscribed"))
        house.start(board)
        await house.ask()
        await house.until(lambda: board.shown)
        await house.settled()
        assert sorted(target for _, target, _ in board.deeds) == ["phone", "tablet"]
        assert len(board.shown) == 1

    lives(story)


def test_a_bug_in_a_channel_harms_nobody_else(lives: Lives) -> None:
    async def story(house: House) -> None:
        class Buggy(Board):
            async def send(self, target: str, notice: object) -> Later:
                raise RuntimeError("https://secret.example/token")

        board = Board()
        runner = house.start(Buggy("buggy"), board)
        await house.ask()
        await house.until(lambda: board.shown)
        await house.until(lambda: "buggy" in runner.conditions)
        assert runner.conditions["buggy"].problem == "RuntimeError", "no address, no secret"

    lives(story)


def test_what_a_channel_failed_at_in_the_middle_is_not_sent_twice_and_no_word_of_it_is_logged(
    lives: Lives, caplog: pytest.LogCaptureFixture
) -> None:
    async def story(house: House) -> None:
        class Torn(Board):
            async def send(self, target: str, notice: Notice) -> Carried:
                await super().send(target, notice)
                raise RuntimeError(f"https://secret.{notice.agent}/token")

        board = Torn()
        runner = house.start(board)
        await house.ask()
        await house.until(lambda: "board" in runner.conditions)
        await house.settled()
        for _ in range(5):
            house.later(61)
            await house.settled()
        assert board.sends == 1
        assert "secret.claude" not in caplog.text
        assert "RuntimeError" in caplog.text

    lives(story)


def test_what_never_got_through_is_no_reminder_when_it_does(lives: Lives) -> None:
    async def story(house: House) -> None:
        board = Board(withdraw=True)
        board.next += [Later("down", 4000.0)]
        house.start(board, notify=Notify(repeats=2))
        await house.ask()
        await house.until(lambda: board.sends == 1)
        for _ in range(3):
            house.later(1000)
            await house.until(lambda: house.store.receipts()[0].at > house.clock() - 500, what="looked at again")
        house.later(2000)
        await house.until(lambda: board.shown)
        await house.settled()
        assert [notice.reminder for notice in board.shown.values()] == [0]
        house.later(1000)
        await house.until(lambda: [notice.reminder for notice in board.shown.values()] == [1], what="reminded")

    lives(story)


def test_quiet_hours_are_those_of_where_the_person_is_now(lives: Lives, monkeypatch: pytest.MonkeyPatch) -> None:
    async def story(house: House) -> None:
        board = Board()
        there, here = (f"XXX{shift:+d}" for shift in (-_hours_to(house, 12), -_hours_to(house, 2)))
        monkeypatch.setenv("TZ", here)
        desk = Board("desk", rung="desk")
        house.start(board, desk, notify=Notify(quiet="00:00-06:00"))
        await house.ask()
        await house.until(lambda: desk.shown)
        await house.settled()
        assert not board.deeds, "it is two at night"
        monkeypatch.setenv("TZ", there)  # the machine has travelled; nobody has told the C library
        house.runner.wake()
        await house.until(lambda: board.shown, what="at noon")

    lives(story)
    monkeypatch.undo()
    time.tzset()


def _hours_to(house: House, wanted: int) -> int:
    """East of Greenwich, so that it is this hour there."""
    hour = time.gmtime(house.clock()).tm_hour
    return (wanted - hour + 12) % 24 - 12


def test_an_answer_that_came_back_is_told_again_where_the_notice_was_taken_away(lives: Lives) -> None:
    async def story(house: House) -> None:
        board, chat = Board(withdraw=True), Board("chat", edit=True)
        house.start(board, chat)
        await house.ask()
        await house.until(lambda: board.shown and chat.shown)
        await house.answer()
        await house.until(lambda: not board.shown)
        await house.bounce()
        house.later(1)
        await house.until(lambda: board.shown)
        assert [notice.id for notice in board.shown.values()] == ["p1-1"]
        await house.until(lambda: [n.standing for n in chat.shown.values()] == ["open"])
        assert notice_of(board).text.startswith("An answer came back: the hook has left\n")
        assert chat.sends == 1, "the same message, with its buttons back"

    lives(story)


def test_an_answer_that_comes_back_while_its_notice_is_taken_away_is_told_again(lives: Lives) -> None:
    async def story(house: House) -> None:
        board = Board(withdraw=True)
        house.start(board, notify=Notify(repeats=0))
        await house.ask()
        await house.until(lambda: board.shown)
        slow = asyncio.Event()
        board.next.append(slow)
        await house.answer()
        await house.until(lambda: board.deeds[-1][0] == "withdraw")
        await house.bounce()
        house.later(1)
        await house.until(lambda: not house.runner._wake.is_set(), what="looked at")
        slow.set()
        await house.until(lambda: [notice.id for notice in board.shown.values()] == ["p1-1"], what="told again")

    lives(story)


def test_an_answer_that_came_back_before_anybody_saw_it_leave_is_told_again(lives: Lives) -> None:
    """A restart in the middle, say. Whoever tapped has put the phone away, and their button works no more."""

    async def story(house: House) -> None:
        board, chat = Board(withdraw=True), Board("chat", edit=True)
        house.start(board, chat, notify=Notify(repeats=0))
        await house.ask()
        await house.until(lambda: board.shown and chat.shown)
        await house.settled()
        await house.stop()
        await house.answer()
        await house.bounce()
        house.start(board, chat, notify=Notify(repeats=0))
        house.later(1)
        await house.until(lambda: [notice.id for notice in board.shown.values()] == ["p1-1"], what="told again")
        await house.settled()
        assert [deed for deed, _, _ in board.deeds] == ["send", "withdraw", "send"]
        assert chat.sends == 1, "the same message, with its buttons back"
        await house.at_the_desk()
        await house.until(lambda: not house.store.receipts())
        assert not board.shown

    lives(story)


def test_reminders_replace_what_was_there(lives: Lives) -> None:
    async def story(house: House) -> None:
        board, chat = Board(withdraw=True), Board("chat", edit=True)
        house.start(board, chat, notify=Notify(repeats=1))
        await house.ask()
        await house.until(lambda: board.shown and chat.shown)
        await house.settled()
        house.later(901)
        await house.until(lambda: board.sends == 2 and chat.sends == 2)
        await house.settled()
        assert [notice.reminder for notice in board.shown.values()] == [1]
        assert [(n.reminder, n.standing) for n in chat.shown.values()] == [(1, "over"), (1, "open")]
        house.later(90_000)
        await house.answer()
        await house.confirm()
        await house.until(lambda: not house.store.receipts())
        assert (board.sends, chat.sends, len(board.shown)) == (2, 2, 0), "reminded once, as it is set"

    lives(story)


def test_ready_sessions_are_one_notice_that_goes_when_all_are_over(lives: Lives) -> None:
    async def story(house: House) -> None:
        board = Board(withdraw=True)
        house.start(board, notify=Notify(digest_s=100))
        for name in ("p1", "p2"):
            await house.ask(name, kind="ready", session_id=f"of {name}")
        await house.settled()
        assert not board.deeds
        house.later(60)
        await house.until(lambda: board.shown)
        (notice,) = board.shown.values()
        assert notice.title == "2 sessions are ready for you"
        await house.at_the_desk("p1")
        await house.settled()
        assert board.shown
        await house.at_the_desk("p2")
        await house.until(lambda: not board.shown)

    lives(story)


def test_another_life_takes_back_what_this_one_told(tmp_path: Path) -> None:
    board = Board(withdraw=True)

    async def first(house: House) -> None:
        house.start(board)
        await house.ask()
        await house.until(lambda: board.shown)
        await house.settled()
        await house.stop()
        await house.answer()
        await house.confirm()

    async def second(house: House) -> None:
        house.start(board)
        await house.until(lambda: not board.shown)
        await house.until(lambda: not house.store.receipts())

    for story in (first, second):
        in_house(story, tmp_path)
    assert board.sends == 1


def test_a_power_cut_in_the_middle_of_a_send(lives: Lives) -> None:
    """On disk it says that a send was begun; whether it arrived, nobody knows."""

    async def story(house: House) -> None:
        prompt = await house.ask()
        for name in ("sure", "unsure"):
            row = Receipt(prompt.id, name, "", (prompt.id,), "trying", house.clock(), 1)
            await house.store.put_receipts([row, replace(row, notice="gone", prompts=("nobody",))])
        sure, unsure = Board("sure", replaces=True, withdraw=True), Board("unsure")
        house.start(sure, unsure)
        await house.until(lambda: sure.shown)
        await house.settled()
        assert (sure.sends, unsure.sends) == (1, 0)
        assert {row.notice for row in house.store.receipts()} == {"p1"}

    lives(story)


def test_a_digest_whose_first_prompt_was_forgotten_is_still_brought_to_its_end(lives: Lives) -> None:
    async def story(house: House) -> None:
        prompt = await house.ask()
        board = Board(edit=True)
        board.shown["m1"] = Notice("all-gone", "ready", "2 sessions are ready for you", "")
        row = Receipt("all-gone", "board", "", ("gone", prompt.id), "shown", house.clock(), 1, "m1")
        await house.store.put_receipts([row])
        house.start(board)
        await house.at_the_desk()
        await house.until(lambda: not house.store.receipts(), what="done with")
        assert [notice.outcome for notice in board.shown.values()] == ["Closed at the desk"]

    lives(story)


def test_a_send_is_on_disk_before_it_leaves_and_not_repeated_by_another_life(lives: Lives) -> None:
    async def story(house: House) -> None:
        board = Board()
        board.next.append(asyncio.Event())
        house.start(board)
        await house.ask()
        await house.until(lambda: board.sends)
        assert [row.state for row in house.store.receipts()] == ["trying"]
        await house.stop()
        house.start(board)
        await house.ask("p2")
        await house.until(lambda: board.shown)
        await house.settled()
        assert [notice.id for notice in board.shown.values()] == ["p2"]

    lives(story)


def test_a_reminder_that_cannot_be_sent_leaves_nothing_behind_when_answered(lives: Lives) -> None:
    async def story(house: House) -> None:
        board = Board(replaces=True, withdraw=True)
        house.start(board)
        await house.ask()
        await house.until(lambda: board.shown)
        await house.settled()
        board.next.append(Later("down", 5.0))
        house.later(901)
        await house.until(lambda: board.sends == 2)
        await house.answer()
        house.later(6)
        await house.until(lambda: not board.shown)
        assert board.sends == 2

    lives(story)


def test_titles_only_says_nothing_of_the_agents_words(lives: Lives) -> None:
    async def story(house: House) -> None:
        board = Board(buttons=5, edit=True, knows_who=True)
        house.start(board, notify=Notify(titles_only=True))
        await house.ask(title="rm -rf build", body="rm -rf build")
        await house.until(lambda: board.shown)
        (notice,) = board.shown.values()
        assert "rm" not in repr(notice).replace("permission", "").replace("needs_confirmation", "")
        assert [button.label for button in notice.buttons] == ["Deny"], "a yes to this takes more than a tap"
        await house.answer()
        await house.confirm()
        await house.until(lambda: notice_of(board).standing == "over")
        assert notice_of(board).outcome == "Done (cli)", "an option's label is a word of the agent's"

    lives(story)


def test_what_changes_just_as_a_look_ends_is_looked_at(lives: Lives) -> None:
    async def story(house: House) -> None:
        board = Board(withdraw=True)
        runner = house.start(board)
        prompt = await house.ask()
        await house.until(lambda: board.shown)
        await house.settled()
        # The look itself is one step; what is called next comes before anybody hears that it is over.
        runner._touch(("p1", "board", ""))
        asyncio.get_running_loop().call_soon(runner._take, replace(prompt, state="desk"))
        await house.until(lambda: not board.shown)

    lives(story)


def notice_of(board: Board) -> Notice:
    (notice,) = board.shown.values()
    return notice


def test_a_storm_of_changes_is_followed_from_the_rows(lives: Lives) -> None:
    async def story(house: House) -> None:
        board = Board(withdraw=True)
        house.start(board)
        await house.ask()
        await house.until(lambda: board.shown)
        await house.settled()
        for subscriber in house.loop.subscribers:
            subscriber.lagged = True  # what a queue of a thousand does when it overflows
        await house.at_the_desk()
        await house.until(lambda: not board.shown)

    lives(story)


def test_a_disk_that_is_busy_for_a_while_costs_nobody_the_end_of_a_notice(
    lives: Lives, caplog: pytest.LogCaptureFixture
) -> None:
    async def story(house: House) -> None:
        house.store._writer._db.execute("PRAGMA busy_timeout = 50")
        board = Board(edit=True)
        sending = asyncio.Event()
        board.next.append(sending)
        house.start(board)
        await house.ask()
        await house.until(lambda: board.sends)
        disk = sqlite3.connect(house.store.path, isolation_level=None)
        disk.execute("BEGIN IMMEDIATE")  # a backup, say
        sending.set()
        await house.until(lambda: "cannot be used: database is locked" in caplog.text, what="it was tried")
        disk.execute("ROLLBACK")
        disk.close()
        await house.until(
            lambda: [row.state for row in house.store.receipts()] == ["shown"], what="written after all"
        )
        await house.at_the_desk()
        await house.until(lambda: not house.store.receipts())
        assert [notice.outcome for notice in board.shown.values()] == ["Closed at the desk"]

    lives(story)


def test_what_fails_before_a_notice_leaves_is_tried_again(lives: Lives, caplog: pytest.LogCaptureFixture) -> None:
    async def story(house: House) -> None:
        board = Board(buttons=3, replaces=True)
        house.start(board)
        disk = sqlite3.connect(house.store.path, isolation_level=None)
        disk.execute("CREATE TRIGGER no BEFORE INSERT ON taps BEGIN SELECT RAISE(ABORT, 'no room'); END")
        await house.ask()
        await house.until(lambda: "no room" in caplog.text, what="its buttons cannot be kept")
        assert not board.shown
        disk.execute("DROP TRIGGER no")
        disk.close()
        await house.until(lambda: board.shown, what="told after all")

    lives(story)


def test_a_reminder_that_is_due_while_a_notice_arrives_after_all_is_not_a_second_one(lives: Lives) -> None:
    async def story(house: House) -> None:
        board = Board(edit=True)
        sending = asyncio.Event()
        board.next.append(sending)
        runner = house.start(board)
        await house.ask()
        await house.until(lambda: board.sends)
        disk = sqlite3.connect(house.store.path, isolation_level=None)
        disk.execute("BEGIN IMMEDIATE")
        sending.set()
        await house.until(lambda: house.store.busy, what="its receipt is being written")
        house.later(901)
        await house.until(lambda: not runner._wake.is_set(), what="looked at")
        disk.execute("ROLLBACK")
        disk.close()
        await house.until(lambda: not house.store.busy)
        await house.settled()
        await house.until(
            lambda: [(row.state, row.receipt) for row in house.store.receipts()] == [("shown", "m1")],
            what="it arrived, and that is on disk",
        )
        assert board.sends == 1

    lives(story)


def test_nothing_goes_on_in_channels_that_were_taken_away(lives: Lives) -> None:
    """With another configuration there are other channels: what changed in the last moment is theirs to tell."""

    async def story(house: House) -> None:
        board = Board(withdraw=True, replaces=True)
        board.next.append(asyncio.Event())  # a send that does not end
        runner = house.start(board)
        await house.ask()
        await house.until(lambda: board.sends)
        await house.answer()
        await house.until(
            lambda: all(changed.is_set() for changed in runner._changed.values()), what="heard of it"
        )
        await house.stop()
        assert not runner._tasks
        assert [deed for deed, _, _ in board.deeds] == ["send"]

    lives(story)


def test_another_configuration_knows_what_was_being_written(lives: Lives) -> None:
    async def story(house: House) -> None:
        board = Board(edit=True)
        sending = asyncio.Event()
        board.next.append(sending)
        house.start(board)
        await house.ask()
        await house.until(lambda: board.sends)
        disk = sqlite3.connect(house.store.path, isolation_level=None)
        disk.execute("BEGIN IMMEDIATE")
        sending.set()
        await house.until(lambda: house.store.busy, what="its receipt is being written")
        stopping = asyncio.create_task(house.stop())
        await asyncio.wait({stopping}, timeout=0.3)
        assert not stopping.done(), "who comes after it would read what was before"
        disk.execute("ROLLBACK")
        disk.close()
        await stopping
        house.start(board)
        await house.at_the_desk()
        await house.until(lambda: not house.store.receipts())
        assert [notice.outcome for notice in board.shown.values()] == ["Closed at the desk"]

    lives(story)
