"""A request that is held: the life of the hook from its start until somebody answers, here or at the desk.

Stand-alone like `hook.py`, which loads it. It leans on the parts of the standard library that are written in C
(`_socket`, `_json`, `_signal`): what is not loaded need not be unloaded, and the agent waits for our end.

Rules
  * A held request watches for its own end: the agent's session file leaves `waiting`, its process dies, our
    output has no reader, we are told to stop. Then it leaves at once, without a word on its output.
  * An answer is written only while the daemon that gave it is there: after its end, the next one asks us first.
  * Right before an answer is written, the session file is read again. A request that stops the turn is written
    only while the dialog is known to be open: late, it kills what runs (docs/reference/agents/claude-code.md).
  * A subagent's request, and an MCP server's form, show no dialog while they are held. So they are held only if
    yourcall says that nobody is at the desk, and let go at the first key that is typed there.
  * A run without any dialog (`headless.py`) has no desk: its request is held only while yourcall wants that and is
    awake, and let go as soon as it is not.
  * What shows no dialog is not offered to a daemon whose heartbeat has stopped: it counts as one that is down.
"""

from __future__ import annotations

import os
import select
import time

TYPE_CHECKING = False
if TYPE_CHECKING:
    import signal
    import socket
    from collections.abc import Callable, Sequence
    from typing import Any
else:
    import _signal as signal

ALPHABET = "abcdefghjkmnpqrstuvwxyz23456789"  # read aloud and typed without a mistake: no i, l, o, 0, 1
SEND_S = 1.0  # how long a word to the daemon may take; it is a local socket
TICK_S = 0.075  # the session file changes about 100 ms after the act; looking this often costs 0.1 % of a core
RETRY_S = 0.5  # between two tries to reach a daemon that is down
LONGEST_S = 86_400 - 120  # leave before the agent's own time limit for hooks ends us
DIRECT_S = 0.1  # no call runs, and no model says its last word, in less time than this
OPENS_S = 0.3  # a dialog is up at most this long after its hook was started
LATE_OPENS_S = 20.0  # the same with ten sessions to a core: slower is right there, bounced is not
TURN_S = 1.0  # on a busy machine the session file may speak of the dialog before ours for so long
MSG_PEEK = 2  # everywhere; `_socket` is loaded only by whoever connects
VERDICT_S = 0.5  # how long a request without a dialog waits for the word that it may be held
UNSEEN_VERDICT_S = 2.0  # the same where no dialog follows, and to let go is the end of the request
AWAKE_S = 5.0  # so often a run without a dialog looks whether the daemon that wants its request held is awake


class _Reading:
    """How `json` itself sets up its scanner; the package around it would cost us more than all the rest."""

    strict = False
    object_hook = object_pairs_hook = None
    parse_float = parse_constant = float
    parse_int = int


def loads(data: bytes) -> object:
    try:
        from _json import make_scanner
    except ImportError:  # not CPython
        import json

        return json.loads(data)
    text = data.decode("utf-8").strip()
    try:
        value, end = make_scanner(_Reading)(text, 0)  # pyright: ignore[reportArgumentType]
    except (StopIteration, SystemError) as error:  # SystemError: its own error lives in the package we left out
        raise ValueError("not JSON") from error
    if end != len(text):
        raise ValueError("more than one value")
    return value


class Holder:
    """One held request, from the hook's start to its end."""

    def __init__(
        self,
        agent: str,
        event: str,
        payload: bytes,
        home: str,
        connect: Callable[[str], socket.socket | None],
        greeting: Callable[[str, str, str, bytes, Sequence[tuple[str, object]]], bytes],
        hung: Callable[[str], bool],
        *,
        headless: bool = False,
    ) -> None:
        self.clock, self.connect, self.greeting, self.hung = time.monotonic, connect, greeting, hung
        self.agent, self.event, self.payload, self.home = agent, event, payload, home
        asked: Any = loads(payload)
        self.session_id: object = asked.get("session_id")
        self.headless = headless
        self.hidden = headless or event == "Elicitation" or bool(asked.get("agent_id"))
        self.transcript = str(asked.get("transcript_path") or "")
        self.pid = int(os.environ.get("CLAUDE_PID") or 0)
        config = os.path.dirname(os.path.dirname(os.path.dirname(self.transcript)))
        self.session_file = os.path.join(config, "sessions", f"{self.pid}.json") if self.pid else ""
        self.id = "".join(ALPHABET[b % len(ALPHABET)] for b in os.urandom(10))
        self.born, self.born_wall = self.clock(), time.time()
        self.started = started(self.born_wall) * 1000
        self.sock: socket.socket | None = None
        self.inbox, self.next_try, self.tries = b"", 0.0, 0
        self.waiting_since: float | None = None
        self.changed = self.waited_at = 0.0
        self.saw_waiting = self.terminated = self.may_hold = False
        self.grown_from = size_of(self.transcript)
        self.tty = find_tty(self.pid) if self.hidden and not headless else ""
        self.verdict_s = UNSEEN_VERDICT_S if headless else VERDICT_S
        self.look_at = self.born + AWAKE_S
        self.typed_at = last_typed(self.tty)

    # --- what the agent shows -------------------------------------------------------------------------------

    def status(self) -> str | None:
        """`waiting`, `busy`, `idle`, … as the session file says; `gone` without one; None if it can't be read.

        Between two calls of one message `busy` lasts about 100 ms and may fall between two looks: `waiting` since
        another moment than ours is the next dialog, so for us the agent went on. `waiting` since before our start
        is the dialog before ours, if the file is late, or ours, if the agent saw nothing to change: for a moment,
        what follows it may still be the opening of ours.
        """
        looked_at = time.time()
        try:
            payload: Any = loads(contents(self.session_file))
            if payload["sessionId"] != self.session_id:
                return None
            now, since = str(payload["status"]), float(payload.get("statusUpdatedAt") or payload["updatedAt"])
            self.changed = since / 1000
        except FileNotFoundError:
            return "gone"
        except (OSError, ValueError, LookupError, TypeError):
            return None  # written in place: we met half a file; or it is not what we know
        if now in ("busy", "idle") and since > (self.born_wall + OPENS_S) * 1000:
            self.saw_waiting = True  # it opened and closed between two looks
        opening = not (self.ours() or self.terminated) and time.time() < self.born_wall + TURN_S
        if now == "waiting":
            if self.waiting_since is None or opening:
                self.waiting_since = since
            elif since != self.waiting_since:
                return "busy"
            self.waited_at = looked_at
        elif now in ("busy", "idle") and self.waiting_since is not None and opening:
            return None
        return now

    def left(self, now: str | None) -> str:
        """How the dialog was left. An `idle` that does not follow at once on the last look at the open dialog is
        `over`: the turn may have been stopped, or have gone on and ended between two looks."""
        if now == "busy":
            return now
        return "idle" if now == "idle" and self.changed <= self.waited_at + DIRECT_S else "over"

    def ours(self) -> bool:
        """The file has spoken of a dialog that opened after we were started."""
        return self.waiting_since is not None and self.waiting_since >= self.started

    def result_written(self) -> bool:
        """For versions without a session file: the transcript got a tool's result since we were started. It may be
        that of the call before ours; the daemon tells them apart, so this is asked only while there is none."""
        if size_of(self.transcript) <= self.grown_from:
            return False
        with open(self.transcript, "rb") as file:
            file.seek(self.grown_from)
            return b'"tool_result"' in file.read(1 << 22)

    # --- talking to the daemon ------------------------------------------------------------------------------

    def say(self, *words: str) -> None:
        if self.sock is None:
            return
        try:
            self.send((" ".join(words) + "\n").encode("utf-8", "replace"))
        except OSError:
            self.drop()

    def send(self, data: bytes) -> None:
        assert self.sock is not None
        try:
            sent = self.sock.send(data)  # a word always fits, and costs one call
        except BlockingIOError:
            sent = 0
        if sent < len(data):
            self.sock.settimeout(SEND_S)
            self.sock.sendall(data[sent:])
            self.sock.setblocking(False)

    def drop(self) -> None:
        if self.sock is not None:
            self.sock.close()
        self.sock, self.inbox, self.may_hold = None, b"", False
        self.next_try = self.clock() + RETRY_S

    def reach(self) -> None:
        if self.sock is not None or self.clock() < self.next_try:
            return
        self.sock = None if self.hidden and self.hung(self.home) else self.connect(self.home)
        if self.sock is None:
            self.next_try = self.clock() + RETRY_S
            return
        idle = time.time() - self.typed_at if self.typed_at else -1
        facts = [("started", self.born_wall), ("again", self.tries), ("idle", idle)]
        facts += [("headless", 1)] if self.headless else []
        self.tries += 1
        try:
            self.send(self.greeting(self.agent, self.event, self.id, self.payload, facts))
        except OSError:
            self.drop()

    def cut_off(self) -> bool:
        """The daemon that spoke to us last is gone: there is nothing more to read than the end."""
        assert self.sock is not None
        try:
            return self.sock.recv(1, MSG_PEEK) == b""
        except BlockingIOError:
            return False
        except OSError:
            return True

    def hear(self) -> tuple[list[str], bytes] | None:
        """The next whole message: its words, and the bytes that follow them; None if there is none yet."""
        if self.sock is None:
            return None
        try:
            part = self.sock.recv(1 << 16)
        except BlockingIOError:
            part = None
        except OSError:
            part = b""
        if part == b"":
            self.drop()
            return None
        self.inbox += part or b""
        line, newline, rest = self.inbox.partition(b"\n")
        if not newline:
            return None
        words = line.decode("utf-8", "replace").split(" ")
        length = int(words[-1]) if words[0] == "answer" else 0
        if len(rest) < length:
            return None
        self.inbox = rest[length:]
        return words, rest[:length]

    # --- the life of a held request -------------------------------------------------------------------------

    def hold(self) -> None:
        wake_read, wake_write = os.pipe()
        os.set_blocking(wake_write, False)
        signal.set_wakeup_fd(wake_write)
        signal.signal(signal.SIGTERM, self.terminate)
        signal.signal(signal.SIGPIPE, signal.SIG_IGN)
        pidfd = -1
        if self.pid and hasattr(os, "pidfd_open"):
            try:
                pidfd = os.pidfd_open(self.pid)
            except ProcessLookupError:
                return
            except OSError:
                pass
        while self.clock() - self.born < LONGEST_S:
            self.reach()
            watched = select.poll()
            watched.register(wake_read, select.POLLIN)
            watched.register(1, 0)  # asked for nothing: reports only that our reader is gone
            if pidfd >= 0:
                watched.register(pidfd, select.POLLIN)
            if self.sock is not None:
                watched.register(self.sock.fileno(), select.POLLIN)
            ready = {fd for fd, _ in watched.poll(TICK_S * 1000)}
            if self.terminated:
                self.ended()
                return
            if 1 in ready or pidfd in ready:
                self.say("dead")
                return
            if self.sock is not None and self.sock.fileno() in ready:
                # An answer comes before the usual look: it is written after a look of its own.
                while heard := self.hear():
                    if self.obey(*heard):
                        return
            if self.over():
                return
        self.say("leaving", "the agent's time limit for hooks is near")

    def terminate(self, _number: int, _frame: object) -> None:
        self.terminated = True

    def over(self) -> bool:
        """Has the prompt ended at the desk, or must the desk have it back?"""
        if self.hidden:
            if last_typed(self.tty) != self.typed_at:
                self.say("leaving", "somebody is at the desk")
                return True
            if self.headless and self.may_hold and self.fell_asleep():
                self.say("leaving", "yourcall did not answer, and nothing waits for it where no dialog is shown")
                return True
            # Nobody sees a dialog while we hold: without a daemon that wants it held, the desk gets it back.
            return not self.may_hold and (
                self.sock is None or self.clock() - self.born > self.verdict_s or self.hung(self.home)
            )
        now = self.status()
        if now == "waiting":
            self.saw_waiting = True
        elif self.saw_waiting and now in ("busy", "idle"):
            self.say("left", self.left(now))
            return True
        elif self.saw_waiting and now == "gone":
            self.say("dead")
            return True
        elif now == "gone" and self.sock is None and self.result_written():
            self.say("left", "busy")
            return True
        return False

    def fell_asleep(self) -> bool:
        """The daemon holds the line but does not answer on another one: it is hung."""
        if self.clock() < self.look_at:
            return False
        if TYPE_CHECKING:
            from yourcall.hook.headless import answers
        else:
            from headless import answers

        awake = answers(self.home, self.connect)
        self.look_at = self.clock() + AWAKE_S
        return not awake

    def ended(self) -> None:
        """SIGTERM means three things; the session file, which may be 10 ms late, tells which."""
        end = self.clock() + 0.2
        now = self.status()
        while now in (None, "waiting") and self.clock() < end:
            time.sleep(0.01)
            now = self.status()
        if now == "gone":
            self.say("dead")
        elif now == "waiting" or self.hidden:
            self.say("leaving", "the agent ended the hook; its dialog is still open")
        else:
            self.say("left", self.left(now))

    def obey(self, words: list[str], body: bytes) -> bool:
        """Do what the daemon says; True when nothing is left to do."""
        if words[0] == "hold":
            self.may_hold = True
            return False
        if words[0] == "release":
            return True
        if words[0] != "answer":
            return False
        _, answer_id, care, _ = words
        if self.cut_off():
            self.drop()  # who said it is gone, and may have told its person otherwise; the next one says it again
            return False
        if self.hidden:
            if self.over():
                return True
        elif not self.still_open(strict=care == "strict"):
            if self.over():
                return True
            self.say("unwritten", answer_id, self.status() or "unknown")
            return False
        rest = memoryview(body)
        os.set_blocking(1, True)
        while rest:
            rest = rest[os.write(1, rest) :]
        self.say("wrote", answer_id)
        return True

    def still_open(self, strict: bool) -> bool:
        """The last look before the answer is written."""
        begun = self.clock()
        now = known = self.status()
        while now is None or (now in ("busy", "idle") and not self.saw_waiting):
            # An answer that must not be lost waits for a dialog that a busy machine opens late. A look that meets
            # a file half written changes nothing.
            known = now or known
            patience = LATE_OPENS_S if strict and known == "busy" else OPENS_S + 0.1
            if self.terminated or self.clock() > begun + patience:
                break
            time.sleep(0.01)
            now = self.status()
        if now == "waiting":
            self.saw_waiting = True
            return True
        return not strict and not (self.saw_waiting and self.ours())


def started(now: float) -> float:
    """When the agent started us, which on a busy machine is a while before the first line of ours is run."""
    try:
        ticks = int(contents("/proc/self/stat").rpartition(b")")[2].split()[19])
        return now - time.clock_gettime(time.CLOCK_BOOTTIME) + ticks / os.sysconf("SC_CLK_TCK") - 0.01
    except (OSError, ValueError, AttributeError):
        return now - 0.1  # no /proc: macOS


def contents(path: str) -> bytes:
    """A small file, whole."""
    file = os.open(path, os.O_RDONLY)
    try:
        return os.read(file, 1 << 20)
    finally:
        os.close(file)


def size_of(path: str) -> int:
    try:
        return os.stat(path).st_size
    except OSError:
        return 0


def find_tty(pid: int) -> str:
    """The terminal that the agent runs in; empty if there is none, or nobody says which."""
    if not pid:
        return ""
    try:
        path = os.readlink(f"/proc/{pid}/fd/0")
    except OSError:
        import subprocess  # no /proc: macOS

        asked = ["/bin/ps", "-o", "tty=", "-p", str(pid)]
        try:
            line = subprocess.run(asked, capture_output=True, timeout=1, check=False).stdout
        except (OSError, subprocess.SubprocessError):
            return ""
        path = "/dev/" + line.decode("ascii", "replace").strip()
    return path if path.startswith("/dev/") and path not in ("/dev/", "/dev/null") else ""


def last_typed(tty: str) -> float:
    """When the agent last read a key, as the terminal's access time tells; 0 if it cannot be told."""
    try:
        return os.stat(tty).st_atime if tty else 0.0
    except OSError:
        return 0.0
