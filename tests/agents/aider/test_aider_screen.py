"""Screens of the real aider, and the word that answers its questions: Enter alone is a yes, and never sent."""

from __future__ import annotations

import re

import pytest

from kit.corpus import SHELLS, Case, by_name, cases
from yourcall.agents.aider.discover import runs
from yourcall.agents.aider.screen.keys import AIDER_SCREEN, draft, fill, next_key, offer, read, typed
from yourcall.agents.aider.screen.read import read_screen
from yourcall.agents.screen_spec import Paste, Press, Snapshot
from yourcall.model.prompts import Answer, Prompt, Refused

CASES = cases("aider")
WAITING = [case for case in CASES if case.expect.state == "waiting"]
ASKED = "Run shell command? (Y)es/(N)o/(D)on't ask again [Yes]:"


def named(name: str) -> Snapshot:
    return read(next(case.screen for case in CASES if case.name == name))


def screen(*subject: str, answer: str = "", above: str = "Tokens: 2.5k sent, 11 received.") -> str:
    """The end of a turn, as aider draws it."""
    drawn = [f"\x1b[7m{line}\x1b[0m" for line in subject]
    return "\n".join(["─" * 80, "diff> DO it", "Run it:", above, *drawn, f"{ASKED} {answer}".rstrip()])


def prompt_of(shot: Snapshot) -> Prompt:
    made = offer(shot)
    return Prompt("p1", made.kind, "aider", "s", "/p", made.title, 1.0, questions=made.questions)


@pytest.mark.parametrize("case", CASES, **by_name)
def test_a_captured_screen_is_read_exactly(case: Case) -> None:
    assert read_screen(case.screen) == case.expect


def test_the_corpus_is_there() -> None:
    assert len(CASES) >= 18
    assert {case.expect.state for case in CASES} >= {"waiting", "idle"}
    assert {case.expect.kind for case in CASES} == {"permission", "startup", None}


@pytest.mark.parametrize("case", WAITING, **by_name)
def test_a_question_above_an_input_line_or_a_shell_is_over(case: Case) -> None:
    text = case.screen.rstrip()
    assert read_screen(f"{text} n\n{'─' * 80}\ndiff>").state == "idle"
    for shell in SHELLS:
        assert read_screen(f"{text}\n{shell}").state != "waiting"


@pytest.mark.parametrize("case", [case for case in WAITING if case.expect.kind == "permission"], **by_name)
def test_without_its_colours_it_can_only_be_refused(case: Case) -> None:
    plain = read(re.sub(r"\x1b\[[\d;]*m", "", case.screen))
    assert plain.reading.clipped
    assert {option.effect for option in offer(plain).questions[0].options} == {"deny"}


def test_all_that_it_is_about_is_shown_or_there_is_no_yes() -> None:
    """The model may write what aider would write; only what stands in inverse video is the call."""
    shot = read(screen("rm -rf build", "Tokens: 1 sent, 2 received.", "ls"))
    assert offer(shot).body == "rm -rf build\nTokens: 1 sent, 2 received.\nls"
    assert offer(shot).questions[0].options[0].effect == "allow_once"
    cut = read("\n".join(screen("rm -rf build", "ls").split("\n")[4:]))
    assert cut.reading.clipped
    assert {option.effect for option in offer(cut).questions[0].options} == {"deny"}


@pytest.mark.parametrize(("option", "word"), [("allow", "yes"), ("no", "no"), ("don't", "don't")])
def test_the_word_is_typed_seen_and_only_then_sent(option: str, word: str) -> None:
    shot = read(screen("touch marker"))
    prompt = prompt_of(shot)
    steps = fill(prompt, Answer("a", "x", "cli", choices={"decision": (option,)}))
    next(steps)
    assert steps.send(shot) == Paste(word)
    assert steps.send(read(screen("touch marker", answer=word))) == Press("enter", decides=True)


def ends(steps: object, *screens: Snapshot) -> str:
    """Why the filling of an answer ended, on these screens."""
    try:
        for shot in screens:
            step = steps.send(shot)  # type: ignore[attr-defined]
            assert not isinstance(step, Press), step
    except StopIteration as end:
        return end.value.reason
    raise AssertionError("it goes on")


def test_nothing_is_sent_where_somebody_writes_or_something_else_is_asked() -> None:
    shot = read(screen("touch marker"))
    answer = Answer("a", "x", "cli", choices={"decision": ("allow",)})

    def begun() -> object:
        steps = fill(prompt_of(shot), answer)
        next(steps)
        return steps

    written = read(screen("touch marker", answer="n"))
    assert "Somebody is writing" in ends(begun(), written)
    assert "another dialog" in ends(begun(), read(screen("rm -rf build")))
    assert "no longer" in ends(begun(), read(f"{'─' * 80}\ndiff>"))
    # The word does not appear, or others do: it is not sent.
    assert "did not appear" in ends(begun(), shot, *[shot] * 120)
    assert "did not appear" in ends(begun(), shot, *[read(screen("touch marker", answer="noyes"))] * 120)
    assert isinstance(next_key(shot, shot, "allow"), Refused)


def test_a_turn_that_is_over_is_ready_and_a_draft_is_seen() -> None:
    stopped = AIDER_SCREEN.stopped
    assert stopped is not None
    over = "\n".join(["Tokens: 2.5k sent, 11 received.", "─" * 80, "diff>"])
    assert stopped(read(over)) is not None
    assert stopped(read(f"{over} a draft")) is None
    assert (draft(over), draft(f"{over} a draft"), draft(screen("ls"))) == ("", "a draft", None)
    assert isinstance(typed("/exit", as_command=False), Refused)
    assert isinstance(typed("one\ntwo", as_command=False), Refused)


def test_only_its_terminal_counts() -> None:
    assert runs(["/venv/bin/python3", "/venv/bin/aider", "--model", "x"])
    assert runs(["python3", "-m", "aider"])
    assert not runs(["/venv/bin/python3", "/venv/bin/aider", "--message", "x"])
    assert not runs(["vim", "notes/aider.md"])
