"""From a captured screen of Codex to the one key that an answer needs, or to a refusal."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from msgspec.structs import replace

from yourcall.agents.codex.screen.keys import CODEX_SCREEN
from yourcall.agents.codex.screen.offer import rows
from yourcall.agents.screen_spec import PreparedText, Press, Snapshot
from yourcall.model.prompts import Refused

CORPUS = Path(__file__).parents[2] / "corpus" / "codex"
on = CODEX_SCREEN


def shot(name: str) -> Snapshot:
    title = json.loads((CORPUS / name / "meta.json").read_text()).get("pane_title") or ""
    return on.read(f"\x1b]2;{title}\x07{(CORPUS / name / 'screen.txt').read_text()}")


SHOTS = {folder.name: shot(folder.name) for folder in sorted(CORPUS.iterdir())}
WAITING = {name: each for name, each in SHOTS.items() if each.reading.state == "waiting"}
COMMAND = "cmd-prefix-rule-80x24"


def ids(name: str) -> dict[str, str]:
    return {
        option.id: option.effect for question in on.offer(SHOTS[name]).questions for option in question.options
    }


def press(name: str, option: str) -> Press | Refused:
    return on.next_key(SHOTS[name], SHOTS[name], option)


@pytest.mark.parametrize("name", WAITING)
def test_every_dialog_is_answerable_or_says_why_not(name: str) -> None:
    made = on.offer(WAITING[name])
    assert made.title
    assert made.body == WAITING[name].text
    assert made.questions or made.why
    for question in made.questions:
        assert len({option.id for option in question.options}) == len(question.options)
        for option in question.options:
            assert isinstance(press(name, option.id), Press)


@pytest.mark.parametrize("name", WAITING)
def test_a_digit_is_that_of_the_row_with_the_label(name: str) -> None:
    reading = WAITING[name].reading
    for place, option in rows(reading):
        step = press(name, option.id)
        if isinstance(step, Press) and step.key.isdigit():
            assert step == Press(reading.options[place].key or "", decides=True)
            assert reading.options[place].label.startswith(option.label[:40])


def test_two_is_always_in_one_dialog_and_no_in_the_next() -> None:
    assert ids(COMMAND) == {"allow": "allow_once", "allow_always": "allow_always", "deny": "stop"}
    assert press(COMMAND, "allow_always") == Press("2", decides=True)
    assert ids("perm-extra-80x24") == {"allow": "allow_once", "deny": "stop"}
    assert press("perm-extra-80x24", "deny") == Press("2", decides=True)
    assert isinstance(press("perm-extra-80x24", "allow_always"), Refused)


@pytest.mark.parametrize(
    ("name", "option", "step"),
    [
        ("v0.166.0-hooks-down-50x30", "trust", Press("up", decides=False)),
        ("v0.166.0-hooks-down-50x30", "continue", Press("enter", decides=True)),
        ("v0.142.5-hooks-80x24", "trust", Press("down", decides=False)),
        ("startup-model-migration-80x24", "use", Press("down", decides=False)),
        ("mcp-approval-80x24", "allow", Press("enter", decides=True)),
        ("mcp-approval-80x24", "deny", Press("down", decides=False)),
    ],
)
def test_where_digits_mean_different_things_the_highlight_is_moved(name: str, option: str, step: Press) -> None:
    assert press(name, option) == step


def test_enter_comes_only_after_the_highlight_was_seen_on_the_row() -> None:
    seen = SHOTS["v0.142.5-hooks-80x24"]
    there = replace(seen, reading=replace(seen.reading, selected=1))
    beyond = replace(seen, reading=replace(seen.reading, selected=2))
    nowhere = replace(seen, reading=replace(seen.reading, selected=None))
    assert on.next_key(seen, there, "trust") == Press("enter", decides=True)
    assert on.next_key(seen, beyond, "trust") == Press("up", decides=False)
    assert isinstance(on.next_key(seen, nowhere, "trust"), Refused)


@pytest.mark.parametrize("name", WAITING)
def test_nothing_is_pressed_on_any_other_screen(name: str) -> None:
    """Of two captures of one dialog only those with the very same words count as the same."""
    seen = WAITING[name]
    offered = [option.id for question in on.offer(seen).questions for option in question.options]
    for other in SHOTS.values():
        was, new = seen.reading, other.reading
        same = (was.kind, was.title, was.question, was.target, was.options) == (
            new.kind, new.title, new.question, new.target, new.options
        )  # fmt: skip
        if not same:
            assert all(isinstance(on.next_key(seen, other, option), Refused) for option in offered)


def test_a_page_that_counts_anew_when_its_highlight_moves_is_the_same_page() -> None:
    seen = SHOTS["mcp-approval-80x24"]
    text = (CORPUS / "mcp-approval-80x24" / "screen.txt").read_text()
    moved = on.read(
        text.replace("Field 1/1", "Field 1/1 (1 required unanswered)")
        .replace("› 1. Allow ", "  1. Allow ")
        .replace("  2. Allow for", "› 2. Allow for")
    )
    assert moved.reading.title != seen.reading.title
    assert moved.reading.selected == 1
    assert moved.mark == seen.mark != ""
    assert on.next_key(seen, moved, "allow_session") == Press("enter", decides=True)
    assert SHOTS["mcp-form2-f1-80x24"].mark != SHOTS["mcp-form2-f2-80x24"].mark


def test_a_dialog_that_no_longer_fits_gets_no_key() -> None:
    seen = SHOTS[COMMAND]
    cut = replace(seen, reading=replace(seen.reading, clipped=True))
    assert isinstance(on.next_key(seen, cut, "allow"), Refused)


@pytest.mark.parametrize("name", [name for name, each in WAITING.items() if each.reading.clipped])
def test_what_is_not_seen_whole_is_never_allowed(name: str) -> None:
    assert set(ids(name).values()) <= {"deny", "stop"}
    assert on.offer(WAITING[name]).why


def test_a_plan_that_does_not_fit_can_only_be_declined() -> None:
    assert ids("plan-approval-80x24") == {"deny": "deny"}
    assert ids("plan-approval-120x40") == {"allow": "allow_once", "allow_session": "allow_session", "deny": "deny"}
    assert press("plan-approval-80x24", "deny") == Press("3", decides=True)


@pytest.mark.parametrize("name", ["startup-login-80x24", "startup-login-50x30"])
def test_signing_in_is_left_to_the_desk(name: str) -> None:
    made = on.offer(SHOTS[name])
    assert (made.kind, made.questions) == ("startup", ())
    assert "signed in" in made.why


@pytest.mark.parametrize(
    "name", ["ask-three-q2-notes-80x24", "v0.142.5-ask3-notes-80x24", "v0.166.0-ask3-q2-notesdigit-80x24"]
)
def test_while_somebody_writes_notes_a_digit_would_be_a_letter(name: str) -> None:
    made = on.offer(SHOTS[name])
    assert (made.questions, "writing" in made.why) == ((), True)
    assert isinstance(on.next_key(SHOTS[name], SHOTS[name], "o1"), Refused)


def test_hooks_and_trust_are_for_a_person() -> None:
    options = {o.id: o for q in on.offer(SHOTS["v0.158.0-hooks-80x24"]).questions for o in q.options}
    assert options["trust"].effect == "allow_always"
    assert "Only a person" in options["trust"].description
    assert options["continue"].effect == "deny"


# --- the input box


@pytest.mark.parametrize("name", [name for name, each in SHOTS.items() if each.reading.state == "waiting"])
def test_a_dialog_has_no_input_box(name: str) -> None:
    assert on.draft((CORPUS / name / "screen.txt").read_text()) is None


def test_a_menu_is_no_draft() -> None:
    assert on.draft((CORPUS / "v0.166.0-menu-model-80x24" / "screen.txt").read_text()) is None


@pytest.mark.parametrize("screen", ["", "\n" * 23, "\x1b]2;codex\x07" + "\n" * 23, " \n \n"])
def test_an_empty_screen_has_no_draft(screen: str) -> None:
    """Codex empties it between two pages, such as after the trust of a folder."""
    assert on.draft(screen) is None
    assert on.read(screen).reading.state == "idle"


def test_a_draft_is_read_and_a_grey_hint_is_not() -> None:
    screen = (CORPUS / "idle-draft-multiline-80x24" / "screen.txt").read_text()
    assert on.draft(screen) == "line one\nline two — ünï\n\n  indented 4"
    fresh = (CORPUS / "idle-fresh-80x24" / "screen.txt").read_text()
    hint = "Ask Codex to do anything"
    assert on.draft(fresh.replace(hint, f"\x1b[2m{hint}\x1b[0m")) == ""


def test_a_text_is_seen_to_have_arrived() -> None:
    assert on.arrived("[Pasted Content 3004 chars]", PreparedText("x" * 3004))
    assert not on.arrived("[Pasted Content 3003 chars]", PreparedText("x" * 3004))
    assert on.arrived("one two\nthree", PreparedText("one two\n  three"))
    assert not on.arrived("one two", PreparedText("one two three"))
    assert on.arrived("zerowidth", PreparedText("zero\u200bwidth"))
    assert isinstance(on.typed(" \n", False), Refused)
    assert isinstance(on.typed("a\x1b[A", False), Refused)


def test_a_message_is_never_taken_for_a_command_or_a_choice() -> None:
    """Measured on 0.166.0: ` !ls` still runs in the shell; `@app` and Enter picks a file."""
    assert isinstance(on.typed("!ls", False), Refused)
    assert isinstance(on.typed("  !ls", False), Refused)
    assert on.typed("!ls", True) == PreparedText("!ls")
    slash = on.typed("/status", False)
    assert isinstance(slash, PreparedText)
    assert slash.paste == " /status "
    assert on.typed("look at @app", False) == PreparedText("look at @app ")
    assert on.typed("what is $x", False) == PreparedText("what is $x ")
    assert on.typed("mail a@b.c", False) == PreparedText("mail a@b.c")
