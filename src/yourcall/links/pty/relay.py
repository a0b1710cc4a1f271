"""A program in the person's own terminal, through a pseudo-terminal of ours, so that it can be reached from afar.

Rules
  * What the program writes reaches the terminal byte for byte, and what is typed reaches the program: nothing is
    added or left out. The terminal comes before everybody.
  * However it ends, the terminal is as it was, and we end as the program did: its code, its signal.
  * Without the shadow, without the daemon, with anything else broken: the program runs on.
"""

from __future__ import annotations

import contextlib
import fcntl
import gc
import os
import re
import resource
import select
import signal
import struct
import termios
import time
import tty
from pathlib import Path
from typing import Any, NoReturn

from msgspec.structs import replace

from yourcall.links.pty import leader
from yourcall.links.pty.control_socket import About, Answer, Ask, ControlSocket, Written
from yourcall.links.pty.leader import Job, JobTerminal
from yourcall.links.pty.screen_copy import ScreenCopy

CHUNK = 1 << 16
FAILED = -1  # no wait status: the program could not be started
MOST_TYPED = 1 << 16  # what may wait for a program that does not read; after this the terminal waits
TICK_S = 0.25  # how often things are looked after that nothing wakes us for
QUIET_S = 0.05  # a key from afar must not fall into the middle of what somebody types
GONE_S = 3.0  # how long a program may take to end after its terminal was closed

PASSED_ON = (
    signal.SIGTERM,
    signal.SIGHUP,
    signal.SIGINT,
    signal.SIGQUIT,
    signal.SIGTSTP,
    signal.SIGUSR1,
    signal.SIGUSR2,
)
HEARD = (*PASSED_ON, signal.SIGWINCH, signal.SIGCONT)

# What a terminal says by itself: replies to questions, and that it has the focus. Nobody typed these.
REPORTS = re.compile(
    rb"(?:\x1b\[[?>][\d;]*[\$]?[a-z]|\x1b\[\d+;\d+R|\x1b\[[IO]|\x1b[P\]][^\x07\x1b]*(?:\x07|\x1b\\))+"
)
PASTES = re.compile(rb"\x1b\[\?(?:\d+;)*2004(?:;\d+)*([hl])")


class Gone(Exception):
    """The person's terminal is not there any more."""


def run(job: Job, folder: Path, about: About) -> None:
    """Run this to its end in the terminal of this process, and end as it does; return only if it cannot begin."""
    try:
        relay = Relay(job, folder, about)
    except OSError:
        return
    try:
        status = relay.follow()
    finally:
        relay.close()
    if status != FAILED:
        _end_as(status)


class Relay:
    """One program between a pseudo-terminal and the person's terminal, from its start to its end."""

    def __init__(self, job: Job, folder: Path, about: About) -> None:
        self._settings: list[Any] = termios.tcgetattr(0)
        self._out, self._own_out = _unblocked(1)
        # Its other side is kept open too: so there is no end of it but the one that the leader tells.
        self._master, self._slave = os.openpty()
        terminal = os.ttyname(self._slave)
        termios.tcsetattr(self._slave, termios.TCSANOW, self._settings)
        self._size = b""
        self._news, self._pid, self._pastes = b"", 0, False
        self._typed_at, self._quiet_since = 0.0, 0.0  # by the clock on the wall, and by one that is never set
        self._seam = b""  # the end of the last piece: an escape may lie across two of them
        self._inward, self._outward = bytearray(), b""
        self._waiting: Answer | None = None
        self._resizes = self._continues = False
        self._early: list[int] = []  # signals for a program that is just being started
        self._status: int | None = None
        self._woken, wake = os.pipe()
        os.set_blocking(wake, False)
        os.set_blocking(self._woken, False)
        os.set_blocking(self._master, False)
        self._wake = wake
        signal.set_wakeup_fd(wake, warn_on_full_buffer=False)
        self._before = {number: signal.signal(number, _noted) for number in HEARD}
        columns, rows = self._copied_size()
        self.shadow = ScreenCopy(folder, about.name, columns, rows)
        self.door = ControlSocket(folder / f"{about.name}.pty", self._asked)
        self._about = about
        desk = JobTerminal(os.dup(0), self._settings)
        self._leader, self._told = leader.start(job, terminal, desk)
        os.close(desk.terminal)

    # --- the way of the bytes -------------------------------------------------------------------------------

    def follow(self) -> int:
        """Carry everything both ways until the program has ended; its wait status."""
        gc.disable()  # nothing here makes circles, and no key shall wait for a search of them
        self._raw()
        while self._status is None:
            self._turn()
        self._drain()
        return self._status

    def _turn(self) -> None:
        ready = select.poll()
        for fd, wanted in self._watched():
            ready.register(fd, wanted)
        try:
            events = ready.poll(TICK_S * 1000 if not self._resizes else 2)
        except InterruptedError:
            events = []
        try:
            for fd, what in events:
                self._happened(fd, what)
            if self._resizes and self.shadow.resized:
                self._resize_program()
        except Gone:
            self._hang_up()
        self.shadow.look_after()

    def _watched(self) -> list[tuple[int, int]]:
        reads = not self._outward and not self.shadow.late
        return [
            (self._master, (select.POLLIN if reads else 0) | (select.POLLOUT if self._inward else 0)),
            *([(0, select.POLLIN)] if len(self._inward) < MOST_TYPED else []),
            *([(self._out, select.POLLOUT)] if self._outward else []),
            *([(self.shadow.fd, select.POLLOUT)] if self.shadow.waits else []),
            (self._woken, select.POLLIN),
            (self._told, select.POLLIN),
            *self.door.watched(),
        ]

    def _happened(self, fd: int, what: int) -> None:
        if fd == self._master:
            if what & select.POLLOUT:
                self._type()
            if what & (select.POLLIN | select.POLLHUP):
                self._read()
        elif fd == 0:
            self._read_terminal()
        elif fd == self._out:
            self._show(b"")
        elif fd == self._woken:
            for number in os.read(self._woken, 256):
                self._signalled(number)
        elif fd == self._told:
            self._hear()
        else:
            self._aside(fd)

    def _aside(self, fd: int) -> None:
        """What goes wrong here is no reason to lose the program."""
        try:
            if fd == self.shadow.fd:
                self.shadow.go_on()
            else:
                self.door.happened(fd)
        except Exception:
            self.door.close()
            self.shadow.close()

    def _read(self) -> bool:
        """Take what the program has written; False if there is nothing."""
        try:
            data = os.read(self._master, CHUNK)
        except BlockingIOError:
            return False
        except OSError:  # hung up
            return False
        self._show(data)
        self.shadow.told(data)
        if b"2004" in data or self._seam:
            for match in PASTES.finditer(self._seam + data):
                self._pastes = match[1] == b"h"
        tail = (self._seam + data)[-24:]
        cut = tail.rfind(b"\x1b")
        self._seam = tail[cut:] if cut >= 0 else b""
        return True

    def _show(self, data: bytes) -> None:
        self._outward += data
        try:
            while self._outward:
                self._outward = self._outward[os.write(self._out, self._outward) :]
        except BlockingIOError:
            return
        except OSError as error:
            raise Gone from error

    def _read_terminal(self) -> None:
        try:
            data = os.read(0, CHUNK)
        except BlockingIOError:
            return
        except OSError as error:
            raise Gone from error
        if not data:
            raise Gone
        if not (data[0] == 0x1B and REPORTS.fullmatch(data)):
            self._typed_at, self._quiet_since = time.time(), time.monotonic()
        self._inward += data
        self._type()

    def _type(self) -> None:
        try:
            while self._inward:
                del self._inward[: os.write(self._master, self._inward)]
        except BlockingIOError:
            return
        except OSError:
            self._inward.clear()
        if self._waiting is not None:
            answer, self._waiting = self._waiting, None
            answer(Written())

    def _drain(self) -> None:
        """What the program wrote before it ended."""
        with contextlib.suppress(Gone):
            while self._read() or self._outward:
                if self._outward:
                    select.select([], [self._out], [], TICK_S)
                    self._show(b"")

    # --- from afar ------------------------------------------------------------------------------------------

    def _asked(self, ask: Ask, answer: Answer) -> None:
        if ask.do == "about":
            answer(replace(self._about, pid=self._pid, typed_at=self._typed_at, seen=self.shadow.fd >= 0))
        elif not self._pid or self._status is not None:
            answer(Written("its program has ended"))
        elif time.monotonic() > ask.by:
            answer(Written("it took too long"))
        elif self.shadow.behind:
            answer(Written("its screen is still being drawn"))
        elif time.monotonic() - self._quiet_since < QUIET_S or self._inward:
            answer(Written("somebody is typing there this very moment"))
        else:
            data = ask.text.encode("utf-8", "replace")
            pasted = ask.do == "paste" and self._pastes
            self._inward += b"\x1b[200~" + data + b"\x1b[201~" if pasted else data
            self._waiting = answer
            self._type()

    # --- signals, sizes, the job ----------------------------------------------------------------------------

    def _signalled(self, number: int) -> None:
        if number == signal.SIGWINCH:
            self._resize()
        elif number == signal.SIGCONT:
            self._go_on()
        elif not self._pid:
            self._early.append(number)
        else:
            with contextlib.suppress(ProcessLookupError):
                os.kill(self._pid, number)

    def _hear(self) -> None:
        data = os.read(self._told, 4096)
        self._news += data
        *lines, self._news = self._news.split(b"\n")
        for line in lines:
            word, _, number = line.partition(b" ")
            if word == b"pid":
                self._pid = int(number)
                while self._early:
                    self._signalled(self._early.pop(0))
            elif word == b"failed":
                self._status = FAILED
            elif word == b"stopped":
                self._stop(int(number))
            elif word == b"ended" and self._status is None:
                self._status = int(number)
        if not data and self._status is None:
            self._status = signal.SIGKILL  # the leader was killed, and its job with it

    def _stop(self, number: int) -> None:
        """The program was stopped, by Ctrl-Z or by itself: so are we, and the shell has the terminal."""
        with contextlib.suppress(Gone):
            while self._read():  # its last words, such as the end of its full screen
                pass
        self._restore()
        before = signal.signal(number, signal.SIG_DFL) if number != signal.SIGSTOP else None
        os.kill(0 if number == signal.SIGTSTP else os.getpid(), number)
        # Here again after `fg`; or at once, where no shell could ever continue us: then it is not stopped either.
        if before is not None:
            signal.signal(number, before)
        self._go_on()

    def _go_on(self) -> None:
        self._raw()
        self._resize()
        self._continues = self._resizes  # it finds its new size when it looks
        if self._pid and not self._continues:
            with contextlib.suppress(ProcessLookupError, PermissionError):
                os.killpg(self._pid, signal.SIGCONT)

    def _resize(self) -> None:
        """First the shadow, then the program: what it draws for its new size finds the shadow of that size."""
        size = _size(0)
        if size != self._size:
            self.shadow.resize(*_drawn_for(size))
            self._resizes = True

    def _resize_program(self) -> None:
        self._resizes = False
        self._copied_size()
        if self._continues:
            self._go_on()

    def _copied_size(self) -> tuple[int, int]:
        self._size = _size(0)
        with contextlib.suppress(OSError):
            fcntl.ioctl(self._master, termios.TIOCSWINSZ, self._size)
        return _drawn_for(self._size)

    def _hang_up(self) -> None:
        """The terminal is gone: the program gets the hang-up that it would have got from it."""
        if self._master >= 0:
            os.close(self._master)
            self._master = -1
        deadline = time.monotonic() + GONE_S
        while self._status is None and time.monotonic() < deadline:
            if select.select([self._told], [], [], TICK_S)[0]:
                self._hear()
        self._status = signal.SIGHUP

    # --- the terminal itself --------------------------------------------------------------------------------

    def _raw(self) -> None:
        mode = termios.tcgetattr(0)
        mode[tty.IFLAG] = 0
        mode[tty.OFLAG] &= ~termios.OPOST
        mode[tty.CFLAG] = mode[tty.CFLAG] & ~(termios.CSIZE | termios.PARENB) | termios.CS8
        mode[tty.LFLAG] &= ~(termios.ECHO | termios.ECHONL | termios.ICANON | termios.IEXTEN | termios.ISIG)
        mode[tty.CC][termios.VMIN], mode[tty.CC][termios.VTIME] = 1, 0
        with contextlib.suppress(termios.error):
            termios.tcsetattr(0, termios.TCSADRAIN, mode)  # what was typed ahead is kept

    def _restore(self) -> None:
        with contextlib.suppress(OSError, termios.error):
            if os.tcgetpgrp(0) == os.getpgrp():  # in the background it is somebody else's, and we would be stopped
                termios.tcsetattr(0, termios.TCSADRAIN, self._settings)

    def close(self) -> None:
        self._restore()
        self.door.close()
        self.shadow.close()
        signal.set_wakeup_fd(-1)
        for number, before in self._before.items():
            signal.signal(number, before)
        if self._master >= 0:
            os.close(self._master)
        for fd in (self._slave, self._woken, self._wake, self._told, *([self._out] if self._own_out else [])):
            os.close(fd)
        with contextlib.suppress(ChildProcessError):
            os.waitpid(self._leader, os.WNOHANG)


def _noted(*_: object) -> None:
    """The number is in the pipe already."""


def _unblocked(fd: int) -> tuple[int, bool]:
    """The same terminal, opened anew, never to wait for it; a flag on the old one would be the shell's too."""
    with contextlib.suppress(OSError):
        return os.open(os.ttyname(fd), os.O_WRONLY | os.O_NONBLOCK | os.O_NOCTTY | os.O_CLOEXEC), True
    return fd, False


def _size(fd: int) -> bytes:
    try:
        return fcntl.ioctl(fd, termios.TIOCGWINSZ, bytes(8))
    except OSError:
        return struct.pack("HHHH", 24, 80, 0, 0)


def _drawn_for(size: bytes) -> tuple[int, int]:
    """Columns and rows that a program draws for on such a terminal: one that tells none is taken for 80 by 24."""
    rows, columns, *_ = struct.unpack("HHHH", size)
    return columns or 80, rows or 24


def _end_as(status: int) -> NoReturn:
    """End with this wait status, as the program's own parent would have seen it."""
    if os.WIFSIGNALED(status):
        number = os.WTERMSIG(status)
        resource.setrlimit(resource.RLIMIT_CORE, (0, resource.getrlimit(resource.RLIMIT_CORE)[1]))
        with contextlib.suppress(OSError, ValueError):
            signal.signal(number, signal.SIG_DFL)
        os.kill(os.getpid(), number)
        os._exit(128 + number)
    os._exit(os.WEXITSTATUS(status))
