"""`yourcall answer` in a terminal asks once more where the phone and the inbox do; a script is never asked."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from scripted_claude import Held, ScriptedClaude

from kit.poll import until
from kit.terminal import Pty, Ptys
from kit.yourcall import COMMAND, Yourcall

REMEMBER = {
    "type": "addRules",
    "rules": [{"toolName": "Bash", "ruleContent": "touch:*"}],
    "behavior": "allow",
    "destination": "session",
}
Answer = Callable[..., Pty]


@pytest.fixture
def answer(tmp_path: Path, yc: Yourcall) -> Iterator[Answer]:
    with Ptys() as ptys:
        yield lambda *words: ptys.start([str(COMMAND), "answer", *words], cwd=tmp_path, env=yc.env)


def asks(claude: ScriptedClaude, yc: Yourcall, command: str) -> tuple[Held, str, str]:
    """The request, its prompt's id, and the option that lasts."""
    held = claude.asks("Bash", suggestions=[REMEMBER], command=command)
    prompt = yc.wait_prompt()
    lasting = next(o["id"] for o in prompt["questions"][0]["options"] if o["effect"] == "allow_session")
    return held, prompt["id"], lasting


def ended(pty: Pty) -> int:
    until(lambda: pty.returncode is not None, show=pty.seen)
    assert pty.returncode is not None
    return pty.returncode


def test_a_risky_yes_is_asked_about_with_the_reason(yc: Yourcall, claude: ScriptedClaude, answer: Answer) -> None:
    held, prompt, _ = asks(claude, yc, "rm -rf build")
    pty = answer(prompt, "allow")
    until(lambda: pty.shows("It deletes files, or work. Send it? [y/N]"), show=pty.seen)
    pty.text("n")
    pty.key("Enter")
    assert ended(pty) == 2
    assert pty.shows("Nothing was sent.")
    assert yc.show(prompt)["state"] == "open"
    assert held.process.poll() is None


def test_a_yes_that_lasts_is_asked_about_and_given(yc: Yourcall, claude: ScriptedClaude, answer: Answer) -> None:
    held, prompt, lasting = asks(claude, yc, "touch marker")
    pty = answer(prompt, lasting)
    until(lambda: pty.shows("It allows more than this once. Send it? [y/N]"), show=pty.seen)
    pty.text("y")
    pty.key("Enter")
    got = held.answer()
    assert got is not None
    assert got["hookSpecificOutput"]["decision"]["updatedPermissions"] == [REMEMBER]
    claude.goes_on(held)
    assert ended(pty) == 0


@pytest.mark.parametrize("words", [("allow",), ("deny",)])
def test_what_needs_no_confirmation_is_sent_at_once(
    yc: Yourcall, claude: ScriptedClaude, answer: Answer, words: tuple[str, ...]
) -> None:
    held, prompt, _ = asks(claude, yc, "touch marker" if words == ("allow",) else "rm -rf build")
    pty = answer(prompt, *words)
    assert held.answer() is not None
    claude.goes_on(held, decision="accept" if words == ("allow",) else "reject")
    assert ended(pty) == 0
    assert not pty.shows("Send it?")


def test_an_edited_command_is_judged_first(yc: Yourcall, claude: ScriptedClaude, answer: Answer) -> None:
    _, prompt, _ = asks(claude, yc, "touch marker")
    pty = answer(prompt, "allow", "--input", '{"command": "sudo ls"}')
    until(lambda: pty.shows("It runs with more rights than yours. Send it? [y/N]"), show=pty.seen)
    pty.key("C-c")
    assert ended(pty) == 2
    assert yc.show(prompt)["state"] == "open"


def test_a_script_is_not_asked(yc: Yourcall, claude: ScriptedClaude) -> None:
    held, prompt, lasting = asks(claude, yc, "rm -rf build")
    said = yc.run("answer", prompt, lasting, "--no-wait")
    assert said.code == 6, said
    assert held.answer() is not None
    assert "Send it?" not in said.out + said.err
