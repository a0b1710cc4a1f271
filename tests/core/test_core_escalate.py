"""Who is told when: each rule of the ladder by itself, and a machine that plays days of prompts and people."""

from __future__ import annotations

import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, rule
from msgspec.structs import replace

from yourcall.core.identity import NUDGED
from yourcall.core.notify_policy import (
    DAY,
    DIGEST,
    GRACE_S,
    AlreadyTold,
    Due,
    Notify,
    Post,
    Situation,
    Tell,
    When,
    due,
    name_of,
    waiting_since,
)
from yourcall.model.prompts import Kind, Moment, Prompt

DESK, PHONE, CHAT = Post("desktop", "desk"), Post("phone", "push"), Post("chat", "chat")
ALL = (DESK, PHONE, CHAT)
NOW = 1_000_000.0


def asked(id: str = "p1", at: float = NOW, kind: Kind = "permission", cwd: str = "/home/me/shop") -> Prompt:
    return Prompt(id, kind, "claude", "s1", cwd, "npm test", at, history=(Moment(at, "open", "agent"),))


def look(
    *prompts: Prompt,
    now: float = NOW,
    person_at: float = 0.0,
    told: tuple[AlreadyTold, ...] = (),
    posts: tuple[Post, ...] = ALL,
    notify: Notify | None = None,
    minute: int = 12 * 60,
) -> Due:
    return due(Situation(now, minute, person_at, posts, prompts, told), notify or Notify())


def channels(found: Due) -> list[str]:
    return [tell.channel for tell in found.tell]


def receipt(channel: str, at: float, *ids: str, times: int = 1, live: bool = True) -> AlreadyTold:
    return AlreadyTold(channel, ids[0], ids, at, times, live)


def test_a_rule_that_answers_at_once_disturbs_nobody() -> None:
    found = look(asked())
    assert found == Due((), NOW + GRACE_S)


def test_with_nobody_there_desk_and_phone_are_told_at_once_and_the_chat_a_minute_later() -> None:
    found = look(asked(at=NOW - 1))
    assert channels(found) == ["desktop", "phone"]
    assert found.again_at == NOW + 60


def test_while_somebody_types_the_phone_waits() -> None:
    found = look(asked(at=NOW - 1), person_at=NOW - 5)
    assert channels(found) == ["desktop"]
    assert found.again_at == NOW - 5 + 45


def test_signs_of_a_person_put_it_off_but_never_call_it_off() -> None:
    assert channels(look(asked(at=NOW - 179), person_at=NOW)) == ["desktop"]
    assert channels(look(asked(at=NOW - 180), person_at=NOW)) == ["desktop", "phone"]


def test_without_a_phone_the_chat_takes_its_place() -> None:
    assert channels(look(asked(at=NOW - 1), posts=(DESK, CHAT))) == ["desktop", "chat"]


def test_what_was_told_is_not_told_again() -> None:
    told = (receipt("desktop", NOW - 1, "p1"), receipt("phone", NOW - 1, "p1"))
    found = look(asked(at=NOW - 2), told=told)
    assert found == Due((), NOW + 59)


def test_what_could_not_be_told_is_not_tried_again_by_the_ladder() -> None:
    told = tuple(receipt(name, NOW - 100, "p1", live=False) for name in ("desktop", "phone", "chat"))
    assert look(asked(at=NOW - 200), told=told) == Due(())


def test_reminders_go_to_everybody_but_the_desk_together_and_have_an_end() -> None:
    told = (
        receipt("desktop", NOW - 1000, "p1"),
        receipt("phone", NOW - 960, "p1"),
        receipt("chat", NOW - 900, "p1"),
    )
    found = look(asked(at=NOW - 1000), told=told)
    assert found.tell == (Tell("phone", "p1", ("p1",), 2), Tell("chat", "p1", ("p1",), 2))
    early = (*told[:2], receipt("chat", NOW - 800, "p1"))
    assert look(asked(at=NOW - 1000), told=early) == Due((), NOW + 100), "counted from the last of them"
    second = tuple(replace(each, times=2, at=NOW - 5000) for each in told[1:])
    assert [tell.times for tell in look(asked(at=NOW - 9000), told=second, posts=ALL[1:]).tell] == [3, 3]
    third = tuple(replace(each, times=3, at=NOW - 5000) for each in told[1:])
    assert look(asked(at=NOW - 9000), told=(*third, told[0])) == Due(())


def test_a_device_that_is_gone_says_nothing_about_the_others_of_its_channel() -> None:
    tablet, phone = receipt("phone", NOW - 900, "p1"), receipt("phone", NOW - 900, "p1", live=False)
    for told in ((tablet, phone), (phone, tablet)):
        found = look(asked(at=NOW - 1000), told=told, posts=(PHONE,))
        assert found.tell == (Tell("phone", "p1", ("p1",), 2),)


def test_a_person_at_the_desk_is_reminded_later_but_reminded() -> None:
    told = (receipt("phone", NOW - 900, "p1"),)
    assert look(asked(at=NOW - 900), told=told, posts=(PHONE,), person_at=NOW).again_at == NOW + 45
    told = (receipt("phone", NOW - 1080, "p1"),)
    assert channels(look(asked(at=NOW - 1080), told=told, posts=(PHONE,), person_at=NOW)) == ["phone"]


def test_an_answer_that_came_back_begins_anew() -> None:
    bounced = replace(
        asked(at=NOW - 500),
        history=(
            Moment(NOW - 500, "open", "agent"),
            Moment(NOW - 400, "answering", "phone", answer_id="a"),
            Moment(NOW - 1, "open", "phone", "bounced: the hook has left", "a"),
        ),
    )
    assert waiting_since(bounced) == NOW - 1
    told = (receipt("phone", NOW - 499, "p1", live=False),)
    found = look(bounced, told=told, posts=(PHONE,))
    assert found.tell == (Tell("phone", "p1-1", ("p1",)),)
    still_there = (receipt("phone", NOW - 499, "p1"),)
    assert look(bounced, told=still_there, posts=(PHONE,)).tell == (), "that notice is brought up to date instead"


def test_ready_sessions_are_collected() -> None:
    one, two = asked("p1", NOW - 60, "ready"), asked("p2", NOW - 3, "ready")
    early = look(replace(one, opened_at=NOW - 40), two, posts=(PHONE,))
    assert early == Due((), NOW + 20)
    found = look(one, two, asked("p3", NOW - 2), posts=(PHONE,))
    assert found.tell == (Tell("phone", "p3", ("p3",)), Tell("phone", "all-p1", ("p1", "p2")))


def test_the_first_ready_session_is_told_when_its_agent_says_it_is_idle() -> None:
    one = asked("p1", NOW - 30, "ready")
    nudged = replace(one, history=(*one.history, Moment(NOW - 1, "open", "agent", NUDGED)))
    assert look(nudged, posts=(PHONE,)).tell == (Tell("phone", "all-p1", ("p1",)),)
    assert look(one, posts=(PHONE,)) == Due((), NOW + 30)


def test_the_next_ready_session_waits_for_the_next_digest() -> None:
    first, next_one = asked("p1", NOW - 130, "ready"), asked("p2", NOW - 65, "ready")
    told = (AlreadyTold("phone", "all-p1", ("p1",), NOW - 70, 1, True),)
    assert look(first, next_one, told=told, posts=(PHONE,)) == Due((), NOW + 50)
    assert channels(look(first, asked("p3", NOW - 1), told=told, posts=(PHONE,))) == ["phone"]


def test_quiet_hours_hold_back_all_but_the_desk() -> None:
    night = Notify(quiet="22:00-07:00", quiet_lets=("trust",))
    found = look(asked(at=NOW - 1), notify=night, minute=23 * 60)
    assert channels(found) == ["desktop"]
    assert found.again_at == NOW + 8 * 3600
    assert channels(look(asked(at=NOW - 1, kind="trust"), notify=night, minute=23 * 60)) == ["desktop", "phone"]
    assert channels(look(asked(at=NOW - 1), notify=night, minute=7 * 60)) == ["desktop", "phone"]
    noon = Notify(quiet="12:00-13:00")
    assert channels(look(asked(at=NOW - 1), notify=noon, minute=12 * 60)) == ["desktop"]
    assert channels(look(asked(at=NOW - 1), notify=noon, minute=13 * 60)) == ["desktop", "phone"]


def test_the_chat_follows_the_phone_also_after_a_night() -> None:
    found = look(asked(at=NOW - 9 * 3600), posts=(PHONE, CHAT), notify=Notify(quiet="22:00-07:00"), minute=7 * 60)
    assert channels(found) == ["phone"]
    assert found.again_at == NOW + 60


def test_projects_and_kinds_have_their_own_channels() -> None:
    rules = Notify(
        when=(
            When((), project="*/scratch"),
            When(("chat",), kinds=("ready", "problem")),
            When(("phone",), project="/home/me/shop"),
            When(("desktop",), project="garden"),
        )
    )
    later = NOW - 1000
    assert channels(look(asked(at=later, cwd="/home/me/scratch"), notify=rules)) == []
    assert channels(look(asked(at=later, kind="problem"), notify=rules)) == ["chat"]
    assert channels(look(asked(at=later), notify=rules)) == ["phone"]
    assert channels(look(asked(at=later, cwd="/home/me/garden/"), notify=rules)) == ["desktop"]
    assert channels(look(asked(at=later, cwd="/elsewhere"), notify=rules)) == ["desktop", "phone"]


def test_a_clock_that_was_set_back_keeps_nobody_waiting() -> None:
    """Asked an hour from now, by a clock that was wrong then: it waits; what was typed then is no sign."""
    later = asked(at=NOW + 3600)
    assert channels(look(later, person_at=NOW + 3500)) == ["desktop", "phone"]
    told = (receipt("desktop", NOW, "p1"), receipt("phone", NOW, "p1"))
    assert look(later, now=NOW + 1, told=told) == Due((), NOW + 60)
    assert channels(look(later, now=NOW + 60, told=told)) == ["chat"]


def test_what_was_told_by_a_clock_that_was_set_back_since_keeps_nobody_waiting() -> None:
    """Told an hour from now, it seems: then it was told long enough ago for the chat, and for a reminder."""
    told = (receipt("desktop", NOW + 3600, "p1"), receipt("phone", NOW + 3600, "p1"))
    for at in (NOW + 3599, NOW - 300):
        assert "chat" in channels(look(asked(at=at), told=told)), at
    told = (*told, receipt("chat", NOW + 3660, "p1"))
    assert channels(look(asked(at=NOW - 901), told=told)) == ["phone", "chat"]
    again = tuple(replace(each, at=NOW, times=2) for each in told[1:])
    assert not channels(look(asked(at=NOW - 901), now=NOW + 1, told=(told[0], *again)))
    assert channels(look(asked(at=NOW + 3599), told=told[1:2], posts=(PHONE,))) == ["phone"]


def test_a_notice_is_named_for_devices_whatever_the_id() -> None:
    assert name_of(asked("k3fqk3fqab")) == "k3fqk3fqab"
    strange = [name_of(asked(id)) for id in ("a b", "ä", "x" * 100, "x" * 99, "\ud800")]
    assert len(set(strange)) == len(strange)
    assert all(name.isascii() and name.isalnum() and len(name) <= 36 for name in strange)


class Days(RuleBasedStateMachine):
    """Everything that is told, over days; the clock jumps to every moment at which the ladder wants to look."""

    def __init__(self) -> None:
        super().__init__()
        self.now = NOW
        self.minute0 = 0
        self.person_at = 0.0
        self.prompts: dict[str, Prompt] = {}
        self.told: dict[tuple[str, str], AlreadyTold] = {}
        self.notify = Notify()
        self.posts: tuple[Post, ...] = ALL
        self.posts_since = self.now
        self.log: list[tuple[float, Tell]] = []
        self.looked_until = self.now

    @initialize(
        quiet=st.sampled_from(["", "22:00-07:00", "00:30-00:31", "09:00-08:59"]),
        lets=st.sampled_from([(), ("trust",)]),
        desk=st.sampled_from([0.0, 45.0, 300.0]),
        push=st.sampled_from([0.0, 60.0, 2000.0]),
        repeats=st.integers(0, 2),
        minute=st.integers(0, DAY - 1),
        posts=st.sets(st.sampled_from(ALL), min_size=1).map(lambda some: tuple(sorted(some, key=repr))),
    )
    def begin(
        self,
        quiet: str,
        lets: tuple[Kind, ...],
        desk: float,
        push: float,
        repeats: int,
        minute: int,
        posts: tuple[Post, ...],
    ) -> None:
        self.notify = Notify(quiet=quiet, quiet_lets=lets, desk_s=desk, push_s=push, repeats=repeats)
        self.minute0, self.posts = minute, posts

    def minute(self, at: float) -> int:
        return (self.minute0 + int((at - NOW) // 60)) % DAY

    def quiet(self, at: float) -> bool:
        if not self.notify.quiet:
            return False
        begin, end = (int(part[:2]) * 60 + int(part[3:]) for part in self.notify.quiet.split("-"))
        return (self.minute(at) - begin) % DAY < (end - begin) % DAY

    def look(self) -> float | None:
        scene = Situation(
            self.now,
            self.minute(self.now),
            self.person_at,
            self.posts,
            tuple(self.prompts.values()),
            tuple(self.told.values()),
        )
        found = due(scene, self.notify)
        rungs = {post.channel: post.rung for post in self.posts}
        for tell in found.tell:
            self.log.append((self.now, tell))
            self.told[tell.channel, tell.notice] = AlreadyTold(
                tell.channel, tell.notice, tell.prompts, self.now, tell.times, True
            )
            for prompt in (self.prompts[id] for id in tell.prompts):
                self.allowed(prompt, tell, rungs[tell.channel])
        assert found.again_at is None or found.again_at > self.now
        again = due(replace(scene, told=tuple(self.told.values())), self.notify)
        assert again.tell == (), "told, and at once told again"
        return found.again_at if not found.tell else again.again_at

    def allowed(self, prompt: Prompt, tell: Tell, rung: str) -> None:
        assert prompt.state == "open"
        if rung == "desk":
            return
        assert not self.quiet(self.now) or prompt.kind in self.notify.quiet_lets
        since = waiting_since(prompt)
        patient = self.now >= min(self.person_at + self.notify.desk_s, since + self.notify.desk_most_s)
        assert patient or tell.notice.startswith(DIGEST), "somebody is at the desk"
        first = [at for at, one in self.log if prompt.id in one.prompts and one.channel == "phone" and at >= since]
        if rung == "chat" and PHONE in self.posts and self.notify.push_s:
            assert first, "the chat before the phone"
            assert self.now >= first[0] + self.notify.push_s or tell.notice.startswith(DIGEST)

    @rule(kind=st.sampled_from(["permission", "question", "ready", "trust"]))
    def ask(self, kind: Kind) -> None:
        if len(self.prompts) < 8:
            name = f"p{len(self.log)}x{len(self.prompts)}x{int(self.now)}"
            self.prompts[name] = asked(name, self.now, kind)
            self.look()

    @rule(data=st.data(), back=st.booleans())
    def answer(self, data: st.DataObject, back: bool) -> None:
        waiting = [p for p in self.prompts.values() if p.state == "open"]
        if not waiting:
            return
        prompt = data.draw(st.sampled_from(waiting))
        moments = (*prompt.history, Moment(self.now, "answering", "phone", answer_id="a"))
        for key, told in list(self.told.items()):
            if prompt.id in told.prompts and len(told.prompts) == 1:
                self.told[key] = replace(told, live=False)
        self.now += 0.1
        if back:
            history = (*moments, Moment(self.now, "open", "phone", "bounced: no"))
            self.prompts[prompt.id] = replace(prompt, history=history)
        else:
            del self.prompts[prompt.id]
        self.look()

    @rule()
    def type(self) -> None:
        self.person_at = self.now
        self.look()

    @rule(seconds=st.sampled_from([1.0, 30.0, 61.0, 200.0, 1000.0, 4 * 3600.0, 30 * 3600.0]))
    def wait(self, seconds: float) -> None:
        end = self.now + seconds
        for _ in range(500):
            again = self.look()
            if again is None or again > end:
                break
            self.now = again
        else:
            raise AssertionError("it looks and looks")
        self.now = end
        self.look()

    @invariant()
    def nobody_is_told_twice(self) -> None:
        seen: dict[tuple[str, str, int], float] = {}
        for at, tell in self.log:
            assert tell.times <= 1 + self.notify.repeats
            key = (tell.channel, tell.notice, tell.times)
            assert key not in seen, f"told twice: {key}"
            seen[key] = at
            if tell.times > 1:
                assert at >= seen[tell.channel, tell.notice, tell.times - 1] + self.notify.repeat_s

    @invariant()
    def nobody_waits_unseen(self) -> None:
        """After the longest patience, outside of quiet hours, every rung knows."""
        most = self.notify.desk_most_s + self.notify.digest_s + 2 * GRACE_S
        for prompt in self.prompts.values():
            if prompt.state != "open" or self.quiet(self.now) or self.notify.quiet:
                continue
            waited = self.now - waiting_since(prompt)
            told = {each.channel for each in self.told.values() if prompt.id in each.prompts}
            for post in self.posts:
                longest = most + (self.notify.push_s if post.rung == "chat" else 0)
                if waited > longest + 1:
                    assert post.channel in told, (post, waited)


Days.TestCase.settings = settings(max_examples=250, stateful_step_count=30)
test_days = pytest.mark.long(Days.TestCase)
