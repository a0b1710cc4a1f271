"""What an agent's command hook runs: tell yourcall what happened, or hold a request until somebody answers it.

    hook AGENT EVENT [PID] < payload

Stand-alone: Python's standard library only, nothing of yourcall is imported, so it starts in milliseconds and
goes on working while the package is upgraded. It lies in yourcall's home, and finds the socket beside itself,
and `holder.py`, which only a request that is held has to load.

Rules
  * It prints nothing but an answer that was given; it always exits 0. Whatever goes wrong (no daemon, a hung
    one, a broken payload, a bug in here), the agent's own dialog is left alone, as if we did not exist.
  * An informing event is sent and forgotten: no reply is awaited.
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
)
# What Codex may be running as, besides a conversation in a terminal.
OTHER_RUNS = (b"app-server", b"exec", b"e", b"review")
OWNED = "YOURCALL_OWNED"  # set for sessions that yourcall itself drives: it hears of those without us
LARGEST = 32 * 1024 * 1024  # a payload beyond this is not for a person to decide; the dialog has it
SEND_S = 1.0  # how long an informing event may try; nobody waits for it
RULED = "Rules"  # asked before a tool runs: do the rules decide? The agent waits for this one
RULED_S = 2.0  # a daemon that needs longer is hung, and the agent asks as it always does


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


def ruled(agent: str, payload: bytes, home: str) -> None:
    """Print what the rules say to this call, if they say anything; the agent goes its own way if not."""
    import select
    import time

    sock = connect(home)
    if sock is None:
        return
    started = (("started", time.time()),)
    rest = greeting(agent, RULED, os.urandom(8).hex(), payload, started)
    end = time.monotonic() + RULED_S
    heard = b""
    watched = select.poll()
    while (left := end - time.monotonic()) > 0:
        watched.register(sock.fileno(), select.POLLIN | (select.POLLOUT if rest else 0))
        watched.poll(left * 1000)
        try:
            if rest:
                rest = rest[sock.send(rest) :]
                continue
            part = sock.recv(1 << 16)
        except BlockingIOError:
            continue
        heard += part
        line, whole, body = heard.removeprefix(b"hold\n").partition(b"\n")
        words = line.split(b" ")
        if not part or (whole and words[0] != b"answer"):
            return
        if whole and len(body) >= int(words[3]):
            os.write(1, body[: int(words[3])])
            sock.send(b"wrote " + words[1] + b"\n")
            return


def main(argv: list[str]) -> None:
    if OWNED in os.environ:
        return
    agent, event = argv[1], argv[2]
    home = os.path.dirname(os.path.abspath(__file__))
    payload = read_payload()
    if not payload:
        return
    if event in HELD.get(agent, ()):
        sys.path.insert(0, home)  # `-I` leaves it out: only this folder of the user's own is looked in
        if TYPE_CHECKING:
            from yourcall.cli.holder import Holder
        else:
            from holder import Holder

        Holder(agent, event, payload, home, connect, greeting).hold()
    elif event == RULED:
        ruled(agent, payload, home)
    else:
        inform(agent, event, payload, home, *argv[3:4])


if __name__ == "__main__":
    try:
        main(sys.argv)
    finally:
        os._exit(0)  # whatever happened, the agent hears of no failure, and its own dialog is left alone
