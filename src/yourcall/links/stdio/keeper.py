"""The program that holds the pipes of one session, so that the session outlives the daemon.

    python -I -S keeper.py HOME FOLDER NAME -- PROGRAM ARGUMENT…

It starts the program, keeps all that it says until a daemon has dealt with it, and writes to it what the daemon
says. What it is told about the session (`about`, on its standard input, and `state`) it keeps for the next daemon
and doesn't understand.

Rules
  * Standard library only, and little of it: one of these runs beside every session.
  * It speaks with one process: the daemon of HOME, which holds the lock there. The kernel says who that is.
  * What a daemon says takes effect as a whole: what it has dealt with, its state and a line for the program come
    in one frame. A frame that was cut off has not happened.
  * It ends with its program; and it ends its program if HOME goes away, or if it is asked to end.

Frames are a letter, a length and that many bytes.
  to the keeper    U  dealt with (offset), state, tag and line: any of them may be empty
                   K  send this signal to the program and all that it runs
                   D  the program's end was heard
  to the daemon    H  hello: pid, offset, about, state, tags
                   O  output, on from the offset
                   W  the line with this tag: written, or not
                   X  the program has ended: its code, and its last words on standard error
"""

from __future__ import annotations

import os
import select
import signal
import socket
import struct
import sys
import time
from contextlib import suppress

CHUNK = 1 << 16
LARGEST_FRAME = 128 << 20
MOST_SPOOLED = 1 << 30  # a program that says more than this while nobody listens has to wait
SPOOL_AGAIN = 16 << 20  # so much that was dealt with is dropped from the file
MOST_TAGS = 64
LAST_WORDS = 4_000
LOOK_S = 2.0
ENDS_S = 3.0
DRAINED_S = 1.0  # something that it left running may hold its output open
LINGER_S = 60.0  # after its end, for a daemon that is on its way back

HEAD = struct.Struct("!cI")
UPDATE = struct.Struct("!QIH")
HELLO = struct.Struct("!IQIIH")

# `$$` is the program itself, after the `exec`. A trap set before it would hold in the program too. The watcher
# ends the program's whole group as soon as the keeper is gone, however that went.
GUARD = """(
    trap '' TERM HUP INT
    read -r _ < /dev/fd/%d
    kill -TERM -$$
    sleep %d
    kill -KILL -$$
) < /dev/null > /dev/null 2>&1 &
exec "$@"
"""


class Keeper:
    def __init__(self, home: str, folder: str, name: str, argv: list[str], about: bytes) -> None:
        self.home, self.folder, self.name, self.about = home, folder, name, about
        self.state = b""
        self.tags: dict[bytes, str] = {}  # tag -> `q` waits to be written, `w` is written, `n` never will be
        self.unwritten: list[tuple[bytes, bytes]] = []  # a tag, and what is left of its line
        self.words = b""
        self.code: int | None = None
        self.ended_at = self.stop_at = 0.0
        self.conn: socket.socket | None = None
        self.incoming = bytearray()
        self.outgoing = bytearray()
        self.told_end = self.done = False
        self.spool = self._spool()
        self.base = self.dealt = self.end = 0  # offsets: of the file's begin, of what was dealt with, of all
        self.sent = 0
        self._start(argv)
        os.chdir(folder)
        self.listener = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        mask = os.umask(0o177)
        self.listener.bind(name)
        os.umask(mask)
        self.listener.listen(4)
        self.listener.setblocking(False)
        self.inode = os.stat(name).st_ino

    def _spool(self) -> int:
        """A file without a name: it goes with this process."""
        path = os.path.join(self.folder, self.name + ".out")
        number = os.open(path, os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600)
        os.unlink(path)
        return number

    def _start(self, argv: list[str]) -> None:
        ours = [os.pipe() for _ in range(4)]
        (inner, self.stdin), (self.stdout, out), (self.stderr, err), (watched, self.life) = ours
        self.pid = os.fork()
        if not self.pid:
            os.setsid()
            for number, place in ((inner, 0), (out, 1), (err, 2)):
                os.dup2(number, place)
            os.set_inheritable(watched, True)
            for number in (signal.SIGTERM, signal.SIGCHLD, signal.SIGPIPE):
                signal.signal(number, signal.SIG_DFL)
            try:
                os.execv("/bin/sh", ["/bin/sh", "-c", GUARD % (watched, ENDS_S), "yourcall", *argv])  # noqa: S606
            except OSError as error:
                os.write(2, f"error: it could not be started: {error.strerror}\n".encode())
            os._exit(126)
        for number in (inner, out, err, watched):
            os.close(number)
        for number in (self.stdin, self.stdout, self.stderr):
            os.set_blocking(number, False)

    # --- one turn after the other -----------------------------------------------------------------------------

    def run(self, wake: int) -> None:
        while not self._over():
            poll = select.poll()
            poll.register(wake, select.POLLIN)
            poll.register(self.listener, select.POLLIN)
            if self.stdout >= 0 and self.end - self.base < MOST_SPOOLED:
                poll.register(self.stdout, select.POLLIN)
            if self.stderr >= 0:
                poll.register(self.stderr, select.POLLIN)
            if self.stdin >= 0 and self.unwritten:
                poll.register(self.stdin, select.POLLOUT)
            if self.conn is not None:
                poll.register(self.conn, select.POLLIN | (select.POLLOUT if self._has_news() else 0))
            for number, what in poll.poll(self._patience() * 1000):
                self._happened(number, what, wake)
            self._look()

    def _happened(self, number: int, what: int, wake: int) -> None:
        if number == wake:
            os.read(wake, 512)
        elif number == self.listener.fileno():
            self._accept()
        elif number == self.stdout:
            self._spoken()
        elif number == self.stderr:
            self._complained()
        elif number == self.stdin:
            self._write()
        elif self.conn is not None and number == self.conn.fileno():
            if what & select.POLLOUT:
                self._tell()
            if what & (select.POLLIN | select.POLLHUP | select.POLLERR):
                self._hear()

    def _patience(self) -> float:
        return 0.1 if self.code is not None or self.stop_at else LOOK_S

    def _look(self) -> None:
        now = time.monotonic()
        if self.code is None:
            pid, status = os.waitpid(self.pid, os.WNOHANG)
            if pid:
                self.code, self.ended_at = os.waitstatus_to_exitcode(status), now
                self._kill(signal.SIGKILL)  # its watcher, which has held the group's number for us
                self._not_written()
        elif now - self.ended_at > DRAINED_S:
            self._close_outputs()
        if self.stop_at and now - self.stop_at > ENDS_S and self.code is None:
            self._kill(signal.SIGKILL)
        elif not self.stop_at and self.code is None and not self.home_stands():
            self.stop()

    def home_stands(self) -> bool:
        try:
            return os.stat(os.path.join(self.folder, self.name)).st_ino == self.inode
        except OSError:
            return False

    def stop(self) -> None:
        self.stop_at = self.stop_at or time.monotonic()
        self._kill(signal.SIGTERM)

    def _kill(self, number: int) -> None:
        with suppress(OSError):
            os.killpg(self.pid, number)

    def _over(self) -> bool:
        if self.code is None or self.stdout >= 0:
            return False
        lingers = self.dealt < self.end or any(letter != "w" for letter in self.tags.values())
        patience = LINGER_S if self.conn is not None or (lingers and not self.stop_at) else 0.0
        return self.done or time.monotonic() - self.ended_at > patience

    # --- the program --------------------------------------------------------------------------------------------

    def _spoken(self) -> None:
        try:
            data = os.read(self.stdout, CHUNK)
        except BlockingIOError:
            return
        if not data:
            os.close(self.stdout)
            self.stdout = -1
        while data:
            written = os.pwrite(self.spool, data, self.end - self.base)
            self.end += written
            data = data[written:]

    def _complained(self) -> None:
        try:
            data = os.read(self.stderr, CHUNK)
        except BlockingIOError:
            return
        if not data:
            os.close(self.stderr)
            self.stderr = -1
        self.words = (self.words + data)[-LAST_WORDS:]

    def _close_outputs(self) -> None:
        for number in (self.stdout, self.stderr):
            if number >= 0:
                os.close(number)
        self.stdout = self.stderr = -1

    def _write(self) -> None:
        tag, rest = self.unwritten[0]
        try:
            rest = rest[os.write(self.stdin, rest) :]
        except BlockingIOError:
            return
        except OSError:
            self._not_written()
            return
        self.unwritten[0] = (tag, rest)
        if not rest:
            self.unwritten.pop(0)
            self._became(tag, "w")

    def _not_written(self) -> None:
        if self.stdin >= 0:
            os.close(self.stdin)
            self.stdin = -1
        for tag, _ in self.unwritten:
            self._became(tag, "n")
        self.unwritten.clear()

    def _became(self, tag: bytes, letter: str) -> None:
        self.tags[tag] = letter
        self._say(b"W", letter.encode() + tag)

    # --- the daemon ---------------------------------------------------------------------------------------------

    def _accept(self) -> None:
        try:
            conn, _ = self.listener.accept()
        except OSError:
            return
        if not is_daemon(conn, self.home, (self.pid, os.getpid())):
            conn.close()
            return
        self._hang_up()
        conn.setblocking(False)
        self.conn, self.sent, self.told_end = conn, self.dealt, False
        tags = "".join(f"{letter} {tag.decode()}\n" for tag, letter in self.tags.items()).encode()
        hello = HELLO.pack(self.pid, self.dealt, len(self.about), len(self.state), len(tags))
        self._say(b"H", hello + self.about + self.state + tags)

    def _hang_up(self) -> None:
        if self.conn is not None:
            self.conn.close()
        self.conn = None
        self.incoming.clear()
        self.outgoing.clear()

    def _say(self, letter: bytes, payload: bytes) -> None:
        if self.conn is not None:
            self.outgoing += HEAD.pack(letter, len(payload)) + payload

    def _has_news(self) -> bool:
        return bool(self.outgoing) or self.sent < self.end or self._may_tell_end()

    def _may_tell_end(self) -> bool:
        return self.code is not None and self.stdout < 0 and self.sent == self.end and not self.told_end

    def _tell(self) -> None:
        if self.conn is None:
            return
        if not self.outgoing and self.sent < self.end:
            data = os.pread(self.spool, min(CHUNK, self.end - self.sent), self.sent - self.base)
            self.sent += len(data)
            self._say(b"O", data)
        if not self.outgoing and self.code is not None and self._may_tell_end():
            self.told_end = True
            self._say(b"X", struct.pack("!i", self.code) + self.words)
        try:
            del self.outgoing[: self.conn.send(self.outgoing)]
        except BlockingIOError:
            return
        except OSError:
            self._hang_up()

    def _hear(self) -> None:
        if self.conn is None:
            return
        try:
            data = self.conn.recv(CHUNK)
        except BlockingIOError:
            return
        except OSError:
            data = b""
        if not data:
            self._hang_up()
            return
        self.incoming += data
        while len(self.incoming) >= HEAD.size:
            letter, length = HEAD.unpack_from(self.incoming)
            if length > LARGEST_FRAME:
                self._hang_up()
                return
            if len(self.incoming) < HEAD.size + length:
                return
            payload = bytes(self.incoming[HEAD.size : HEAD.size + length])
            del self.incoming[: HEAD.size + length]
            self._told(letter, payload)

    def _told(self, letter: bytes, payload: bytes) -> None:
        if letter == b"U":
            dealt, state_length, tag_length = UPDATE.unpack_from(payload)
            at = UPDATE.size
            state, at = payload[at : at + state_length], at + state_length
            tag, line = payload[at : at + tag_length], payload[at + tag_length :]
            self.state = state or self.state
            self._dealt_with(dealt)
            if line:
                self._take(tag, line)
        elif letter == b"K" and payload:
            self._kill(payload[0])
        elif letter == b"D":
            self.done = True

    def _take(self, tag: bytes, line: bytes) -> None:
        self.tags[tag] = "q"
        settled = [each for each, letter in self.tags.items() if letter != "q"]
        if len(settled) > MOST_TAGS:
            del self.tags[settled[0]]
        if self.stdin < 0:
            self._became(tag, "n")
        else:
            self.unwritten.append((tag, line))

    def _dealt_with(self, offset: int) -> None:
        self.dealt = min(max(self.dealt, offset), self.end)
        if self.dealt == self.end or (
            self.dealt - self.base > SPOOL_AGAIN and self.end - self.dealt < SPOOL_AGAIN
        ):
            rest = os.pread(self.spool, self.end - self.dealt, self.dealt - self.base)
            os.ftruncate(self.spool, 0)
            os.pwrite(self.spool, rest, 0)
            self.base = self.dealt
            self.sent = max(self.sent, self.base)


# --- who may speak with it --------------------------------------------------------------------------------------


def is_daemon(conn: socket.socket, home: str, agents: tuple[int, ...]) -> bool:
    """Is this the process that holds the lock of this home, and no process of the program's?"""
    pid, uid = peer(conn)
    if uid != os.getuid() or not pid:
        return False
    if sys.platform != "linux":
        return lock_words(home) == pid
    return pid in lock_holders(home) and not descends(pid, agents)


def peer(conn: socket.socket) -> tuple[int, int]:
    if sys.platform == "darwin":
        pid = struct.unpack("i", conn.getsockopt(0, 2, 4))[0]  # LOCAL_PEERPID
        uid = struct.unpack("=II", conn.getsockopt(0, 1, 8))[1]  # LOCAL_PEERCRED
        return pid, uid
    pid, uid, _ = struct.unpack("3i", conn.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, 12))
    return pid, uid


def lock_words(home: str) -> int:
    try:
        with open(os.path.join(home, "daemon.lock"), "rb") as file:
            return int(file.read(20) or b"0")
    except (OSError, ValueError):
        return 0


def lock_holders(home: str) -> set[int]:
    """The processes that the kernel names as holders of the daemon's lock."""
    try:
        about = os.stat(os.path.join(home, "daemon.lock"))
        with open("/proc/locks", encoding="ascii", errors="replace") as file:
            rows = [line.split() for line in file]
    except OSError:
        return set()
    held = [row for row in rows if len(row) > 5 and row[1] == "FLOCK" and row[3] == "WRITE"]
    return {int(row[4]) for row in held if row[5].rpartition(":")[2] == str(about.st_ino) and row[4].isdigit()}


def descends(pid: int, ancestors: tuple[int, ...]) -> bool:
    while pid > 1:
        if pid in ancestors:
            return True
        try:
            with open(f"/proc/{pid}/stat", "rb") as file:
                pid = int(file.read().rpartition(b")")[2].split()[1])
        except (OSError, ValueError, IndexError):
            return True  # it is gone, or cannot be looked at: then it is nobody we know
    return False


def main() -> None:
    home, folder, name, _, *argv = sys.argv[1:]
    about = sys.stdin.buffer.read()
    if os.fork():
        os._exit(0)  # nobody's child, so nobody has to wait for it
    keeper = Keeper(home, folder, name, argv, about)
    woken, wakes = os.pipe()
    os.set_blocking(woken, False)
    os.set_blocking(wakes, False)
    signal.set_wakeup_fd(wakes, warn_on_full_buffer=False)
    signal.signal(signal.SIGCHLD, lambda _number, _frame: None)
    signal.signal(signal.SIGPIPE, signal.SIG_IGN)
    for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
        signal.signal(number, lambda _number, _frame: keeper.stop())
    os.write(1, b"%d\n" % keeper.pid)
    nowhere = os.open(os.devnull, os.O_RDWR)
    for number in (0, 1, 2):
        os.dup2(nowhere, number)
    try:
        keeper.run(woken)
    finally:
        keeper.stop()
        if keeper.home_stands():
            os.unlink(os.path.join(folder, name))


if __name__ == "__main__":
    main()
