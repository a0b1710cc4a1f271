"""The inbox in a real tmux pane: keys in, screen out, against a running daemon with scripted agents."""

from __future__ import annotations

import os
import subprocess
import sys
from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from scripted_claude import Held, ScriptedClaude

from kit.poll import until
from kit.terminal import Pane, Pty, Ptys, Tmux, alive
from kit.yourcall import COMMAND, Yourcall
from yourcall.cli.inbox.form import Draft, objection
from yourcall.cli.views import Question

if TYPE_CHECKING:
    from collections.abc import Iterator

EDIT = {
    "file_path": "/kites/prices.py",
    "old_string": "wrap = 2\nreturn wrap",
    "new_string": "wrap = 3\nreturn wrap",
}
PLAN = "# Gift wrap\n\n1. A tick box\n2. The **sum**\n\n| file | change |\n|---|---|\n| `cart.py` | the box |\n"
HOSTILE_PLAN = (
    "[click](http://127.0.0.1:1/x) \x1b[2J <b>y</b> \u202e &#x202e; ![a](http://127.0.0.1:1/seen.png)\n\n"
    "<!-- and rm -rf / -->\n\n[//]: # (hidden)\n"
)
COLOURS = [
    {
        "question": "Which colour?", "header": "Colour", "multiSelect": False,
        "options": [{"label": "Red", "description": "Warm"}, {"label": "Blue", "description": "Calm"}],
    },
    {
        "question": "Which sizes?", "header": "Sizes", "multiSelect": True,
        "options": [{"label": "Small", "description": ""}, {"label": "Large", "description": ""}],
    },
]  # fmt: skip


class Desk:
    """A person with a terminal, and agents that ask."""

    def __init__(self, folder: Path, yc: Yourcall, stack: ExitStack) -> None:
        self.folder, self.yc, self.stack = folder, yc, stack
        self.tmux = stack.enter_context(Tmux())
        self._agents = 0

    def asks(self, tool: str, pane: Pane | None = None, **given: Any) -> tuple[ScriptedClaude, Held]:
        """An agent of its own asks; its prompt has reached yourcall."""
        self._agents += 1
        folder = self.folder / f"a{self._agents}"
        folder.mkdir()
        agent = self.stack.enter_context(ScriptedClaude(folder, self.yc, pane=pane))
        before = len(self.yc.prompts())
        held = agent.asks(tool, **given)
        until(lambda: len(self.yc.prompts()) == before + 1, show=self.yc.prompts)
        return agent, held

    def inbox(self, *words: str, cols: int = 80, rows: int = 24) -> Pane:
        env = {**self.yc.env, "TERM": "tmux-256color"}
        return self.tmux.start(
            [str(COMMAND), "inbox", *words],
            cwd=self.folder,
            env=env,
            cols=cols,
            rows=rows,
        )


@pytest.fixture
def desk(tmp_path: Path, yc: Yourcall) -> Iterator[Desk]:
    with ExitStack() as stack:
        yield Desk(tmp_path, yc, stack)


def shown(pane: Pane, *words: str) -> str:
    """The screen, once it shows all of these and stands still: a key before that may be one too early."""
    pane.wait_until(lambda screen: all(word in screen for word in words))
    return pane.settle(1.3)  # a key counts only after a second


def decided(held: Held) -> dict[str, Any]:
    told = held.answer(30)
    assert told is not None
    return told["hookSpecificOutput"]["decision"]


def fits(screen: str, cols: int, rows: int) -> None:
    lines = screen.rstrip("\n").split("\n")
    assert len(lines) <= rows
    assert max(map(len, lines)) <= cols


def test_a_digit_answers_and_the_states_are_told_as_they_come(desk: Desk) -> None:
    agent, held = desk.asks("Bash", command="npm test", description="Run the tests")
    pane = desk.inbox()
    fits(
        shown(pane, "1 waiting", "Claude wants to run", "$ npm test", "a  Allow"),
        80,
        24,
    )
    pane.key("a")
    assert decided(held)["behavior"] == "allow"
    screen = shown(pane, "pressed → sent")
    assert "moved on" in screen  # the way that is still to go is there, but nothing claims it was gone
    assert "The agent moved on" not in screen
    agent.goes_on(held)
    shown(pane, "Allowed. The agent moved on.", "Nothing waits")
    pane.key("Enter")
    shown(pane, "All caught up")
    pane.key("q")
    until(lambda: not alive(pane.pid))


def test_what_deletes_is_asked_twice_and_only_y_is_a_yes(desk: Desk) -> None:
    _, held = desk.asks("Bash", command="rm -rf build")
    pane = desk.inbox()
    shown(pane, "! It deletes files", "asks again")
    pane.key("a")
    shown(pane, "Press y for yes")
    pane.key("a")  # the same key again is no yes
    pane.wait_until(lambda screen: "Press y for yes" not in screen)
    assert "Press y for yes" not in shown(pane, "1 waiting")
    assert held.process.poll() is None
    pane.key("a")
    shown(pane, "Press y for yes")
    pane.key("y")
    assert decided(held)["behavior"] == "allow"


def test_a_no_is_never_asked_twice_and_carries_its_reason(desk: Desk) -> None:
    _, first = desk.asks("Bash", command="rm -rf build")
    pane = desk.inbox()
    shown(pane, "t  Deny, and say why")
    pane.key("t")
    shown(pane, "Enter sends")
    pane.text("Use make clean, [b]please[/b]. j q 1")
    pane.key("C-j")
    pane.text("Thanks.")
    shown(pane, "Thanks.")
    pane.key("Enter")
    told = decided(first)
    assert told["behavior"] == "deny"
    assert "Use make clean, [b]please[/b]. j q 1\nThanks." in told["message"]


def test_a_rule_that_wants_a_yes_twice_gets_it_from_y(desk: Desk) -> None:
    (desk.yc.home / "rules.toml").write_text('[careful]\ndo = "ask twice"\ncommand = "npm test"\n')
    _, held = desk.asks("Bash", command="npm test")
    assert desk.yc.prompts()[0]["hold"]
    pane = desk.inbox()
    shown(pane, "$ npm test", "a  Allow")
    pane.key("a")
    shown(pane, "Press y for yes")
    assert held.process.poll() is None
    pane.key("y")
    assert decided(held)["behavior"] == "allow"


def test_a_click_chooses_and_o_goes_to_its_pane(desk: Desk) -> None:
    panes = [desk.tmux.start(["sleep", "600"], cwd=desk.folder, env={"PATH": "/usr/bin:/bin"}) for _ in range(2)]
    for number, each in enumerate(panes):
        desk.asks("Bash", each, command=f"touch kite{number}")
    inbox = desk.inbox()
    words = ["tmux", "-S", str(desk.tmux.socket), "attach-session", "-t", inbox.id]
    with Ptys() as ptys:
        client = ptys.start(words, cwd=desk.folder, env={"TERM": "xterm-256color", "PATH": os.environ["PATH"]})
        assert "$ touch kite0" in shown(inbox, "2 waiting", "$ touch kite0")
        inbox.text("\x1b[<0;3;4M\x1b[<0;3;4m")  # the second row of the queue, as a terminal tells of a click
        shown(inbox, "$ touch kite1")
        inbox.key("o")
        until(
            lambda: (
                f"{client.tty} {panes[1].id}" in desk.tmux.run("list-clients", "-F", "#{client_name} #{pane_id}")
            )
        )
        assert client.returncode is None


@pytest.mark.parametrize(
    ("kind", "said", "wrong"),
    [
        ("integer", "7", ""),
        ("integer", " -2 ", "At least 1, please."),
        ("integer", "7.5", "A whole number, please."),
        ("number", "7.5", ""),
        ("number", "11", "At most 10, please."),
        ("number", "nan", "A number, please."),
        ("number", "", "This one is needed."),
    ],
)
def test_a_number_is_looked_at_before_it_is_sent(kind: str, said: str, wrong: str) -> None:
    question = Question("q", "How many?", free_text=True, type=kind, minimum=1, maximum=10)
    assert objection(question, Draft(texts={"q": said})) == wrong


def test_esc_takes_back_what_was_written(desk: Desk) -> None:
    _, held = desk.asks("Bash", command="npm test")
    pane = desk.inbox()
    shown(pane, "t  Deny")
    pane.key("t")
    shown(pane, "Enter sends")
    pane.text("no")
    pane.key("Escape")
    pane.wait_until(lambda screen: "Enter sends" not in screen)
    pane.settle()
    assert held.process.poll() is None
    assert [p["state"] for p in desk.yc.prompts()] == ["open"]


def test_a_command_is_allowed_as_edited(desk: Desk) -> None:
    _, held = desk.asks("Bash", command="npm test", description="Run")
    pane = desk.inbox()
    shown(pane, "a  Allow")
    pane.key("e")
    shown(pane, "Allow this command instead")
    pane.text(" -- --bail")
    shown(pane, "npm test -- --bail")
    pane.key("Enter")
    shown(pane, "npm test -- --bail`?", "Press y for yes")
    pane.key("y")
    told = decided(held)
    assert told["updatedInput"] == {
        "command": "npm test -- --bail",
        "description": "Run",
    }


def test_a_command_that_was_edited_into_a_risky_one_says_why(desk: Desk) -> None:
    _, held = desk.asks("Bash", command="npm test", description="Run")
    pane = desk.inbox()
    shown(pane, "a  Allow")
    pane.key("e")
    shown(pane, "Allow this command instead")
    pane.text("; rm -rf /srv/x")
    pane.key("Enter")
    shown(pane, "It deletes files, or work.", "Press y for yes")
    pane.key("n")
    pane.wait_until(lambda screen: "Press y for yes" not in screen)
    assert held.process.poll() is None
    assert [p["state"] for p in desk.yc.prompts()] == ["open"]


def test_several_questions_with_marks_and_words(desk: Desk) -> None:
    _, held = desk.asks("AskUserQuestion", questions=COLOURS)
    pane = desk.inbox()
    shown(pane, "Claude asks 2 questions", "▸ Which colour?", "1  Red", "2  Blue")
    pane.key("Enter")
    shown(pane, "Choose one, please.")
    pane.key("2")
    shown(pane, "Which colour?  Blue", "▸ Which sizes?", "1 [ ] Small")
    pane.key("1", "2")
    shown(pane, "1 [x] Small", "2 [x] Large")
    pane.key("1")
    shown(pane, "1 [ ] Small", "2 [x] Large")
    pane.key("Enter")
    told = decided(held)
    assert told["updatedInput"]["answers"] == {
        "Which colour?": "Blue",
        "Which sizes?": "Large",
    }


def test_changes_and_plans_are_readable_at_80_by_24(desk: Desk) -> None:
    desk.asks("Edit", **EDIT)
    desk.asks("ExitPlanMode", plan=PLAN)
    pane = desk.inbox()
    screen = shown(pane, "2 waiting", "Claude wants to change prices.py")
    fits(screen, 80, 24)
    for line in ("/kites/prices.py", "- wrap = 2", "+ wrap = 3", "  return wrap"):
        assert line in screen
    assert "\x1b[32m+ wrap = 3" in pane.ansi()
    assert "\x1b[31m- wrap = 2" in pane.ansi()
    pane.key("j")
    screen = shown(pane, "Claude has a plan", "Gift wrap", "1 A tick box", "The sum", "cart.py")
    assert "**" not in screen
    pane.key("z")
    screen = shown(pane, "Claude has a plan")
    assert "2 waiting" not in screen
    pane.key("z", "k")
    shown(pane, "Claude wants to change prices.py", "2 waiting")


def test_what_an_agent_wrote_is_text_and_nothing_else(desk: Desk) -> None:
    hostile = "echo '[red]x[/red] [link=http://x]' \x1b[2J\x1b]0;owned\x07 \u202egnp.exe\u200b"
    desk.asks("Bash", command=hostile, description="\x1b[31m[bold]hi[/bold]\n# no heading")
    desk.asks("ExitPlanMode", plan=HOSTILE_PLAN)
    pane = desk.inbox(cols=120, rows=40)
    screen = shown(pane, "2 waiting", "Contains invisible characters")
    assert "[red]x[/red] [link=http://x]" in screen
    assert "␛[2J␛]0;owned␇" in screen
    assert "<U+202E>gnp.exe<U+200B>" in screen
    assert "[bold]hi[/bold]" in screen
    pane.key("j")
    screen = shown(pane, "Claude has a plan", "␛[2J", "<b>y</b>", "<U+202E>")
    # Nothing is left out, nothing becomes another letter, and nothing is a link.
    for words in (
        "http://127.0.0.1:1/x",
        "<!-- and rm -rf / -->",
        "&#x202e;",
        "[//]: # (hidden)",
        "seen.png",
    ):
        assert words in screen
    assert "\x1b]8;" not in pane.ansi()
    pane.key("r")
    shown(pane, "plan:", "[click](http")
    assert pane.variable("pane_title") != "owned"


def test_somebody_else_was_first_and_the_cursor_stays(desk: Desk) -> None:
    agent, held = desk.asks("Bash", command="npm test")
    desk.asks("Bash", command="make")
    pane = desk.inbox()
    shown(pane, "2 waiting", "$ npm test")
    (first, _) = desk.yc.prompts()
    assert desk.yc.run("answer", first["id"], "deny", "--no-wait").code == 6
    screen = shown(pane, "Answered by the command line", "1 waiting")
    assert "$ npm test" in screen
    pane.key("a")  # meant for what is here; the other one must not get it
    agent.goes_on(held, decision="reject")
    shown(pane, "Denied by the command line. The agent moved on.")
    assert [p["state"] for p in desk.yc.prompts()] == ["open"]
    pane.key("j")
    shown(pane, "$ make", "1 waiting")


def test_what_comes_and_goes_does_not_move_the_cursor(desk: Desk) -> None:
    _, held = desk.asks("Bash", command="npm test")
    desk.asks("Bash", command="make one")
    pane = desk.inbox()
    shown(pane, "2 waiting", "$ npm test")
    pane.key("j")
    shown(pane, "$ make one")
    desk.asks("Bash", command="make two")
    assert "$ make one" in shown(pane, "3 waiting")
    first = desk.yc.prompts()[0]
    desk.yc.run("answer", first["id"], "deny", "--no-wait")
    decided(held)
    assert "$ make one" in shown(pane, "2 waiting")


def test_an_answer_that_comes_back_says_why(desk: Desk) -> None:
    _, held = desk.asks("Bash", command="npm test")
    pane = desk.inbox()
    shown(pane, "$ npm test")
    pane.key("a")
    decided(held)  # the agent hears it and never goes on: its dialog stays
    screen = shown(pane, "Not delivered: ", "1 waiting")
    assert "The agent moved on" not in screen


def test_what_nothing_holds_any_more_offers_no_answer(desk: Desk) -> None:
    _, held = desk.asks("Bash", command="npm test")
    pane = desk.inbox()
    shown(pane, "$ npm test", "a  Allow")
    held.process.kill()
    held.process.wait(10)
    screen = shown(pane, "at the desk")
    assert "a  Allow" not in screen


def test_the_terminal_of_a_session_is_shown_live_and_inert(desk: Desk) -> None:
    script = "printf '\\033[32mgreen\\033[0m kites\\n'; while read line; do echo \"got $line\"; done"
    agent_pane = desk.tmux.start(["sh", "-c", script], cwd=desk.folder, env={"PATH": "/usr/bin:/bin"})
    desk.asks("Bash", agent_pane, command="npm test")
    small = desk.inbox()
    screen = shown(small, "$ npm test", "p terminal")
    assert "green kites" not in screen
    small.key("p")
    shown(small, "its terminal, live", "green kites")
    fits(small.screen(), 80, 24)
    wide = desk.inbox(cols=120, rows=40)
    shown(wide, "$ npm test", "its terminal, live", "green kites")
    assert "\x1b[32mgreen" in wide.ansi()
    agent_pane.text("hello\u202e\n")
    shown(wide, "got hello<U+202E>")
    small.key("p")
    shown(small, "$ npm test")


def test_the_daemon_goes_and_comes_back(desk: Desk) -> None:
    agent, held = desk.asks("Bash", command="npm test")
    pane = desk.inbox()
    shown(pane, "1 waiting", "$ npm test")
    desk.yc.stop()
    pane.wait_until(lambda screen: "yourcall is not running" in screen)
    pane.key("a")
    desk.yc.start()
    pane.wait_until(lambda screen: "not running" not in screen)
    shown(pane, "$ npm test")
    assert held.process.poll() is None, "a key pressed without a line is no answer"
    del agent


def test_it_begins_with_the_one_that_was_named_and_works_narrow(desk: Desk) -> None:
    desk.asks("Bash", command="npm test")
    desk.asks("Bash", command="make")
    named = next(p for p in desk.yc.prompts() if "make" in p["title"])
    pane = desk.inbox(named["id"], cols=60, rows=24)
    fits(shown(pane, "2 waiting", "$ make", "a  Allow"), 60, 24)


def test_without_a_terminal_or_a_daemon_it_says_so(desk: Desk) -> None:
    said = desk.yc.run("inbox")
    assert (said.code, "needs a terminal" in said.err) == (2, True)
    desk.yc.stop()
    # A plain terminal keeps what a program said at its end; a pane that dies may have it cleared.
    env = {**desk.yc.env, "TERM": "xterm-256color"}
    pty = Pty([str(COMMAND), "inbox"], cwd=desk.folder, env=env)
    try:
        until(lambda: pty.shows("yourcall is not running"))
    finally:
        pty.close()
        desk.yc.start()


def test_no_other_command_and_not_the_daemon_pays_for_it() -> None:
    code = (
        "import sys, yourcall.daemon.run, yourcall.cli.main as m\n"
        "for module in {e[0] for e in m._TABLE.values()}: m.import_module(f'yourcall.cli.commands.{module}')\n"
        "assert 'textual' not in sys.modules and 'rich' not in sys.modules"
    )
    subprocess.run([sys.executable, "-c", code], check=True, timeout=60)
