"""A dialog in a terminal of `yourcall run`: read in its shadow, answered through its door, or not at all."""

from __future__ import annotations

import json
import os
import signal
import socket
import subprocess
import threading
import time
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from kit.drawn import Drawn
from kit.poll import PATIENCE_S, until
from kit.terminal import Ptys
from kit.yourcall import COMMAND, Yourcall
from yourcall.links.pty.pane import DOOR, SHADOW
from yourcall.links.pty.relay import QUIET_S
from yourcall.system.sockets import short_folder

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from kit.terminal import Pty

CORPUS = Path(__file__).parents[1] / "corpus" / "claude"


def captured(name: str) -> str:
    return (CORPUS / name / "screen.txt").read_text()


BASH, RM, IDLE = captured("bash-120x40"), captured("bash-rm-120x40"), captured("idle-after-answer-120x40")


@pytest.fixture
def yourcall(tmp_path: Path) -> Iterator[Yourcall]:
    with Yourcall(tmp_path) as running:
        yield running


class Scene:
    """A program called `claude` that draws its dialogs, run in a plain terminal."""

    def __init__(self, yourcall: Yourcall, ptys: Ptys, folder: Path) -> None:
        self.yourcall, self._ptys, self._folder = yourcall, ptys, folder

    def start(
        self, screens: Mapping[str, str], moves: Mapping[tuple[str, str], Sequence[str]]
    ) -> tuple[Drawn, Pty]:
        drawn = Drawn(self._folder, screens, moves)
        (self._folder / "bin").mkdir()
        claude = self._folder / "bin" / "claude"
        claude.write_text("#!/bin/sh\nexec " + " ".join(f"'{word}'" for word in drawn.command) + "\n")
        claude.chmod(0o755)
        env = {**self.yourcall.env, "TERM": "xterm-256color"}
        env["PATH"] = f"{claude.parent}{os.pathsep}{env['PATH']}"
        pty = self._ptys.start([str(COMMAND), "run", "--", "claude"], cwd=self._folder, env=env)
        until(lambda: drawn.shown, what="its first screen", show=lambda: pty.raw)
        return drawn, pty

    @property
    def door(self) -> Path:
        (found,) = until(lambda: list(short_folder(self.yourcall.home, "pty").glob(f"*{DOOR}")))
        return found

    def ask(self, **words: object) -> dict[str, Any]:
        """One question at the door, without the daemon."""
        with socket.socket(socket.AF_UNIX) as talk:
            talk.settimeout(PATIENCE_S)
            talk.connect(str(self.door))
            talk.sendall(json.dumps(words).encode() + b"\n")
            return json.loads(talk.makefile().readline())


@pytest.fixture
def scene(yourcall: Yourcall, tmp_path: Path) -> Iterator[Scene]:
    with Ptys() as ptys:
        yield Scene(yourcall, ptys, tmp_path)


def test_a_dialog_is_answered_by_the_key_of_its_row(scene: Scene) -> None:
    drawn, _ = scene.start({"ask": BASH, "idle": IDLE}, {("ask", "1"): ["idle"]})
    prompt = scene.yourcall.wait_prompt()
    assert (prompt["kind"], prompt["held"], prompt["agent"]) == ("permission", True, "claude")
    said = scene.yourcall.run("answer", prompt["id"], "allow")
    assert said.code == 0, (said, scene.yourcall.show(prompt["id"]))
    assert drawn.typed == b"1"
    assert scene.yourcall.show(prompt["id"])["state"] == "confirmed"


def test_another_dialog_than_the_one_that_was_seen_gets_no_key(scene: Scene) -> None:
    drawn, _ = scene.start({"ask": BASH, "other": RM}, {})
    prompt = scene.yourcall.wait_prompt()
    scene.yourcall.signal(19)  # it does not look while the screen changes
    drawn.show("other")
    scene.yourcall.signal(18)
    status, said = scene.yourcall.http(
        "POST", f"/api/prompts/{prompt['id']}/answer", {"option": "allow", "wait": 5}
    )
    assert status in (200, 409), said
    assert said["result"] in ("bounced", "too_late", "refused"), said
    assert drawn.typed == b""


def test_what_is_typed_at_the_desk_is_not_interrupted(scene: Scene) -> None:
    drawn, pty = scene.start({"idle": IDLE}, {})
    assert until(lambda: scene.ask(do="about")["pid"])
    assert scene.ask(do="keys", text="late", by=time.monotonic() - 0.01) == {"why": "it took too long"}
    stop = threading.Event()
    typed_at = [time.monotonic()]

    def type_on() -> None:
        while not stop.wait(0.005):
            pty.text("x")
            typed_at.append(time.monotonic())

    typing = threading.Thread(target=type_on)
    typing.start()
    try:
        until(lambda: drawn.typed)
        told = [scene.ask(do="keys", text="Z", by=time.monotonic() + 5)["why"] for _ in range(20)]
    finally:
        stop.set()
        typing.join()
    rests = [after - before for before, after in pairwise(typed_at)]
    if max(rests) < QUIET_S / 2:  # on a busy machine our own hand may rest for a moment
        assert set(told) == {"somebody is typing there this very moment"}
        assert set(drawn.typed) == {ord("x")}
    assert "somebody is typing there this very moment" in told
    typed = until(lambda: scene.ask(do="keys", text="Z", by=time.monotonic() + 5) == {"why": ""})
    assert typed
    until(lambda: drawn.typed.endswith(b"xZ"), show=lambda: drawn.typed)


def test_no_key_while_the_shadow_is_behind(scene: Scene) -> None:
    """What it shows is not what the person sees any more: the dialog may be another one."""
    drawn, pty = scene.start({"ask": BASH, "other": RM}, {})
    assert until(lambda: scene.ask(do="about")["pid"])
    shadow = [
        "tmux",
        "-S",
        str(scene.door.with_suffix(SHADOW)),
        "display-message",
        "-p",
        "-t",
        "%0",
        "#{pane_pid}",
    ]
    pane = int(subprocess.run(shadow, capture_output=True, text=True, check=True).stdout)
    below = [int(word) for word in Path(f"/proc/{pane}/task/{pane}/children").read_text().split()]
    (repeats,) = [pid for pid in below if b".fifo" in Path(f"/proc/{pid}/cmdline").read_bytes()]
    os.kill(repeats, signal.SIGSTOP)
    try:
        drawn.show("other")
        until(lambda: b"rm " in pty.raw)
        told = scene.ask(do="keys", text="1", by=time.monotonic() + 5)
        assert told == {"why": "its screen is still being drawn"}
    finally:
        os.kill(repeats, signal.SIGCONT)
    until(lambda: scene.ask(do="keys", text="2", by=time.monotonic() + 5) == {"why": ""})
    until(lambda: drawn.typed == b"2", show=lambda: drawn.typed)


def test_a_paste_is_marked_as_the_program_asked_for_it(scene: Scene) -> None:
    drawn, _ = scene.start({"idle": IDLE}, {})
    assert until(lambda: scene.ask(do="about")["pid"])
    until(lambda: scene.ask(do="paste", text="two\nlines", by=time.monotonic() + 5) == {"why": ""})
    until(lambda: drawn.typed == b"\x1b[200~two\nlines\x1b[201~", show=lambda: drawn.typed)


def shown_out(door: Path, words: bytes) -> bool:
    """Is whoever says this shown out, without an answer?"""
    with socket.socket(socket.AF_UNIX) as talk:
        talk.settimeout(PATIENCE_S)
        talk.connect(str(door))
        try:
            talk.sendall(words)
            return talk.recv(100) == b""
        except (BrokenPipeError, ConnectionResetError):
            return True


def test_nonsense_at_the_door_disturbs_nobody(scene: Scene) -> None:
    drawn, pty = scene.start({"idle": IDLE}, {})
    for words in (b"\xff\x00\n", b"[" * 100_000 + b"\n", b'{"do":"burn"}\n', b"x" * (5 << 20)):
        assert shown_out(scene.door, words)
    pty.text("k")
    until(lambda: drawn.typed == b"k")
    assert scene.ask(do="about")["seen"]


def test_what_a_program_writes_reaches_no_log(scene: Scene) -> None:
    """Titles, links, clipboards, a bell: as hostile as they are, they stay on the screen."""
    evil = "\x1b]2;EVIL\x1b[31m\x07\x1b]52;c;RVZJTA==\x07\x1b]8;;http://127.0.0.1/EVIL\x07here\x1b]8;;\x07\x07\x1b[5;5HEVIL"
    drawn, pty = scene.start({"idle": IDLE, "evil": evil + "\n" + BASH}, {})
    drawn.show("evil")
    scene.yourcall.wait_prompt()
    listed = scene.yourcall.run("sessions")
    assert listed.code == 0
    assert "\x1b" not in listed.out
    (session,) = scene.yourcall.http("GET", "/api/sessions")[1]
    _, seen = scene.yourcall.http("GET", f"/api/sessions/{session['id']}/screen")
    assert "EVIL" in seen["screen"]
    assert "\x1b]" not in seen["screen"].replace("\x1b]8;", "")
    logs = [path for path in (scene.yourcall.home / "log").rglob("*") if path.is_file()]
    assert logs
    for path in logs:
        assert b"EVIL" not in path.read_bytes()
        assert b"\x1b" not in path.read_bytes()
    assert evil.encode() in pty.raw
