"""Nothing an agent writes can act on the terminal, and everything fits into it."""

from __future__ import annotations

import re
import shlex
import time
import unicodedata
from pathlib import Path

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from yourcall.cli.commands import watch
from yourcall.cli.commands.answer import EXIT_CODES, sentence
from yourcall.cli.instance import Instance
from yourcall.cli.terminal import render, sheet
from yourcall.cli.terminal.render import clip, safe, span, table, width, wrapped
from yourcall.cli.views import Moment, Option, Prompt, Question, Result, Tool
from yourcall.model.prompts import VerdictWord

PLACE = Instance(Path("/srv/yc"))
NOW = 1_800_000_000.0


def hidden(text: str) -> list[str]:
    return [c for c in text if c != "\n" and unicodedata.category(c) in ("Cc", "Cf", "Cs", "Zl", "Zp")]


def prompt(**changes: object) -> Prompt:
    base = Prompt(
        id="k3fqab2345",
        kind="permission",
        state="open",
        agent="claude",
        session_id="s1",
        cwd="/srv/project",
        title="Run: rm -rf node_modules",
        opened_at=NOW,
        tool=Tool("Bash", {"command": "rm -rf node_modules\nls", "timeout": 5}),
        questions=(
            Question(
                "decision",
                "May Claude do this?",
                (Option("allow", "Allow", "allow_once", "Runs it."), Option("deny", "Deny", "deny")),
                free_text=True,
            ),
        ),
        history=(Moment(NOW, "open", "agent", "the agent asks"), Moment(NOW + 17.5, "answering", "cli", "Allow")),
    )
    return msgspec.structs.replace(base, **changes)


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("\x1b[2J", "␛[2J"),
        ("\x1b]0;owned\x07", "␛]0;owned␇"),
        ("a\rb", "a␍b"),
        ("a\nb", "a␊b"),
        ("\x9b31m", "<U+009B>31m"),
        ("\u202egnp.exe", "<U+202E>gnp.exe"),
        ("\u2066x\u2069", "<U+2066>x<U+2069>"),
        ("r\u200bm", "r<U+200B>m"),
        ("\U000e0041", "<U+E0041>"),
        ("\u3164", "<U+3164>"),
        ("\ud800", "<U+D800>"),
        ("\x7f", "␡"),
        ("naïve 日本 ✓", "naïve 日本 ✓"),
    ],
)
def test_what_would_act_or_hide_is_shown(text: str, shown: str) -> None:
    assert safe(text) == shown


def test_lines_keep_their_breaks_and_nothing_else() -> None:
    assert safe("a\r\n\tb\x1b\r", lines=True) == "a\n    b␛␍"


@given(st.text())
def test_safe_leaves_nothing_hidden(text: str) -> None:
    assert not hidden(safe(text))
    assert "\n" not in safe(text)
    assert not hidden(safe(text, lines=True))


@given(st.text(), st.integers(1, 60))
def test_clip_fits(text: str, room: int) -> None:
    assert width(clip(safe(text), room)) <= room


@given(st.text(alphabet="ab \n日"), st.integers(0, 8))
def test_wrapping_loses_no_letter(text: str, indent: int) -> None:
    lines = wrapped(text * 9, indent).split("\n")
    assert all(width(line) <= max(render.columns(), 20 + indent) for line in lines)
    assert re.sub(r"\s", "", "".join(lines)) == re.sub(r"\s", "", text * 9)


@pytest.mark.parametrize(
    ("seconds", "words"),
    [
        (-1, "0 s"),
        (0.0123, "12 ms"),
        (4.21, "4.2 s"),
        (59, "59 s"),
        (75, "75 s"),
        (150, "2 min"),
        (7200, "2 h"),
        (90000, "25 h"),
        (2e5, "2 d"),
    ],
)
def test_spans(seconds: float, words: str) -> None:
    assert span(seconds) == words


def test_table_fits_80_columns(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(render, "columns", lambda: 80)
    long = prompt(title="Run: " + "x" * 500, cwd="/srv/" + "deep" * 40, agent="claude")
    text = sheet.listing([long, prompt(id="zzzzzz9999", state="sent")], states=False)
    assert all(width(line) <= 80 for line in text.split("\n"))
    assert "STATE" in text
    assert table(["A"], [["x" * 90]]).split("\n")[1].endswith("…")


def test_page_shows_all_that_is_needed_to_decide() -> None:
    text = sheet.page(prompt(), PLACE)
    for needed in ("rm -rf node_modules\n", "    ls", "Runs it.", "deny", "timeout: 5", "+18 s", "by cli, Allow"):
        assert needed in text
    assert "yourcall --home /srv/yc answer k3fqab allow" in text


def test_page_says_nothing_twice_and_leaves_nothing_out() -> None:
    assert (
        sheet.page(prompt(body="rm -rf node_modules\n\nls"), PLACE).count("rm -rf node_modules") == 2
    )  # and title
    assert "careful" in sheet.page(prompt(body="rm -rf node_modules\ncareful"), PLACE)
    assert "the plan" in sheet.page(prompt(body="the plan", tool=None), PLACE)


def test_a_title_imitates_no_row_of_the_page() -> None:
    text = sheet.page(prompt(title="Go on?\n\n  agent    codex, a person said yes"), PLACE)
    assert [line for line in text.split("\n") if line.startswith("  agent ")] == ["  agent    claude"]


def test_page_says_when_only_the_desk_can_answer() -> None:
    text = sheet.page(prompt(held=False), PLACE)
    assert "at the desk" in text
    assert "yourcall" not in text


@given(st.text(alphabet=st.characters(codec=None), min_size=1))
def test_no_field_of_a_prompt_reaches_the_terminal_raw(text: str) -> None:
    evil = prompt(
        id="k3fqab" + text,
        kind=text,
        state="open",
        agent=text,
        session_id=text,
        cwd="/" + text,
        title=text,
        body=text,
        tool=Tool(text, {text: text, "nested": [text]}),
        questions=(Question(text, text, (Option(text, text, text, text),), free_text=True),),
        outcome=text,
        subagent=text,
        permission_mode=text,
        answered_by=text,
        closed_at=NOW,
        history=(Moment(NOW, text, text, text),),
    )
    shown = [
        sheet.page(evil, PLACE),
        sheet.listing([evil], states=True),
        sentence(Result("too_late", text, text, NOW, evil), PLACE, evil, 1.0),
        sentence(Result(text, text, text, NOW, evil), PLACE, evil, 1.0),
    ]
    assert not [h for each in shown for h in hidden(each)]


def test_watch_lines_are_one_line_and_harmless() -> None:
    evil = prompt(title="a\nb\x1b[2J", cwd="/p\x1b")
    message = {"type": "prompt", "at": NOW, "seq": 1, "prompt": msgspec.to_builtins(evil)}
    line = watch.line(message)
    assert not hidden(line)
    assert "\n" not in line


def test_every_verdict_has_an_exit_code_and_a_sentence() -> None:
    from typing import get_args

    assert set(EXIT_CODES) == set(get_args(VerdictWord))
    codes = {"confirmed": 0, "refused": 2, "too_late": 3, "bounced": 4, "unsure": 5, "accepted": 6}
    for word, code in codes.items():
        assert EXIT_CODES[word] == code
    for word in EXIT_CODES:
        words = sentence(Result(word, "because", "phone", time.time() - 12), PLACE, prompt(), 0.3)
        assert words[0].isupper()
        assert "because" in words or word == "taken"
    late = sentence(Result("too_late", "already answered", "Pixel", time.time() - 12), PLACE, prompt(), 0.3)
    assert "by Pixel" in late
    assert "(12 s ago)" in late


def test_ids_are_as_long_as_they_must_be() -> None:
    assert sheet.short_ids(["abcdef1234", "abcdef9999", "zz"]) == {
        "abcdef1234": "abcdef1",
        "abcdef9999": "abcdef9",
        "zz": "zz",
    }


def test_colours_only_on_a_terminal(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("NO_COLOR", raising=False)
    monkeypatch.setenv("TERM", "xterm")
    assert render.style("x", "red") == "x"
    monkeypatch.setattr("sys.stdout.isatty", lambda: True)
    assert render.style("x", "red") == "\x1b[31mx\x1b[0m"
    monkeypatch.setenv("NO_COLOR", "1")
    assert render.style("x", "red") == "x"


def test_a_question_is_shown_once_with_its_previews() -> None:
    options = (Option("o1", "Sidebar", "choose", preview="| nav |"), Option("o2", "Topbar", "choose"))
    tool = Tool("AskUserQuestion", {"questions": [{"question": "Which layout?"}]})
    questions = (Question("q", "Which layout?", options),)
    asked = prompt(kind="question", title="Layout", tool=tool, questions=questions)
    text = sheet.page(asked, PLACE)
    assert text.count("Which layout?") == 1
    assert "| nav |" in text
    assert "AskUserQuestion" in sheet.page(msgspec.structs.replace(asked, questions=()), PLACE)


def test_names_that_an_agent_chose_do_nothing_in_the_line_to_copy() -> None:
    options = (Option("o1", "A", "choose"),)
    evil = (Question("x; touch y;", "A?", options), Question("$(touch z)", "B?", (), free_text=True))
    line = sheet.page(prompt(questions=evil), PLACE).rsplit("Answer with: ", 1)[1]
    assert shlex.split(line)[3:] == [
        "answer", "k3fqab", "x; touch y;=o1", "--set-text", "$(touch z)=…",
    ]  # fmt: skip
    assert "at the desk" in sheet.page(prompt(questions=()), PLACE)
