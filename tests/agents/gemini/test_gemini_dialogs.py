"""Dialogs of Gemini CLI as prompts: what is offered, what hooks add, which single key is pressed, or none."""

from __future__ import annotations

import json
from collections.abc import Generator
from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace

from yourcall.agents.gemini import hooks as reading
from yourcall.agents.gemini.screen.fill import fill
from yourcall.agents.gemini.screen.keys import (
    GEMINI_SCREEN,
    arrived,
    dismiss,
    draft,
    next_key,
    postponed,
    read,
    typed,
)
from yourcall.agents.gemini.screen.match import explain, offered
from yourcall.agents.screen_spec import Paste, PreparedText, Press, Snapshot
from yourcall.agents.sightings import AnnouncedCall, HookCall
from yourcall.model.prompts import Answer, Option, Prompt, Question, Refused

CORPUS = Path(__file__).parents[2] / "corpus" / "gemini"
HOOKS: dict[str, list[dict[str, Any]]] = json.loads(
    (Path(__file__).parents[2] / "data" / "gemini" / "hooks.json").read_text()
)


def shot_of(name: str) -> Snapshot:
    folder = CORPUS / name
    title = json.loads((folder / "meta.json").read_text()).get("pane_title") or ""
    return read(f"\x1b]2;{title}\x07" + (folder / "screen.txt").read_text())


def told_of(payloads: list[dict[str, Any]]) -> list[AnnouncedCall]:
    heard = [
        reading.read_hook(
            HookCall(1000.0 + n, p["hook_event_name"], json.dumps(p).encode(), {}, "", f"id{n:08d}")
        ).told
        for n, p in enumerate(payloads)
    ]
    return [each for each in heard if each is not None]


SHOTS = {folder.name: shot_of(folder.name) for folder in sorted(CORPUS.iterdir())}
WAITING = [name for name, shot in SHOTS.items() if shot.reading.state == "waiting"]


@pytest.mark.parametrize("name", WAITING)
def test_every_option_offered_is_one_digit_of_the_row_with_its_label(name: str) -> None:
    shot = SHOTS[name]
    offer = offered(shot)
    assert offer.title
    assert offer.questions or offer.why
    for question in offer.questions:
        for option in question.options:
            if offer.kind in ("unknown", "question") or option.id == "feedback":
                continue
            press = next_key(shot, shot, option.id)
            assert isinstance(press, Press), (option, press)
            if not press.decides:
                assert press.key == "up"  # out of a row that takes text
                continue
            row = next(each for each in shot.reading.options if each.key == press.key)
            assert row.label == option.label


@pytest.mark.parametrize("name", WAITING)
def test_what_the_screen_cuts_is_never_allowed_by_the_screen_alone(name: str) -> None:
    shot = SHOTS[name]
    effects = {option.effect for question in offered(shot).questions for option in question.options}
    if shot.reading.clipped and shot.reading.kind != "unknown":
        assert effects <= {"deny", "stop"}
    cut = replace(shot, reading=replace(shot.reading, clipped=True))
    if shot.reading.kind == "permission":
        assert {o.effect for q in offered(cut).questions for o in q.options} <= {"deny"}


def test_a_secret_is_never_asked_for_from_afar() -> None:
    offer = offered(SHOTS["v0.61.0-apikey-80x24"])
    assert offer.questions == ()
    assert "never carries" in offer.why


@pytest.mark.parametrize("name", [name for name in HOOKS if name in SHOTS])
def test_a_dialog_is_told_by_its_hooks_in_any_order(name: str) -> None:
    told = told_of(HOOKS[name])
    first = explain(SHOTS[name], told)
    assert first is not None, name
    calls = {each.input: each.tool for each in told if not each.asked}
    assert calls[first.input] == first.tool
    again = explain(SHOTS[name], told[::-1])
    assert again is not None
    assert again.offer == first.offer
    if SHOTS[name].reading.kind == "permission":
        effects = [option.effect for option in first.offer.questions[0].options]
        assert effects[0] == "allow_once"
        assert effects[-1] == "deny"


def test_the_queue_is_told_apart_and_what_is_answered_is_not_meant_again() -> None:
    told = told_of(HOOKS["shell-parallel-120x40"])
    first = explain(SHOTS["shell-parallel-120x40"], told)
    second = explain(SHOTS["shell-parallel-2of3-120x40"], told)
    assert first is not None
    assert second is not None
    assert (json.loads(first.input)["command"], json.loads(second.input)["command"]) == (
        "touch p1.txt",
        "touch p2.txt",
    )
    left = [each for each in told if each.id not in first.told]
    assert explain(SHOTS["shell-parallel-120x40"], left) is None


def shell_told(*commands: str) -> list[AnnouncedCall]:
    base = HOOKS["shell-120x40"]
    found: list[dict[str, Any]] = []
    for command in commands:
        before, asked = json.loads(json.dumps(base[1])), json.loads(json.dumps(base[2]))
        before["tool_input"]["command"] = asked["details"]["command"] = command
        found += [before, asked]
    return told_of(found)


def clipped(*lines: str) -> Snapshot:
    """A shell dialog whose top is cut off the frame."""
    shot = SHOTS["shell-120x40"]
    return replace(shot, reading=replace(shot.reading, target=" ".join(lines), clipped=True))


def test_another_command_is_not_taken_for_the_one_on_the_screen() -> None:
    shot = SHOTS["shell-120x40"]
    assert explain(shot, shell_told("touch a.txt")) is not None
    assert explain(shot, shell_told("rm -rf ~; touch a.txt")) is None
    assert explain(shot, shell_told("touch b.txt")) is None
    assert explain(shot, []) is None


def test_two_commands_with_one_end_are_not_told_apart_by_a_cut_dialog() -> None:
    shot = clipped("echo done")
    one = explain(shot, shell_told("rm -rf build\necho done"))
    assert one is not None
    assert one.offer.body.startswith("rm -rf build\necho done")
    assert explain(shot, shell_told("ls\necho done", "rm -rf ~\necho done")) is None


def test_a_notice_without_its_call_still_tells_the_command() -> None:
    only = [each for each in shell_told("rm -rf build\necho done") if each.asked]
    found = explain(clipped("echo done"), only)
    assert found is not None
    assert found.offer.body == "rm -rf build\necho done"


def test_an_mcp_call_with_other_arguments_is_another_one() -> None:
    payloads = json.loads(json.dumps(HOOKS["mcp-120x40"]))
    assert explain(SHOTS["mcp-120x40"], told_of(payloads)) is not None
    payloads[1]["tool_input"]["env"] = "staging"
    assert explain(SHOTS["mcp-120x40"], told_of(payloads)) is None


def test_a_dialog_that_was_put_off_is_told_from_one_that_was_answered() -> None:
    first, second = SHOTS["shell-parallel-120x40"], SHOTS["shell-parallel-2of3-120x40"]
    assert postponed(SHOTS["shell-120x40"], first)  # alone for a moment, then `1 of 3` is another one
    assert not postponed(first, second)
    assert not postponed(first, SHOTS["hello-120x40"])
    assert not postponed(first, SHOTS["shell-120x40"])


# --- keys -----------------------------------------------------------------------------------------------------


def test_another_dialog_or_none_gets_no_key() -> None:
    seen, other = SHOTS["shell-120x40"], SHOTS["shell-rm-120x40"]
    assert isinstance(next_key(seen, other, "allow"), Refused)
    assert isinstance(next_key(seen, SHOTS["hello-120x40"], "allow"), Refused)
    first, second = SHOTS["shell-parallel-120x40"], SHOTS["shell-parallel-2of3-120x40"]
    assert isinstance(next_key(first, second, "allow"), Refused)
    assert next_key(seen, seen, "allow") == Press("1", decides=True)
    assert isinstance(next_key(seen, seen, "allow_always"), Refused)


def test_the_same_mcp_tool_with_other_arguments_gets_no_key() -> None:
    """The reading of both is the same: the letters of the dialog are not."""
    text = (CORPUS / "mcp-120x40" / "screen.txt").read_text()
    title = "\x1b]2;✋  Action Required (x)\x07"
    seen, now = (
        read(title + text),
        read(title + text.replace('"env":"prod","force":true', '"env":"test","force":true')),
    )
    assert seen.reading == now.reading
    assert isinstance(next_key(seen, now, "allow"), Refused)


def test_the_highlight_may_be_anywhere() -> None:
    text = (CORPUS / "shell-120x40" / "screen.txt").read_text()
    moved = text.replace("● 1. Allow once", "  1. Allow once").replace("  3. No, suggest", "● 3. No, suggest")
    title = "\x1b]2;✋  Action Required (x)\x07"
    seen, now = read(title + text), read(title + moved)
    assert now.reading.selected == 2
    assert next_key(seen, now, "allow") == Press("1", decides=True)


def test_the_editors_nudge_is_dismissed_and_nothing_else_is() -> None:
    nudge = SHOTS["v0.61.0-ide-nudge-80x30"]
    assert nudge.reading.kind == "startup"
    option = dismiss(nudge)
    press = next_key(nudge, nudge, option)
    assert press == Press("2", decides=True)
    assert [name for name in WAITING if dismiss(SHOTS[name])] == ["v0.61.0-ide-nudge-80x30"]


def played(
    steps: Generator[Press | Paste | None, Snapshot, Refused | None], screen: Snapshot
) -> tuple[set[object], object]:
    """What is pressed on a screen that stays as it is, and how that ends."""
    pressed: set[object] = set()
    while True:
        try:
            pressed.add(steps.send(screen))
        except StopIteration as end:
            return pressed - {None}, end.value


def test_a_question_that_is_no_longer_up_is_not_filled_in() -> None:
    told = told_of(HOOKS["ask-yesno-120x40"])
    found = explain(SHOTS["ask-yesno-120x40"], told)
    assert found is not None
    prompt = Prompt("p", "question", "gemini", "s", "/", "?", 0.0, questions=found.offer.questions)
    answer = Answer("a", "me", "http", {"q1": ("o2",)})
    steps = fill(prompt, answer)
    assert next(steps) is None
    assert steps.send(SHOTS["ask-yesno-120x40"]) == Press("2", decides=True)
    for other in ("ask-text-120x40", "shell-120x40", "hello-120x40"):
        steps = fill(prompt, answer)
        next(steps)
        pressed, said = played(steps, SHOTS[other])
        assert pressed == set()
        assert isinstance(said, Refused)


def test_a_page_that_is_drawn_in_pieces_is_waited_for() -> None:
    """On a busy machine it stood still half drawn for long enough to be taken for another one."""
    found = explain(SHOTS["ask-yesno-120x40"], told_of(HOOKS["ask-yesno-120x40"]))
    assert found is not None
    prompt = Prompt("p", "question", "gemini", "s", "/", "?", 0.0, questions=found.offer.questions)
    steps = fill(prompt, Answer("a", "me", "http", {"q1": ("o2",)}))
    next(steps)
    assert [steps.send(SHOTS["hello-120x40"]) for _ in range(10)] == [None] * 10
    assert steps.send(SHOTS["ask-yesno-120x40"]) == Press("2", decides=True)


def test_a_row_that_is_out_of_sight_is_seen_before_its_digit_is_pressed() -> None:
    """The same question with other rows looks the same where the list is cut: its fourth row may be any."""
    title, name = "\x1b]2;✋  Action Required (x)\x07", "v0.61.0-ask-manyopt-80x24"
    top = (CORPUS / name / "screen.txt").read_text()
    scrolled = (
        top.replace("│ ● 1.  A", "│   1.  A")
        .replace("  3.  C     ", "● 4.  D     ")
        .replace("  2.  B ", "  3.  C ")
    )
    scrolled = "\n".join(row for row in scrolled.split("\n") if "1.  A" not in row and "fifty col" not in row)
    asked = read(title + top).reading
    labels = [*(each.label for each in asked.options), "D"]
    options = tuple(Option(f"o{n}", label, "choose") for n, label in enumerate(labels, 1))
    question = Question("q1", asked.question or "", options, free_text=True)
    prompt = Prompt("p", "question", "gemini", "s", "/", "?", 0.0, questions=(question,))
    for last, pressed in (("D", True), ("Delete it", False)):
        steps = fill(prompt, Answer("a", "me", "http", {"q1": ("o4",)}))
        next(steps)
        assert steps.send(read(title + top)) == Press("down", decides=False)
        below = read(title + scrolled.replace("4.  D        ", f"4.  {last:9}"))
        assert below.reading.options[below.reading.selected or 0].label == last
        if pressed:
            assert steps.send(below) == Press("4", decides=True)
            continue
        with pytest.raises(StopIteration) as ended:
            steps.send(below)
        assert isinstance(ended.value.value, Refused)


# --- the input box --------------------------------------------------------------------------------------------


def test_the_input_box_is_empty_written_in_or_not_there() -> None:
    def of(name: str) -> str | None:
        title = json.loads((CORPUS / name / "meta.json").read_text()).get("pane_title") or ""
        return draft(f"\x1b]2;{title}\x07" + (CORPUS / name / "screen.txt").read_text())

    assert of("idle-start-120x40") == of("idle-yolo-120x40") == of("v0.28.2-hello-80x24") == ""
    assert of("composer-draft-120x40")
    assert all(of(name) is None for name in WAITING)


def test_a_text_is_made_safe_and_known_again() -> None:
    assert isinstance(typed("/quit", as_command=False), Refused)
    assert isinstance(typed("  /quit", as_command=False), Refused)
    assert typed("/quit", as_command=True) == PreparedText("/quit")
    assert typed("a\\", as_command=False) == PreparedText("a\\ ")
    assert isinstance(typed("a\x1b[2J", as_command=False), Refused)
    long = "line\n" * 7 + "end"
    assert arrived("[Pasted Text: 8 lines]", PreparedText(long))
    assert not arrived("[Pasted Text: 9 lines]", PreparedText(long))
    assert arrived("two words", PreparedText("two  words"))
    assert not arrived("xtwo words", PreparedText("two words"))


def test_the_screen_is_one_whole() -> None:
    assert GEMINI_SCREEN.explain is explain
    assert GEMINI_SCREEN.breath_s > 0.04
