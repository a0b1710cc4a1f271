"""`yourcall demo` as a person meets it: the real command, its own daemon or a running one, a key or a device."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys
from typing import TYPE_CHECKING, Any

import pytest

from kit.poll import until
from kit.terminal import Pty, Ptys, alive
from kit.yourcall import COMMAND, Yourcall

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

BANNER = "DEMO — a scripted agent, nothing real is run"
NEXT = "any key: the next scene"


class Corner:
    """A fresh user with a temporary folder of their own and nothing running."""

    def __init__(self, folder: Path) -> None:
        self.home, self.temporary = folder / "yourcall", folder / "tmp"
        self.temporary.mkdir()
        self.folder = folder
        self.env = {
            "PATH": f"{COMMAND.parent}{os.pathsep}{os.defpath}",
            "HOME": str(folder),
            "TMPDIR": str(self.temporary),
            "LANG": "C.UTF-8",
            "TERM": "xterm-256color",
        }

    def private_daemon(self) -> dict[str, Any]:
        """What the demo's own daemon wrote about itself, once it did."""
        (note,) = until(lambda: list(self.temporary.glob("yc-demo-*/daemon.json")), what="a private daemon")
        return {**json.loads(note.read_text()), "home": note.parent}

    def is_left_as_it_was(self, pid: int) -> bool:
        return not alive(pid) and not list(self.temporary.iterdir()) and not (self.folder / ".yourcall").exists()


@pytest.fixture
def corner(tmp_path: Path) -> Corner:
    return Corner(tmp_path)


@pytest.fixture
def ptys() -> Iterator[Ptys]:
    with Ptys() as terminals:
        yield terminals


def at_the_desk(ptys: Ptys, env: dict[str, str], cwd: Path) -> Pty:
    return ptys.start([str(COMMAND), "demo"], cwd=cwd, env={"TERM": "xterm", **env}, cols=80, rows=24)


def wait_asked(yc: Yourcall, *before: str) -> dict[str, Any]:
    """The demo's open request; its session may wait for other things too."""
    found = until(lambda: [p for p in yc.prompts() if p["tool"] and p["id"] not in before], what="a request")
    assert len(found) == 1
    return found[0]


def wait_shown(pty: Pty, words: str, times: int = 1) -> None:
    plain = "".join(words.split())
    until(lambda: pty.seen().count(plain) >= times, what=words, show=pty.seen)


def wait_over(pty: Pty) -> int:
    until(lambda: pty.returncode is not None, what="the end of the demo", show=pty.seen)
    assert pty.returncode is not None
    return pty.returncode


def test_hands_free_goes_the_whole_way_and_leaves_nothing(corner: Corner) -> None:
    done = subprocess.run(
        [str(COMMAND), "demo"], env=corner.env, stdin=subprocess.DEVNULL, capture_output=True, text=True,
        timeout=40, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done
    assert BANNER in done.stdout
    assert "There is no keyboard: demo phone" in done.stdout
    assert len(re.findall(r"^ +\+\d+ ms  confirmed ", done.stdout, re.MULTILINE)) == 3, done.stdout
    assert done.stdout.count("Allowed by demo phone") == done.stdout.count("Denied by demo phone") == 1
    assert done.stdout.count("[demo]") >= 3
    assert "\x1b" not in done.stdout
    short = done.stdout.replace(str(corner.temporary), "/tmp")
    assert max(map(len, short.splitlines())) <= 80
    assert done.stderr == ""
    assert list(corner.temporary.iterdir()) == []
    assert not (corner.folder / ".yourcall").exists()


def test_a_running_daemon_is_used_and_keeps_the_record(yc: Yourcall) -> None:
    said = yc.run("demo", "--hands-free")
    assert said.code == 0, said
    log = [line for line in yc.run("log", "--json").json if line["kind"] in ("permission", "question")]
    assert [line["state"] for line in log] == ["confirmed"] * 3
    assert {(line["agent"], line["by"], line["via"]) for line in log} == {("demo", "demo phone", "http")}
    assert all(line["title"].startswith("[demo] ") for line in log)
    assert [line["outcome"] for line in reversed(log)] == ["allowed", "denied", "allowed"]
    assert [line["text"] for line in reversed(log)] == ["", "Use 30.", ""]
    assert [line["kind"] for line in reversed(log)] == ["permission", "permission", "question"]
    states = [moment["state"] for moment in yc.show(log[0]["id"])["history"]]
    assert states == ["open", "answering", "sent", "accepted", "confirmed"]
    assert yc.prompts() == yc.run("sessions", "--json").json == yc.run("devices", "--json").json == []
    assert not (yc.home / "demo").exists()
    assert alive(yc.pid)


def test_the_desk_and_another_terminal_take_turns(yc: Yourcall, ptys: Ptys, tmp_path: Path) -> None:
    demo = at_the_desk(ptys, yc.env, tmp_path)
    first = wait_asked(yc)
    assert (first["agent"], first["title"]) == ("demo", "[demo] rm -rf build/ && make release")
    assert first["tool"]["name"] == "Bash"
    assert "Claude" not in json.dumps(first)
    (session,) = yc.run("sessions", "--json").json
    assert (session["agent"], session["state"], session["pid"]) == ("demo", "waiting", demo.pid)
    wait_shown(demo, f"answer {first['id'][:6]} allow")
    demo.key("x")  # not a choice
    demo.key("1")
    shown = yc.wait_state(first["id"], "desk")
    shown = until(lambda: (s := yc.show(first["id"]))["outcome"] and s)
    assert (shown["outcome"], shown["answered_by"]) == ("allowed", "desk")
    wait_shown(demo, "Allowed by you, at the desk")
    wait_shown(demo, NEXT)
    assert yc.run("answer", first["id"], "deny").code == 3  # the desk was first
    demo.key("x")

    second = wait_asked(yc, first["id"])
    assert yc.run("answer", second["id"], "deny", "--text", "Make it 40.").code == 0
    wait_shown(demo, "Denied by you, with yourcall answer")
    wait_shown(demo, "You said: Make it 40.")
    wait_shown(demo, NEXT, 2)
    demo.key("x")

    third = wait_asked(yc, second["id"])
    assert [option["label"] for option in third["questions"][0]["options"]][2] == "Surprise me"
    wait_shown(demo, "Press 1, 2 or 3")
    demo.key("3")
    assert wait_over(demo) == 0
    assert demo.shows("Drawing it: surprise me.")
    assert yc.show(third["id"])["state"] == "desk"


def test_what_is_answered_elsewhere_is_what_the_agent_does(yc: Yourcall, ptys: Ptys, tmp_path: Path) -> None:
    demo = at_the_desk(ptys, yc.env, tmp_path)
    first = wait_asked(yc)
    assert yc.run("answer", first["id"], "allow", "--input", '{"command": "make dist"}').code == 0
    wait_shown(demo, 'what you changed it to: {"command": "make dist"}')
    wait_shown(demo, NEXT)
    demo.key("x")
    second = wait_asked(yc, first["id"])
    assert yc.run("answer", second["id"], "stop").code == 0
    wait_shown(demo, "Stopped. I wait for you.")
    assert yc.show(second["id"])["outcome"] == "stopped"
    (session,) = yc.run("sessions", "--json").json
    assert session["state"] == "idle"
    demo.key("x")
    wait_shown(demo, "Go on with the next thing.")
    wait_shown(demo, "Press 1, 2 or 3")


def test_ctrl_c_ends_the_session_and_its_prompt(yc: Yourcall, ptys: Ptys, tmp_path: Path) -> None:
    demo = at_the_desk(ptys, yc.env, tmp_path)
    prompt = wait_asked(yc)
    wait_shown(demo, "Press 1 or 2")
    demo.key("C-c")
    assert wait_over(demo) == 130
    assert demo.shows(f"Prompt {prompt['id'][:6]} was withdrawn.")
    shown = yc.show(prompt["id"])
    assert (shown["state"], shown["outcome"]) == ("ended", None)
    assert yc.prompts() == yc.run("sessions", "--json").json == []
    assert not (yc.home / "demo").exists()


def test_ctrl_c_takes_the_private_daemon_along(corner: Corner, ptys: Ptys) -> None:
    demo = at_the_desk(ptys, {**corner.env, "NO_COLOR": "1"}, corner.folder)
    daemon = corner.private_daemon()
    wait_shown(demo, f"yourcall --home {daemon['home']} answer")
    assert alive(daemon["pid"])
    assert not re.search(rb"\x1b\[[0-9;]*m", demo.raw)
    demo.key("C-c")
    assert wait_over(demo) == 130
    assert demo.shows("was withdrawn.")
    assert corner.is_left_as_it_was(daemon["pid"])


@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGHUP], ids=["killed", "terminal closed"])
def test_a_demo_that_is_killed_leaves_nothing_either(corner: Corner, ptys: Ptys, number: int) -> None:
    demo = at_the_desk(ptys, corner.env, corner.folder)
    daemon = corner.private_daemon()
    wait_shown(demo, "Press 1 or 2")
    os.kill(demo.pid, number)
    until(lambda: corner.is_left_as_it_was(daemon["pid"]), what="the daemon and its folder to go")


def test_without_yourcall_the_dialog_still_works(corner: Corner, ptys: Ptys) -> None:
    demo = at_the_desk(ptys, corner.env, corner.folder)
    daemon = corner.private_daemon()
    wait_shown(demo, "Press 1 or 2")
    down = [str(COMMAND), "--home", str(daemon["home"]), "down"]
    assert subprocess.run(down, env=corner.env, stdout=subprocess.DEVNULL, check=False).returncode == 0
    demo.key("1")
    wait_shown(demo, "Allowed by you, at the desk")
    wait_shown(demo, NEXT)
    demo.key("x")
    wait_shown(demo, "yourcall cannot be reached now.")
    demo.key("2")
    wait_shown(demo, "Denied by you, at the desk")
    wait_shown(demo, NEXT, 2)
    demo.key("C-c")
    assert wait_over(demo) == 130
    assert corner.is_left_as_it_was(daemon["pid"])


def test_a_terminal_is_given_back_as_it_was(corner: Corner, ptys: Ptys) -> None:
    """The shell that comes after must echo again, also when the demo was cut short."""
    script = f"trap : INT; {COMMAND} demo; stty -a; echo shell-again"
    demo = ptys.start(["/bin/sh", "-c", script], cwd=corner.folder, env=corner.env, cols=80, rows=24)
    wait_shown(demo, "Press 1 or 2")
    demo.key("C-c")
    wait_shown(demo, "shell-again")
    settings = demo.raw.decode("utf-8", "replace").rpartition("speed ")[2].split()
    assert "echo" in settings
    assert "icanon" in settings


def test_help_says_that_it_is_a_play() -> None:
    words = [sys.executable, "-m", "yourcall.cli.main", "demo", "--help"]
    said = subprocess.run(words, capture_output=True, text=True, check=True).stdout
    assert "Nothing real is run." in said
    assert "--hands-free" in said
