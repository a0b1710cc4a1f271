"""What a shell is to the programs it starts: the leader of a terminal's session, with one job in front.

A program that leads its session itself cannot be stopped by Ctrl-Z: nobody there could continue it, so the kernel
discards the signal. So there is one process between: it waits, and tells how the job stands.

Rule: it touches nothing that the job can see. When the one who holds the terminal is killed, it puts the person's
terminal back in order, for then nobody else can.
"""

from __future__ import annotations

import contextlib
import fcntl
import os
import select
import signal
import termios
from collections.abc import Sequence
from typing import Any, NoReturn

from msgspec import Struct

# Said to a terminal whose program was killed with us: the normal screen, a cursor, no mouse, no marks at a paste.
TIDY = b"\x1b[?1049l\x1b[?1000l\x1b[?1002l\x1b[?1003l\x1b[?1006l\x1b[?1004l\x1b[?2004l\x1b[?25h\x1b[<u\x1b[0m\r\n"

IGNORED = (signal.SIGINT, signal.SIGQUIT, signal.SIGTSTP, signal.SIGTTIN, signal.SIGTTOU, signal.SIGTERM)
CAUGHT = (*IGNORED, signal.SIGHUP, signal.SIGWINCH, signal.SIGCONT, signal.SIGPIPE, signal.SIGUSR1, signal.SIGUSR2)


class Job(Struct, frozen=True):
    """What is to be started: `errors` is where its errors go if not to the terminal."""

    argv: Sequence[str]
    env: dict[str, str]
    folder: str
    errors: int = -1


class JobTerminal(Struct, frozen=True):
    """The person's terminal, and how it was set."""

    terminal: int
    settings: list[Any]


def start(job: Job, terminal: str, desk: JobTerminal) -> tuple[int, int]:
    """Start the job on this terminal; the leader's pid, and where it tells: `pid N`, `failed N`, `stopped N`,
    `ended N` (a wait status), a line each."""
    heard, told = os.pipe()
    pid = os.fork()
    if pid:
        os.close(told)
        return pid, heard
    try:
        _close_all_but(told, desk.terminal, job.errors)
        _lead(job, terminal, desk, told)
    finally:
        os._exit(1)


def _close_all_but(*kept: int) -> None:
    """Let go of what is the keeper's own; what its parent gave it to hand on goes on to the job."""
    for fd in range(3, 256):
        with contextlib.suppress(OSError):
            if fd not in kept and not os.get_inheritable(fd):
                os.close(fd)


def _lead(job: Job, terminal: str, desk: JobTerminal, told: int) -> NoReturn:
    signal.set_wakeup_fd(-1)
    keeper = os.getppid()
    os.setsid()
    nothing = os.open(os.devnull, os.O_RDWR)
    for fd in (0, 1, 2):
        os.dup2(nothing, fd)
    slave = os.open(terminal, os.O_RDWR)
    with contextlib.suppress(OSError):  # where opening it was not enough to own it
        fcntl.ioctl(slave, termios.TIOCSCTTY, 0)
    for number in CAUGHT:
        signal.signal(number, signal.SIG_IGN if number in IGNORED else signal.SIG_DFL)
    failed, failure = os.pipe()
    pid = os.fork()
    if not pid:
        _become(job, slave, failure)
    os.close(failure)
    with contextlib.suppress(OSError):
        os.setpgid(pid, pid)  # whoever of the two is first: it must be so before anybody relies on it
    number = os.read(failed, 16)
    os.write(told, b"failed " + number + b"\n" if number else f"pid {pid}\n".encode())

    def hung_up(*_: object) -> None:
        """The kernel tells the leader alone, and a shell tells its jobs. The keeper may have been killed."""
        for number in (signal.SIGHUP, signal.SIGCONT):
            with contextlib.suppress(ProcessLookupError):
                os.killpg(pid, number)
        readable = select.poll()
        readable.register(told, 0)
        if os.getppid() != keeper or readable.poll(0):
            with contextlib.suppress(OSError, termios.error):
                termios.tcsetattr(desk.terminal, termios.TCSANOW, desk.settings)
                os.write(desk.terminal, TIDY)

    signal.signal(signal.SIGHUP, hung_up)
    while True:
        _, status = os.waitpid(pid, os.WUNTRACED)
        stopped = os.WIFSTOPPED(status)
        if not stopped:
            signal.signal(signal.SIGHUP, signal.SIG_IGN)
            # When a leader leaves, what is in front is hung up: what the job left running must not be.
            with contextlib.suppress(OSError):
                os.tcsetpgrp(slave, os.getpgrp())
        with contextlib.suppress(OSError):
            os.write(
                told, f"stopped {os.WSTOPSIG(status)}\n".encode() if stopped else f"ended {status}\n".encode()
            )
        if not stopped:
            os._exit(0)


def _become(job: Job, slave: int, failure: int) -> NoReturn:
    try:
        os.setpgid(0, 0)
        os.tcsetpgrp(slave, os.getpid())
        for number in CAUGHT:
            signal.signal(number, signal.SIG_DFL)
        os.dup2(slave, 0)
        os.dup2(slave, 1)
        os.dup2(job.errors if job.errors >= 0 else slave, 2)
        os.chdir(job.folder)
        os.execve(job.argv[0], list(job.argv), job.env)  # noqa: S606 - the person's own command, as they typed it
    except OSError as error:
        os.write(failure, str(error.errno).encode())
    finally:
        os._exit(127)
