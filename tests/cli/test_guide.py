"""`yourcall` alone: a guide the first time, then what waits; help where nobody looks on."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from test_cli_machine import Machine

from kit.poll import until
from kit.terminal import Tmux
from kit.yourcall import COMMAND

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path


@pytest.fixture
def machine(tmp_path: Path) -> Iterator[Machine]:
    made = Machine(tmp_path)
    yield made
    made.run("down", "--force")


def test_without_a_terminal_it_prints_the_help(machine: Machine) -> None:
    said = machine.run()
    assert said.code == 2
    assert "Usage: yourcall" in said.err
    assert not machine.yourcall.exists()


def test_with_yes_it_connects_and_starts_and_names_what_needs_a_person(machine: Machine) -> None:
    machine.program("claude", "echo '2.1.325 (Claude Code)'")
    said = machine.run("--port", "0", "--yes", YOURCALL_PORT="0")
    assert said.code == 0, said
    assert "hook claude PermissionRequest" in machine.settings.read_text()
    assert machine.run("status").code == 0
    assert "Later, with a person there: " in said.out
    assert not (machine.yourcall / "reach.json").exists()  # no port is opened for nobody
    again = machine.run("guide", "--yes")  # repeated, it changes nothing more
    assert again.code == 0, again
    assert machine.run("setup", "claude", "--diff", "--json").json["changed"] is False
    assert machine.run("--yes", "ls").code == 2


def test_a_person_may_skip_every_step_and_is_shown_what_waits_the_next_time(machine: Machine) -> None:
    machine.program("claude", "echo '2.1.325 (Claude Code)'")
    before = machine.everything()
    env = {"PATH": str(machine.bin), "HOME": str(machine.person), "LANG": "C.UTF-8", "YOURCALL_DISCOVERY": "off"}
    with Tmux() as tmux:
        pane = tmux.start(["/bin/sh", "-c", f"{COMMAND}; read line"], cwd=machine.person, env=env)
        pane.wait_until(lambda screen: "Connect it?" in screen)
        pane.text("n")
        pane.key("Enter")
        pane.wait_until(lambda screen: "Start it in the background?" in screen)
        pane.text("n")
        pane.key("Enter")
        pane.wait_until(lambda screen: "the steps you left out" in screen)
        assert machine.everything() == before
        assert machine.run("--port", "0", "up", "--detach").code == 0
        second = tmux.start(["/bin/sh", "-c", f"{COMMAND}; read line"], cwd=machine.person, env=env)
        second.wait_until(lambda screen: "Nothing is waiting for you." in screen)


def test_a_person_walks_through_every_step_to_an_answered_prompt(machine: Machine) -> None:
    """Ctrl-C ends the page with the certificate, as the question says, and the guide goes on. At a question of its
    own it ends the guide."""
    machine.program("claude", "echo '2.1.325 (Claude Code)'")
    env = {"PATH": str(machine.bin), "HOME": str(machine.person), "LANG": "C.UTF-8", "YOURCALL_DISCOVERY": "off"}
    env["YOURCALL_PORT"] = "0"

    with Tmux() as tmux:
        words = f"trap : INT; {COMMAND} guide --name 127.0.0.1; echo ended with $?; read line"
        pane = tmux.start(["/bin/sh", "-c", words], cwd=machine.person, env=env, cols=140, rows=110)

        def yes(question: str, answer: str = "y") -> None:
            pane.wait_until(lambda screen: question in screen.rstrip().rpartition("\n")[2])
            pane.text(answer)
            pane.key("Enter")

        yes("claude is on this machine. Connect it?")
        yes("Make this change?")
        yes("Start it in the background?")
        yes("Let phones in your own network reach this machine?")
        yes("Do this?")
        yes("Show the page on which the phone gets the certificate to trust?")
        pane.wait_until(lambda screen: "until you press Ctrl-C" in screen)
        pane.key("C-c")
        yes("Show the code that lets a phone in?")
        yes("Open the app in this machine's browser, too?", "n")
        assert "Aborted!" not in pane.screen()
        assert "Not done" not in pane.screen(), pane.screen()
        yes("Send a question there, and wait for your answer?")
        until(lambda: "Did this reach your phone?" in machine.run("ls").out, what="the question", show=pane.screen)
        (prompt,) = machine.run("ls", "--json").json
        assert machine.run("answer", prompt["id"], "yes").code == 0
        pane.wait_until(lambda screen: "ended with 0" in screen)
        assert "the steps you left out (“Open the app here”)" in pane.screen()
        again = tmux.start(["/bin/sh", "-c", words], cwd=machine.person, env=env, cols=140, rows=110)
        again.wait_until(lambda screen: "Connect it?" in screen)
        again.key("C-c")
        again.wait_until(lambda screen: "ended with 1" in screen)
        assert "Go on whenever you like" in again.screen()
