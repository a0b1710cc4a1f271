"""A new agent is a folder: this one is added without a change to any other file, and works from end to end."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from kit.poll import until
from kit.yourcall import Yourcall

pytestmark = pytest.mark.long

TOY = Path(__file__).resolve().parents[1] / "data" / "toy_agent"
# What a plugin is to a socket: each line of its input is sent, each line that comes is shown.
RELAY = """
import os, socket, sys, threading
os.chdir(os.path.dirname(sys.argv[1]))
def dial():
    line = socket.socket(socket.AF_UNIX)
    line.connect(os.path.basename(sys.argv[1]))
    line.sendall(sys.argv[2].encode() + b"\\n")
    threading.Thread(target=show, args=(line,), daemon=True).start()
    return line
def show(line):
    for message in line.makefile("rb"):
        sys.stdout.buffer.write(message)
        sys.stdout.buffer.flush()
line = dial()
for message in sys.stdin.buffer:
    if message == b"redial\\n":
        line.shutdown(socket.SHUT_RDWR)
        line = dial()
    else:
        line.sendall(message)
"""
GIVEN = 6  # not yet proven
ADDED = "import yourcall.agents\nyourcall.agents.__path__.append({folder!r})\n"


class WithToy(Yourcall):
    """yourcall, as if the toy's folder lay beside those of the other agents."""

    @property
    def env(self) -> dict[str, str]:
        return {**super().env, "PYTHONPATH": f"{self.home.parent / 'site'}:{os.environ.get('PYTHONPATH', '')}"}


class Plugin:
    """A toy that runs, in a process of its own: with its children, that one may answer nothing."""

    def __init__(self, yc: Yourcall, session: str) -> None:
        about = json.dumps({"session": session, "cwd": "/p"})
        self._process = subprocess.Popen(
            [sys.executable, "-c", RELAY, str(yc.home / "plugin.sock"), f"yourcall/1 toy {about}"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
        )
        assert self.hears() == {"type": "welcome"}

    def tells(self, **message: object) -> None:
        assert self._process.stdin is not None
        self._process.stdin.write(json.dumps(message).encode() + b"\n")
        self._process.stdin.flush()

    def dials_again(self) -> None:
        assert self._process.stdin is not None
        self._process.stdin.write(b"redial\n")
        self._process.stdin.flush()
        assert self.hears() == {"type": "welcome"}

    def hears(self) -> dict[str, Any]:
        assert self._process.stdout is not None
        return json.loads(self._process.stdout.readline())

    def leaves(self) -> None:
        if self._process.poll() is None:
            self._process.communicate()


@pytest.fixture
def plugs_in(yc: Yourcall) -> Iterator[Callable[[str], Plugin]]:
    running: list[Plugin] = []

    def start(session: str) -> Plugin:
        running.append(Plugin(yc, session))
        return running[-1]

    yield start
    for each in running:
        each.leaves()


@pytest.fixture
def yc(tmp_path: Path) -> Iterator[Yourcall]:
    (tmp_path / "site").mkdir()
    (tmp_path / "site" / "sitecustomize.py").write_text(ADDED.format(folder=str(TOY)))
    with WithToy(tmp_path) as running:
        yield running


def waiting(yc: Yourcall) -> dict[str, Any]:
    return until(lambda: next(iter(yc.run("ls", "--json").json), None), what="the prompt")


def test_it_is_listed_connected_examined_and_read(yc: Yourcall) -> None:
    assert yc.run("agents", "toy", "--json").json["toy"]["cli"] == "Toy"
    file = yc.home.parent / ".toy" / "plugin" / "yourcall.js"
    assert yc.run("setup", "toy", "--yes").code == 0
    assert file.read_text().startswith("// yourcall")
    health = {each["check"]: each["says"] for each in yc.run("doctor", "--json").json}
    assert health["toy"] == "The toy calls yourcall."
    assert yc.run("setup", "toy", "--undo", "--yes").code == 0
    assert not file.exists()
    (yc.home.parent / "shot").write_text("Go on?\n")
    assert yc.run("screen", "--agent", "toy", str(yc.home.parent / "shot")).json["state"] == "waiting"


@pytest.mark.parametrize(("choice", "allowed", "outcome"), [("allow", True, "allowed"), ("deny", False, "denied")])
def test_a_request_by_id_is_answered_through_its_plugin(
    yc: Yourcall, plugs_in: Callable[[str], Plugin], choice: str, allowed: bool, outcome: str
) -> None:
    plugin = plugs_in("s1")
    plugin.tells(type="asked", id="r1", command="make")
    prompt = waiting(yc)
    assert (prompt["agent"], prompt["title"], prompt["held"]) == ("toy", "Run make", True)
    assert yc.run("answer", prompt["id"], choice, "--no-wait").code == GIVEN
    assert plugin.hears() == {"type": "answer", "id": "r1", "allow": allowed}
    plugin.tells(type="replied", id="r1", allowed=allowed)
    settled = until(lambda: _settled(yc, prompt["id"]), what="its outcome")
    assert (settled["state"], settled["outcome"]) == ("confirmed", outcome)


def test_a_plugin_that_dials_again_reports_the_same_request(
    yc: Yourcall, plugs_in: Callable[[str], Plugin]
) -> None:
    plugin = plugs_in("s1")
    plugin.tells(type="asked", id="r1", command="make")
    prompt = waiting(yc)
    plugin.dials_again()
    plugin.tells(type="asked", id="r1", command="make")
    assert yc.run("answer", prompt["id"], "allow", "--no-wait").code == GIVEN
    assert plugin.hears() == {"type": "answer", "id": "r1", "allow": True}
    assert [each["id"] for each in yc.run("ls", "--json", "--all").json] == [prompt["id"]]


def test_another_plugin_cannot_take_a_session_that_is_connected(
    yc: Yourcall, plugs_in: Callable[[str], Plugin]
) -> None:
    plugin = plugs_in("s1")
    plugin.tells(type="asked", id="r1", command="make")
    prompt = waiting(yc)
    stranger = plugs_in("s1")
    stranger.tells(type="asked", id="r2", command="make it mine")
    stranger.tells(type="asked", id="r1", command="make it mine")
    assert yc.run("answer", prompt["id"], "allow", "--no-wait").code == GIVEN
    assert plugin.hears() == {"type": "answer", "id": "r1", "allow": True}
    assert [each["title"] for each in yc.run("ls", "--json", "--all").json] == ["Run make"]


def _settled(yc: Yourcall, prompt_id: str) -> dict[str, Any] | None:
    shown = yc.run("show", prompt_id, "--json").json
    return shown if shown["state"] == "confirmed" else None
