"""An answer carries what was looked at: to anything else that is asked under the same id it is no answer."""

from __future__ import annotations

from core_scene import answer, asked
from msgspec.structs import replace

from yourcall.core.prompt_version import version_of
from yourcall.core.safety import too_late
from yourcall.model.events import AnswerGiven, AnswerWritten
from yourcall.model.prompts import Tool


def test_an_answer_to_what_is_asked_is_taken() -> None:
    scene = asked()
    seen = version_of(scene.row())
    done = scene.feed(AnswerGiven(0, "p1", replace(answer(), seen=seen)))
    assert done.verdict is not None
    assert done.verdict.result == "taken"


def test_an_answer_to_another_version_is_refused_and_the_prompt_stays_open() -> None:
    scene = asked()
    other = version_of(replace(scene.row(), body="rm -rf /"))
    done = scene.feed(AnswerGiven(0, "p1", replace(answer(), seen=other)))
    assert done.verdict is not None
    assert (done.verdict.result, scene.row().state) == ("refused", "open")
    assert "changed since you saw" in done.verdict.detail


def test_whatever_a_person_decides_by_makes_another_version() -> None:
    prompt = asked().row()
    question = prompt.questions[0]
    others = [
        replace(prompt, id="p2"),
        replace(prompt, title="other"),
        replace(prompt, body="other"),
        replace(prompt, cwd="/elsewhere"),
        replace(prompt, kind="plan"),
        replace(prompt, request="other"),
        replace(prompt, tool=Tool("Other")),
        replace(prompt, questions=(replace(question, options=question.options[::-1]),)),
        replace(prompt, questions=(replace(question, text="other"),)),
    ]
    assert len({version_of(each) for each in (prompt, *others)}) == len(others) + 1


def test_how_far_an_answer_has_come_makes_no_other_version() -> None:
    scene = asked()
    before = version_of(scene.row())
    scene.feed(AnswerGiven(0, "p1", answer()), AnswerWritten(0, "p1", "a1"))
    assert scene.row().state == "sent"
    assert version_of(scene.row()) == before


def test_a_device_that_was_first_itself_hears_what_it_said() -> None:
    scene = asked()
    mine = replace(answer("deny", "a1", "phone"), via="http")
    scene.feed(AnswerGiven(0, "p1", mine))
    done = scene.feed(AnswerGiven(0, "p1", replace(mine, id="a2")))
    assert done.verdict is not None
    assert (done.verdict.result, done.verdict.detail) == ("too_late", "you already answered: Deny")
    other = scene.feed(AnswerGiven(0, "p1", replace(mine, id="a3", by="tablet")))
    assert other.verdict is not None
    assert other.verdict.detail == "already answered by phone, from another device"


def test_a_name_that_came_another_way_is_nobody_who_answered() -> None:
    scene = asked()
    scene.feed(AnswerGiven(0, "p1", replace(answer("deny", "a1", "phone"), via="telegram")))
    late = too_late(scene.row(), "phone")
    assert late is not None
    assert late.detail == "already answered by phone"
