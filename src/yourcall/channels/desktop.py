"""A notification on the desktop of this machine: `notify-send` on Linux, `osascript` on macOS.

Rule: what an agent wrote is an argument, never part of a command or a script, and never markup.
"""

from __future__ import annotations

import asyncio
import errno
import html
import os
import shutil
import sys
from collections.abc import Mapping, Sequence

from msgspec import Struct

from yourcall.channels.channel import Abilities, Carried, Channel, Failed, Later, Notice, Sent, World

SECRETS = ()

LONGEST_TEXT = 300

# Text is handed over behind the script; inside it could end a string and begin a command.
_SHOW_ON_MAC = (
    "on run argv",
    "display notification (item 2 of argv) with title (item 1 of argv)",
    "end run",
)
_CLOSE = (
    "gdbus", "call", "--session", "--dest", "org.freedesktop.Notifications", "--object-path",
    "/org/freedesktop/Notifications", "--method", "org.freedesktop.Notifications.CloseNotification",
)  # fmt: skip


# Of file handles, processes or memory, which others give back.
_SHORT = (errno.EMFILE, errno.ENFILE, errno.EAGAIN, errno.ENOMEM)


class Settings(Struct, frozen=True, forbid_unknown_fields=True):
    pass


class Desktop:
    def __init__(self, name: str, env: Mapping[str, str], platform: str) -> None:
        self.name = name
        self._env = env
        self._mac = platform == "darwin"
        path = env.get("PATH", os.defpath)
        self._show = shutil.which("osascript" if self._mac else "notify-send", path=path)
        self._gdbus = None if self._mac else shutil.which("gdbus", path=path)
        self.abilities = Abilities("desk", withdraw=self._gdbus is not None)

    def targets(self) -> Sequence[str]:
        """Nobody looks at the desktop of a server that has none."""
        has_desktop = self._mac or any(
            self._env.get(name) for name in ("DISPLAY", "WAYLAND_DISPLAY", "DBUS_SESSION_BUS_ADDRESS")
        )
        return ("",) if self._show and has_desktop else ()

    def rendered(self, notice: Notice) -> str:
        return f"{notice.title}\n{notice.text[:LONGEST_TEXT]}"

    async def send(self, target: str, notice: Notice) -> Carried:
        if self._show is None:
            return Failed("there is no notify-send on this machine; install libnotify")
        text = notice.text[:LONGEST_TEXT]
        if self._mac:
            script = [word for line in _SHOW_ON_MAC for word in ("-e", line)]
            done = await self._run(self._show, *script, notice.title, text)
        else:
            urgency = "low" if notice.kind == "ready" else "normal"
            options = ("--print-id", "--app-name=yourcall", f"--urgency={urgency}")
            done = await self._run(self._show, *options, "--", notice.title, html.escape(text, quote=False))
        if not isinstance(done, bytes):
            return done
        said = done.decode("ascii", "replace").strip()
        return Sent(said if said.isdecimal() else "")

    async def update(self, target: str, receipt: str, notice: Notice) -> Carried:
        return Sent(receipt)

    async def withdraw(self, target: str, receipt: str, notice: Notice) -> Carried:
        if not receipt or self._gdbus is None:
            return Sent()
        done = await self._run(self._gdbus, *_CLOSE[1:], receipt)
        return done if isinstance(done, Failed | Later) else Sent()

    async def _run(self, *words: str) -> bytes | Failed | Later:
        try:
            process = await asyncio.create_subprocess_exec(
                *words,
                env=dict(self._env),
                stdin=asyncio.subprocess.DEVNULL,
                stdout=asyncio.subprocess.PIPE,
                stderr=asyncio.subprocess.DEVNULL,
            )
        except OSError as error:
            why = f"{os.path.basename(words[0])} cannot be run: {error.strerror}"
            return Later(why) if error.errno in _SHORT else Failed(why)
        try:
            out, _ = await process.communicate()
        except BaseException:
            process.kill()
            raise
        if process.returncode == 0:
            return out
        return Failed(
            f"{os.path.basename(words[0])} ended with {process.returncode}; is a desktop session running?"
        )


def make(name: str, settings: Settings, world: World) -> Channel:
    return Desktop(name, os.environ, sys.platform)
