"""Screens of the real droid, the same screens bent out of shape, and the keys that answer its dialogs."""

from __future__ import annotations

import re

import msgspec
import pytest

from kit.corpus import SHELLS, Case, by_name, cases
from yourcall.agents.droid.screen.keys import DROID_SCREEN, draft, fill, next_key, read
from yourcall.agents.droid.screen.offer import explain, offer
from yourcall.agents.droid.screen.read import read_screen
from yourcall.agents.droid.tools import questions_of
from yourcall.agents.kit.wire import call_fingerprint
from yourcall.agents.screen_spec import Press, Snapshot
from yourcall.agents.sightings import AnnouncedCall
from yourcall.model.prompts import Answer, Prompt, Refused

CASES = cases("droid")
WAITING = [case for case in CASES if case.expect.state == "waiting"]
PERMISSIONS = [case for case in WAITING if case.expect.kind == "permission"]
BELOW = ["╭" + "─" * 78 + "╮", "│ >" + " " * 76 + "│", "╰" + "─" * 78 + "╯", "", "? for help"]
QUESTIONNAIRE = """1. [question] Which database should we use?
[topic] Database
[option] PostgreSQL
[option] SQLite

2. [question] Which features? (multi)
[topic] Features
[option] Login
[option] Search"""


def named(name: str) -> Snapshot:
    (case,) = [case for case in CASES if case.name == name]
    return read(case.screen)


def told(tool: str, **fields: object) -> AnnouncedCall:
    raw = msgspec.json.encode(fields)
    mark = call_fingerprint(tool, fields)
    prompt = Prompt("p1", "permission", "droid", "s", "/p", f"{tool} it", 1.0, body="whole", fingerprint=mark)
    return AnnouncedCall("h1", 1.0, False, tool, raw, prompt)


@pytest.mark.parametrize("case", CASES, **by_name)
def test_a_captured_screen_is_read_exactly(case: Case) -> None:
    assert read_screen(case.screen, case.title) == case.expect


def test_the_corpus_is_there() -> None:
    """An empty folder would make every test above pass."""
    assert len(CASES) >= 60
    kinds = {case.expect.kind for case in CASES}
    assert kinds == {"permission", "question", "plan", "trust", None}


@pytest.mark.parametrize("case", WAITING, **by_name)
def test_a_dialog_above_a_live_input_box_is_not_waiting(case: Case) -> None:
    assert read_screen("\n".join([*case.screen.rstrip().split("\n"), *BELOW])).state == "idle"


@pytest.mark.parametrize("case", WAITING, **by_name)
def test_a_dialog_of_a_program_that_has_left_is_not_waiting(case: Case) -> None:
    for shell in SHELLS:
        assert read_screen(f"{case.screen.rstrip()}\n{shell}").state == "idle"


@pytest.mark.parametrize("case", PERMISSIONS, **by_name)
def test_without_its_colours_a_permission_can_only_be_refused(case: Case) -> None:
    plain = read(re.sub(r"\x1b\[[\d;]*m", "", case.screen))
    assert plain.reading.selected is None
    (asked,) = offer(plain).questions
    assert [option.effect for option in asked.options] == ["deny"]
    assert next_key(plain, plain, "deny") == Press("escape", decides=True)
    assert isinstance(next_key(plain, plain, "allow"), Refused)


def test_the_highlight_is_moved_to_the_row_and_only_then_enter_is_pressed() -> None:
    first, second = named("perm-80x24"), named("perm-down-80x24")
    assert (first.reading.selected, second.reading.selected) == (0, 1)
    assert first.mark == second.mark
    assert next_key(first, first, "allow") == Press("enter", decides=True)
    assert next_key(first, second, "allow") == Press("up", decides=False)
    assert next_key(first, first, "deny") == Press("down", decides=False)
    assert next_key(first, second, "deny") == Press("down", decides=False)
    assert isinstance(next_key(first, named("high-80x24"), "allow"), Refused)
    assert isinstance(next_key(first, named("idle-start-80x24"), "allow"), Refused)


@pytest.mark.parametrize("size", ["80x24", "50x30"])
def test_what_the_screen_cuts_is_only_refused_unless_a_hook_told_it_whole(size: str) -> None:
    shot = named(f"long-{size}")
    assert shot.reading.clipped
    effects = [option.effect for option in offer(shot).questions[0].options]
    assert effects == ["deny"]
    command = 'python3 -c "print(1)" && ' + " && ".join(
        f"echo a-long-enough-argument-number-{n}" for n in range(12)
    )
    found = explain(shot, [told("Execute", command="ls"), told("Execute", command=command)])
    assert found is not None
    assert (found.offer.title, found.offer.body) == ("Execute it", "whole")
    assert [o.effect for o in found.offer.questions[0].options] == ["allow_once", "allow_always", "deny"]
    assert explain(shot, [told("Execute", command=command.replace("number-11", "number-12"))]) is None


def test_of_two_calls_that_would_fit_none_is_meant() -> None:
    """Of a long command the middle is left out, so two of them may look alike."""
    shot = named("long-80x24")
    head, tail = 'python3 -c "print(1)" && echo a-', "; x && echo a-long-enough-argument-number-11"
    both = [told("Execute", command=f"{head}{middle}{tail}") for middle in ("one", "two")]
    assert explain(shot, both[:1]) is not None
    assert explain(shot, both) is None


def test_several_commands_are_allowed_all_or_not() -> None:
    shot = named("two-80x24")
    made = offer(shot)
    assert shot.reading.target == "touch one\ntouch two"
    assert next((o.label, o.effect) for o in made.questions[0].options) == ("Yes, allow all", "allow_once")
    assert explain(shot, [told("Execute", command="touch one"), told("Execute", command="touch two")]) is None


def steps(prompt: Prompt, answer: Answer, *screens: str) -> list[str]:
    """The keys that an answer takes, on these screens in their order."""
    filling, pressed = fill(prompt, answer), list[str]()
    next(filling)
    for name in screens:
        try:
            step = filling.send(named(name))
        except StopIteration as end:
            return [*pressed, f"refused: {end.value.reason}"] if end.value else pressed
        if isinstance(step, Press):
            pressed.append(step.key + ("!" if step.decides else ""))
    return pressed


def asked(shot: str, *calls: AnnouncedCall) -> Prompt:
    found = explain(named(shot), calls)
    assert found is not None
    made = found.offer
    return Prompt("p1", made.kind, "droid", "s", "/p", made.title, 1.0, questions=made.questions)


def test_a_question_takes_one_digit_and_several_one_each() -> None:
    one = asked("ask-80x24", told("AskUser", questionnaire=QUESTIONNAIRE.split("\n\n")[0]))
    answer = Answer("a", "x", "cli", choices={"q1": ("o2",)})
    assert steps(one, answer, "ask-80x24") == ["2!"]
    both = QUESTIONNAIRE.split("\n\n")[0] + "\n\n2. [question] Which colour?\n[option] Red\n[option] Blue"
    two = asked("ask-80x24", told("AskUser", questionnaire=both))
    answer = Answer("a", "x", "cli", choices={"q1": ("o2",), "q2": ("o1",)})
    assert steps(two, answer, "ask-80x24", "ask-second-100x36") == ["2", "1!"]
    assert steps(two, answer, "ask-80x24", *["ask-80x24"] * 120)[1:] != ["1!"]
    own = Answer("a", "x", "cli", texts={"q1": "neither"})
    assert steps(one, own, "ask-80x24")[0].startswith("refused: Pick one option")


def test_a_plan_is_approved_on_two_pages_and_sent_back_by_one_digit() -> None:
    plan = asked("plan-80x24", told("ExitSpecMode", plan="# Plan"))
    effects = [(o.label, o.effect) for o in plan.questions[0].options]
    assert effects == [("Proceed with the proposal", "allow_once"), ("No and explain why", "deny")]
    allow = Answer("a", "x", "cli", choices={"decision": ("allow",)})
    assert steps(plan, allow, "plan-80x24", "plan-autonomy-100x36") == ["1", "1!"]
    assert steps(plan, allow, "plan-80x24", "idle-start-80x24", *["idle-start-80x24"] * 120)[-1].startswith(
        "refused"
    )
    deny = Answer("a", "x", "cli", choices={"decision": ("deny",)})
    assert steps(plan, deny, "plan-80x24") == ["5!"]


def test_the_trust_dialog_takes_the_digit_of_its_row() -> None:
    shot = named("trust-100x36")
    options = offer(shot).questions[0].options
    assert [(o.id, o.effect) for o in options] == [("trust", "allow_always"), ("no", "deny")]
    assert next_key(shot, shot, "trust") == Press("1", decides=True)


def test_a_draft_is_seen_and_a_hint_is_none() -> None:
    drafts = {case.name: draft(case.screen) for case in CASES if case.expect.state == "idle"}
    assert drafts["draft-perm-80x24"] == "DO perm"
    assert {drafts[f"{name}-80x24"] for name in ("idle-start", "perm-after-esc", "idle-mode", "err")} == {""}
    assert {draft(case.screen) for case in WAITING} == {None}


def test_a_turn_that_was_stopped_is_ready() -> None:
    stopped = DROID_SCREEN.stopped
    assert stopped is not None
    assert stopped(named("perm-after-esc-80x24")) is not None
    assert stopped(named("err-80x24")) is None
    assert stopped(named("perm-80x24")) is None


def test_a_questionnaire_is_read_as_the_model_wrote_it() -> None:
    first, second = questions_of(QUESTIONNAIRE)
    assert (first.text, [o.label for o in first.options]) == (
        "Which database should we use?",
        ["PostgreSQL", "SQLite"],
    )
    assert (second.text, second.multi_select) == ("Which features?", True)
    assert questions_of("no questions at all") == ()


@pytest.mark.parametrize("size", ["120x40", "80x24", "50x30"])
def test_a_turn_that_runs_is_seen_and_the_hint_in_the_box_is_no_draft(size: str) -> None:
    (case,) = [case for case in CASES if case.name == f"working-{size}"]
    assert read(case.screen).reading.state == "working"
    assert draft(case.screen) == ""
    assert draft(case.screen.replace("> Enter to steer", "> Enter to  stop")) != ""
