"""What an agent's command hook runs: tell yourcall what happened, or hold a request until somebody answers it.

    hook AGENT EVENT [PID] < payload
    hook AGENT Rules PACKAGE USER < payload

Stand-alone: Python's standard library only, nothing of yourcall is imported, so it starts in milliseconds and
goes on working while the package is upgraded. It lies in yourcall's home, and finds the socket beside itself,
and `holder.py`, `ruling.py` and `headless.py`, which only those load that hold a request, ask the rules, or run
without a dialog.

Rules
  * It prints nothing but an answer that was given; it always exits 0. Whatever goes wrong (no daemon, a hung
    one, a broken payload, a bug in here), the agent's own dialog is left alone, as if we did not exist.
  * An informing event is sent and forgotten: no reply is awaited.
  * A daemon whose heartbeat has stopped is hung. Nothing waits for it where no dialog is on the screen meanwhile.
  * Only for `Rules` silence is a decision: the tool may run unasked. If that fails, the exit code is 1, and the
    launcher says `ask`.
  * Where no dialog is shown (`claude -p`, an SDK), nothing is held unless the person asked for that.
"""

# Imports stand where they are needed: an informing event pays for none of them.
from __future__ import annotations

import os
import sys

TYPE_CHECKING = False
if TYPE_CHECKING:
    import socket
    from collections.abc import Sequence

# What is held, by agent. Codex and Gemini show no dialog while a hook runs: there nothing is ever held.
HELD = {"claude": ("PermissionRequest", "Elicitation"), "demo": ("PermissionRequest", "Elicitation")}
PASSED_ON = (
    "TMUX",
    "TMUX_PANE",
    "CLAUDE_PID",
    "CLAUDE_CODE_ENTRYPOINT",
    "CLAUDE_CONFIG_DIR",
    "AI_AGENT",
    "TERM_PROGRAM",
    "YOURCALL_OWNED",  # the secret of a session that yourcall drives itself; the daemon knows which is whose
)
# What Codex may be running as, besides a conversation in a terminal.
OTHER_RUNS = (b"app-server", b"exec", b"e", b"review")
LARGEST = 32 * 1024 * 1024  # a payload beyond this is not for a person to decide; the dialog has it
HUNG_S = 2.0  # the daemon's heart beats every half second; on a busy machine a beat may come late
SEND_S = 1.0  # how long an informing event may try; nobody waits for it
RULED = "Rules"  # asked before a tool runs: do the rules decide? The agent waits for this one
UNSEEN = "Unseen"  # the launcher wants to know: would nobody get to see a dialog of this run?


def read_payload() -> bytes:
    parts: list[bytes] = []
    size = 0
    while True:
        part = os.read(0, 1 << 16)
        if not part:
            return b"".join(parts)
        size += len(part)
        if size > LARGEST:
            return b""
        parts.append(part)


def connect(home: str) -> socket.socket | None:
    """A non-blocking connection to the daemon, or None. By relative name: a deep home is no reason to fail."""
    import _socket  # the half of `socket` that we need, at a tenth of the time to import

    try:
        os.chdir(home)
        if os.stat("hook.sock").st_uid != os.getuid():
            return None
        sock = _socket.socket(_socket.AF_UNIX, _socket.SOCK_STREAM)
        sock.setblocking(False)
        sock.connect("hook.sock")
    except OSError:
        return None
    return sock  # pyright: ignore[reportReturnType]


def hung(home: str) -> bool:
    """Has the daemon's heart stopped? Without a heartbeat (an older daemon, or none) nothing is known: no.

    A time in the future was written before the clock was set back; a daemon that is awake corrects it at once.
    """
    import time

    try:
        beat = os.stat(os.path.join(home, "heartbeat")).st_mtime
    except OSError:
        return False
    return abs(time.time() - beat) > HUNG_S


def greeting(
    agent: str, event: str, request_id: str, payload: bytes, facts: Sequence[tuple[str, object]] = ()
) -> bytes:
    env = [f"{name}={os.environ[name]}" for name in PASSED_ON if name in os.environ]
    env += [f"{name}={value}" for name, value in facts]
    block = "\0".join(env).encode("utf-8", "surrogateescape")
    head = f"yourcall/1 {agent} {event} {request_id or '-'} {len(block)} {len(payload)}\n"
    return head.encode() + block + payload


def caller(pid: str) -> list[tuple[str, object]]:
    """The process that called, for an agent that does not say so itself, and as what it runs."""
    if not pid.isdecimal():
        return []
    try:
        with open(f"/proc/{pid}/cmdline", "rb") as file:
            words = file.read(1 << 16).split(b"\0")[1:]
    except OSError:
        words = []
    return [("pid", pid), ("runs", next((word.decode() for word in words if word in OTHER_RUNS), ""))]


def inform(agent: str, event: str, payload: bytes, home: str, pid: str = "") -> None:
    import select
    import time

    sock = connect(home)
    if sock is None:
        return
    rest = memoryview(greeting(agent, event, "", payload, caller(pid)))
    end = time.monotonic() + SEND_S
    writable = select.poll()
    writable.register(sock.fileno(), select.POLLOUT)
    while rest and time.monotonic() < end:
        try:
            rest = rest[sock.send(rest) :]
        except BlockingIOError:
            writable.poll(50)


def in_terminal() -> bool:
    """Claude Code says so itself: 2.1.325 does. If it does not, `headless.py` looks."""
    told = os.environ.get("CLAUDE_CODE_ENTRYPOINT"), os.environ.get("CLAUDE_CODE_SESSION_ATTENDED")
    return told == ("cli", "1")


def hold(agent: str, event: str, payload: bytes, home: str) -> None:
    sys.path.insert(0, home)  # `-I` leaves it out: only this folder of the user's own is looked in
    if TYPE_CHECKING:
        from yourcall.hook import headless
        from yourcall.hook.holder import Holder
    unseen = False
    if not in_terminal():
        if not TYPE_CHECKING:
            import headless

        unseen = headless.here(os.environ)
        if unseen and not headless.may_hold(event, home):
            return
    if not TYPE_CHECKING:
        from holder import Holder
    Holder(agent, event, payload, home, connect, greeting, hung, headless=unseen).hold()


def say_if_unseen(home: str) -> None:
    sys.path.insert(0, home)
    if TYPE_CHECKING:
        from yourcall.hook import headless
    else:
        import headless

    if headless.here(os.environ):
        os.write(1, b"unseen")


def main(argv: list[str]) -> None:
    agent, event = argv[1], argv[2]
    home = os.path.dirname(os.path.abspath(__file__))
    if event == UNSEEN:
        say_if_unseen(home)
        return
    payload = read_payload()
    if event == RULED:
        sys.path.insert(0, home)  # `-I` leaves it out: only this folder of the user's own is looked in
        if TYPE_CHECKING:
            from yourcall.hook.ruling import rule
        else:
            from ruling import rule

        rule(agent, payload, home, connect, greeting, hung, *argv[3:5])
    elif not payload:
        return
    elif event in HELD.get(agent, ()):
        hold(agent, event, payload, home)
    else:
        inform(agent, event, payload, home, *argv[3:4])


if __name__ == "__main__":
    failed = 1 if sys.argv[2:3] == [RULED] else 0
    try:
        main(sys.argv)
        failed = 0
    finally:
        os._exit(failed)  # whatever else happened, the agent hears of no failure: its own dialog is left alone
