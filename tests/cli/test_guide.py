"""`yourcall` alone: a guide the first time, then what waits; help where nobody looks on."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from test_cli_machine import Machine

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
