"""The keyboard at which the agent's own dialog is answered.

Rule: one key at a time, read only while a dialog or a pause is on the screen; keys typed before that are dropped,
and the terminal is given back as it was found, however the demo ends.
"""

from __future__ import annotations

import os
import select
import sys
import termios
import tty
from contextlib import suppress
from typing import Any

from yourcall.demo import stage


class Left(Exception):
    """Nobody is at the desk any more: the terminal was closed."""


class Desk:
    """`with Desk(present=True) as desk`; without presence, nobody types and nothing blinks."""

    def __init__(self, *, present: bool) -> None:
        self.present = present
        self._before: Any = None
        self._typed = ""

    def __enter__(self) -> Desk:
        if self.present:
            self._before = termios.tcgetattr(0)
            tty.setcbreak(0)
        return self

    def __exit__(self, *_: object) -> None:
        if self._before is not None:
            stage.unwait()
            with suppress(termios.error):
                termios.tcsetattr(0, termios.TCSADRAIN, self._before)

    def forget(self) -> None:
        """Drop what was typed until now: it was meant for something else."""
        self._typed = ""
        if self.present:
            termios.tcflush(0, termios.TCIFLUSH)

    def look(self, fd: int | None, seconds: float) -> tuple[str, bool]:
        """Wait for a key or for `fd`, not longer than this: (the key or "", is fd ready?)."""
        watched = [*([0] if self.present else []), *([] if fd is None else [fd])]
        ready, _, _ = select.select(watched, [], [], 0 if self._typed else seconds)
        if self.present and 0 in ready:
            self._read()
        key, self._typed = self._typed[:1], self._typed[1:]
        return key, fd in ready

    def _read(self) -> None:
        try:
            typed = os.read(0, 256)
        except OSError:
            typed = b""
        if not typed:
            raise Left
        # An arrow or a paste begins with Esc and may hold any digit: one key, and not a choice.
        self._typed += "?" if b"\x1b" in typed else typed.decode("latin-1")

    def pause(self, text: str) -> None:
        """Wait for any key."""
        if not self.present:
            stage.breathe()
            return
        self.forget()
        stage.say(stage.dim(text))
        sys.stdout.flush()
        while not self.look(None, 60)[0]:
            continue
