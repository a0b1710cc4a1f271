"""A program that draws screens and moves between them by keys: an agent's dialogs, without the agent.

The rule it keeps: it writes down every byte it was sent, so that a test can say exactly what was pressed.

    drawn = Drawn(tmp_path, {"ask": screen, "done": other}, {("ask", "1"): ["done"]})
    pane = drawn.start(tmux)
    drawn.show("other")            # another screen, without a key
    drawn.typed                    # b"1"

A move may name several screens: each but the last is shown for a moment.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from kit.poll import until

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from kit.terminal import Pane, Tmux

PROGRAM = r"""
import json, os, select, sys, termios, time, tty
folder = sys.argv[1]
screens, moves, now, moment = json.load(open(folder + "/screens.json"))
log = os.open(folder + "/typed", os.O_WRONLY | os.O_CREAT | os.O_APPEND)
wish = folder + "/wish"

def draw(name):
    global now
    now = name
    lines = screens[name].rstrip("\n").split("\n")
    out = "\x1b[2J\x1b[H" + "\r\n".join(lines)
    os.write(1, out.encode())
    with open(folder + "/shown.new", "w") as file:
        file.write(name)
    os.rename(folder + "/shown.new", folder + "/shown")

tty.setraw(0)
os.write(1, b"\x1b[?2004h")
draw(now)
while True:
    ready, _, _ = select.select([0], [], [], 0.01)
    if os.path.exists(wish):
        name = open(wish).read()
        os.remove(wish)
        screens.setdefault(name, name)
        draw(name)
    if not ready:
        continue
    data = os.read(0, 65536)
    os.write(log, data)
    names = moves.get(now + " " + data.decode("utf-8", "replace"), [])
    for place, name in enumerate(names):
        if name == "exit":
            sys.exit(0)
        draw(name)
        if place + 1 < len(names):
            time.sleep(moment)
"""


class Drawn:
    """`screens` by name, the first of them is shown first; `moves`: what a key leads to from a screen."""

    def __init__(
        self,
        folder: Path,
        screens: Mapping[str, str],
        moves: Mapping[tuple[str, str], Sequence[str]],
        moment: float = 0.12,
    ) -> None:
        self.folder = folder / "drawn"
        self.folder.mkdir()
        steps = {f"{screen} {key}": list(names) for (screen, key), names in moves.items()}
        plan = [dict(screens), steps, next(iter(screens)), moment]
        (self.folder / "screens.json").write_text(json.dumps(plan))
        (self.folder / "program.py").write_text(PROGRAM)

    @property
    def command(self) -> list[str]:
        return [sys.executable, "-S", str(self.folder / "program.py"), str(self.folder)]

    def start(self, tmux: Tmux, cols: int = 120, rows: int = 40) -> Pane:
        pane = tmux.start(self.command, cwd=self.folder, env={"LANG": "C.UTF-8"}, cols=cols, rows=rows)
        self.wait()
        return pane

    def wait(self, name: str = "") -> None:
        """Until that screen is drawn, or any."""
        until(lambda: self.shown == name if name else self.shown, what=f"screen {name}")

    def draw(self, screen: str) -> None:
        """A screen that nobody thought of before."""
        self.show(screen)

    def show(self, name: str) -> None:
        (self.folder / "wish.new").write_text(name)
        (self.folder / "wish.new").rename(self.folder / "wish")
        self.wait(name)

    @property
    def shown(self) -> str:
        file = self.folder / "shown"
        return file.read_text() if file.exists() else ""

    @property
    def typed(self) -> bytes:
        file = self.folder / "typed"
        return file.read_bytes() if file.exists() else b""
