"""A full-screen program that uses all of a terminal, by a script; every byte that it reads is written down.

The rule it keeps: what it writes depends on what it has read and on nothing else, so that two runs of it can be
compared byte for byte.

    steps = [Step("Name? ", b"Ada\\r"), Step("\\x1b[6n", b"\\x1b[3;7R", raw=True)]
    program = FullScreen(tmp_path, steps)
    pty = Pty(program.command, ...)
    program.play(pty)
    pty.raw, program.read
"""

from __future__ import annotations

import json
import sys
from dataclasses import dataclass
from typing import TYPE_CHECKING

from kit.poll import until

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from kit.terminal import Pty

PROGRAM = r"""
import json, os, signal, sys, termios, tty
folder = sys.argv[1]
steps = json.load(open(folder + "/steps.json"))
log = os.open(folder + "/read", os.O_WRONLY | os.O_CREAT | os.O_TRUNC)
sizes, sized = os.pipe()
signal.signal(signal.SIGWINCH, lambda *_: os.write(sized, b"w"))
before = termios.tcgetattr(0)

def write(data):
    while data:
        data = data[os.write(1, data):]

for number, (shown, length, raw, resize) in enumerate(steps):
    if raw:
        tty.setraw(0)
    else:
        termios.tcsetattr(0, termios.TCSANOW, before)
    write(shown.encode() + b"<%d>" % number)
    left = length
    while left:
        data = os.read(0, left)
        os.write(log, data)
        left -= len(data)
    if resize:
        os.read(sizes, 1)
        write(b"%dx%d" % tuple(os.get_terminal_size(1)))
termios.tcsetattr(0, termios.TCSANOW, before)
sys.exit(7)
"""


@dataclass(frozen=True)
class Step:
    """`shown` is written, then `typed` is read; `resize`: it waits for another size, and says which."""

    shown: str
    typed: bytes = b""
    raw: bool = False
    resize: tuple[int, int] | None = None
    arrives: bytes | None = None  # what the program reads, where the terminal makes something else of it


# Cooked lines with their echo; then everything that full-screen programs ask of a terminal.
EVERYTHING = (
    Step("Name? ", "Ada Lovelacé\r".encode(), arrives="Ada Lovelacé\n".encode()),
    Step("Tab\there, and a line\n", b"one\x7f\x7fo\r", arrives=b"oo\n"),
    Step("\x1b[?1049h\x1b[2J\x1b[H\x1b[?25l", b"\x03\x1a\x1c\x04", raw=True),
    Step("\x1b[?1000h\x1b[?1002h\x1b[?1003h\x1b[?1006h", b"\x1b[<0;12;7M\x1b[<0;12;7m\x1b[<35;13;7M", raw=True),
    Step("\x1b[?2004h", b"\x1b[200~two\nlines \xf0\x9f\x91\xa9\x1b[201~", raw=True),
    Step("\x1b[c", b"\x1b[?62;22c", raw=True),
    Step("\x1b[6n", b"\x1b[24;80R", raw=True),
    Step("\x1b]11;?\x07\x1bP+q544e\x1b\\", b"\x1b]11;rgb:0000/0000/0000\x1b\\", raw=True),
    Step("\x1b[>1u\x1b[?u", b"\x1b[?1u\x1b[97;5u", raw=True),
    Step("\x1b[?1004h", b"\x1b[I\x1b[O", raw=True),
    Step("\x1b[38;5;196mred \x1b[38;2;1;2;3mdark\x1b[0m \x1b[4:3mcurly\x1b[0m", b"\x1bOA\x1b[1;5C", raw=True),
    Step("日本語 👩‍🚀 e\u0301 ﷽ \u200b", "日本\x00\xff".encode(), raw=True),
    Step("\x1b[?2026h\x1b[5;10r\x1bM\x1bD\x1b[r\x1b[?2026l", bytes(range(256)), raw=True),
    Step("size ", raw=True, resize=(101, 31)),
    Step("and ", raw=True, resize=(80, 24)),
    Step("\x1b]2;a title\x07\x1b]52;c;aGk=\x07\x1b_Gi=1;AAAA\x1b\\", b"q", raw=True),
    Step("\x1b[?1049l\x1b[?25h\x1b[?1003l\x1b[?2004lBye\n", b"\r", arrives=b"\n"),
)


class FullScreen:
    def __init__(self, folder: Path, steps: Sequence[Step] = EVERYTHING) -> None:
        self.steps = steps
        self.folder = folder
        folder.mkdir()
        plan = [[s.shown, len(s.typed if s.arrives is None else s.arrives), s.raw, bool(s.resize)] for s in steps]
        (folder / "steps.json").write_text(json.dumps(plan))
        (folder / "program.py").write_text(PROGRAM)

    @property
    def command(self) -> list[str]:
        return [sys.executable, "-S", str(self.folder / "program.py"), str(self.folder)]

    @property
    def read(self) -> bytes:
        return (self.folder / "read").read_bytes()

    def play(self, pty: Pty) -> None:
        """Type the script, each part when the program has asked for it; until it has ended."""
        for number, step in enumerate(self.steps):
            mark = b"<%d>" % number
            until(lambda mark=mark: mark in pty.raw, what=f"step {number}", show=lambda: pty.raw[-400:])
            if step.typed:
                pty.send(step.typed)
            if step.resize:
                pty.resize(*step.resize)
        until(lambda: pty.returncode is not None, what="its end")
        pty.settle()

    def expected(self) -> bytes:
        return b"".join(step.typed if step.arrives is None else step.arrives for step in self.steps)
