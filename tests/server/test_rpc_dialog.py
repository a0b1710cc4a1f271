"""What is typed on a connection, read against the prompt that it was shown: digits, keys, texts."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from server_house import ALLOW, ALWAYS, DENY, PERMISSION, STOP

from yourcall.agents.screen_spec import KEYS, key_named
from yourcall.core.safety import objection
from yourcall.model.prompts import Answer, Kind, Option, Prompt, Question, Refused, Tool
from yourcall.model.sessions import Session, SessionState
from yourcall.server.contracts.rpc.dialog import Dialog, DialogAnswer, Moved
from yourcall.server.contracts.rpc.views import prompt_type, standing

RED, BLUE, GREEN = (
    Option(word, word.title(), "choose", digit=str(n)) for n, word in enumerate(("red", "blue", "green"), 1)
)
COLOUR = Question("colour", "Which colour?", (RED, BLUE, GREEN), free_text=True)
SIZES = Question("sizes", "Which sizes?", (RED, BLUE, GREEN), multi_select=True)


class Bodies:
    last_seq = 0

    def body(self, id: str, /) -> bytes | None:
        return None


def prompt(*questions: Question, kind: Kind = "permission", tool: str = "Bash") -> Prompt:
    named = Tool(tool) if tool else None
    return Prompt("p1", kind, "claude", "s1", "/p", "Title", 1.0, tool=named, questions=questions, answerable=True)


def selected(dialog: Dialog) -> list[str]:
    return [option.key for option in dialog.shown(Bodies()).options if option.selected]


@pytest.mark.parametrize(
    ("typed", "option", "text"),
    [
        ("1", "allow", ""),
        ("y", "allow", ""),
        ("b", "always", ""),
        ("d", "deny", ""),
        ("n", "deny", ""),
        (" s\r", "stop", ""),
        ("d use pnpm", "deny", "use pnpm"),
        ("Yes", "allow", ""),
        ("no, and stop", "stop", ""),
        ("deny", "deny", ""),
    ],
)
def test_a_permission_is_answered_by_a_key_or_a_label(typed: str, option: str, text: str) -> None:
    texts = {"permission": text} if text else {}
    assert Dialog(prompt(PERMISSION)).type(typed) == DialogAnswer({"permission": (option,)}, texts)


@pytest.mark.parametrize("typed", [*"0235", "11", "01", "1️⃣", "١", "perhaps", "", " ", "yes please", "-1", "1.0"])
def test_what_names_no_option_of_a_permission_is_refused(typed: str) -> None:
    assert isinstance(Dialog(prompt(PERMISSION)).type(typed), Refused)


def test_a_question_takes_a_key_or_any_text() -> None:
    assert Dialog(prompt(COLOUR, kind="question")).type("2") == DialogAnswer({"colour": ("blue",)}, {})
    # Not an option and its reason: the words of an answer.
    assert Dialog(prompt(COLOUR, kind="question")).type("2 coats") == DialogAnswer({}, {"colour": "2 coats"})


@pytest.mark.parametrize("typed", ["y", "n", "N"])
def test_a_plain_yes_or_no_is_never_the_words_of_an_answer(typed: str) -> None:
    assert isinstance(Dialog(prompt(COLOUR, kind="question")).type(typed), Refused)


@pytest.mark.parametrize(
    ("keys", "option"),
    [
        (["enter"], "allow"),
        (["return"], "allow"),
        (["down", "enter"], "always"),
        (["down", "down", "up", "enter"], "always"),
        (["up", "enter"], "stop"),
        (["end", "enter"], "stop"),
        (["end", "home", "enter"], "allow"),
        (["tab", "right", "left", "enter"], "always"),
        (["pagedown", "enter"], "stop"),
        (["escape"], "deny"),
        (["esc"], "deny"),
    ],
)
def test_named_keys_move_the_highlight_and_take_it(keys: list[str], option: str) -> None:
    dialog = Dialog(prompt(PERMISSION))
    for key in keys[:-1]:
        assert dialog.press(key) == Moved()
        assert len(selected(dialog)) == 1
    assert dialog.press(keys[-1]) == DialogAnswer({"permission": (option,)}, {})


@pytest.mark.parametrize("key", ["backspace", "delete", "space"])
def test_a_key_that_means_nothing_there_is_refused(key: str) -> None:
    assert isinstance(Dialog(prompt(PERMISSION)).press(key), Refused)
    assert isinstance(Dialog(prompt(COLOUR, kind="question")).press("escape"), Refused)  # nothing says no
    assert isinstance(Dialog(prompt(kind="unknown")).press("enter"), Refused)


def test_several_questions_and_ticks_are_one_answer() -> None:
    dialog = Dialog(prompt(COLOUR, SIZES, kind="question"))
    assert dialog.shown(Bodies()).description == "Which colour?"
    assert dialog.type("1") == Moved()
    assert (dialog.shown(Bodies()).description, selected(dialog)) == ("Which sizes?", [])
    for typed, ticked in (("3", ["3"]), ("1", ["1", "3"]), ("3", ["1"]), ("2", ["1", "2"])):
        assert dialog.type(typed) == Moved()
        assert selected(dialog) == ticked
    assert dialog.press("enter") == DialogAnswer({"colour": ("red",), "sizes": ("red", "blue")}, {})


def test_a_no_to_the_first_question_is_the_whole_answer() -> None:
    dialog = Dialog(prompt(Question("go", "Go?", (ALLOW, DENY)), COLOUR, kind="elicitation"))
    assert dialog.press("escape") == DialogAnswer({"go": ("deny",)}, {})


@given(
    st.lists(
        st.one_of(st.text(max_size=6), st.sampled_from(["1", "2", "enter", "down", "space", "esc"])), max_size=12
    )
)
def test_whatever_is_typed_is_a_sound_answer_or_none(words: list[str]) -> None:
    """What a dialog gives names only what it showed: the core has nothing against its options."""
    asked = prompt(Question("first", "First?", (ALLOW, ALWAYS, DENY, STOP), free_text=True), COLOUR, SIZES)
    dialog = Dialog(asked)
    for word in words:
        for done in (dialog.type(word), dialog.press(word)):
            if isinstance(done, DialogAnswer):
                answer = Answer("a", "x", "http", done.choices, done.texts)
                known = {question.id: {o.id for o in question.options} for question in asked.questions}
                assert all(set(picked) <= known[name] for name, picked in done.choices.items())
                wrong = objection(asked, answer)
                assert wrong is None or "not answered" in wrong.reason
                return


@pytest.mark.parametrize(
    ("kind", "tool", "type"),
    [
        ("permission", "Write", "write_file"),
        ("permission", "write_file", "write_file"),
        ("permission", "MultiEdit", "edit_file"),
        ("permission", "replace", "edit_file"),
        ("permission", "delete_file", "delete_file"),
        ("permission", "Bash", "bash_command"),
        ("permission", "run_shell_command", "bash_command"),
        ("permission", "mcp__github__create_issue", "mcp_tool"),
        ("permission", "Telepathy", "unknown"),
        ("trust", "", "trust_folder"),
        ("question", "AskUserQuestion", "unknown"),
    ],
)
def test_permission_types(kind: Kind, tool: str, type: str) -> None:
    assert prompt_type(prompt(PERMISSION, kind=kind, tool=tool), Bodies()) == type


@pytest.mark.parametrize(
    ("session", "kinds", "state", "waiting"),
    [
        ("working", [], "thinking", False),
        ("idle", [], "idle", False),
        ("ended", ["permission"], "idle", False),
        ("unknown", [], "idle", False),
        ("waiting", ["permission"], "permission", True),
        ("waiting", ["plan"], "permission", True),
        ("waiting", ["question"], "question", True),
        ("waiting", ["elicitation"], "question", True),
        ("idle", ["ready"], "idle", False),
        ("idle", ["problem"], "error", False),
        ("idle", ["problem", "permission"], "permission", True),
    ],
)
def test_the_five_states(session: SessionState, kinds: list[Kind], state: str, waiting: bool) -> None:
    prompts = [prompt(PERMISSION, kind=kind) for kind in kinds]
    now = standing(Session("s1", "claude", "/p", session), prompts, Bodies())
    assert (now.state, now.waiting, bool(now.prompt_type)) == (state, waiting, waiting)


NAMED = "enter return escape esc up down left right tab backspace delete home end pageup pagedown space"


@pytest.mark.parametrize("key", NAMED.split())
def test_every_key_of_the_contract_has_a_name_here(key: str) -> None:
    assert key_named(key) in KEYS
