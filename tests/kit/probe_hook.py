"""A hook that only observes: it writes down what Claude Code gives it, and holds a request until told otherwise.

    python3 probe_hook.py record FOLDER     append the payload to FOLDER/events.jsonl and leave
    python3 probe_hook.py hold FOLDER       the same, then wait for FOLDER/answer-<pid> and print what it holds
    python3 probe_hook.py linger FOLDER S   the same, then stay S seconds

The rule it keeps: it says nothing by itself, so Claude Code behaves as if no hook had an opinion. Every line
it writes carries the time, its own process and what happened to it (signals, hang-ups); never the environment
whole, which holds a secret.
"""

from __future__ import annotations

import json
import os
import select
import signal
import sys
import time
from pathlib import Path

SAFE = ("CLAUDE_PID", "CLAUDE_CODE_ENTRYPOINT", "CLAUDE_PROJECT_DIR", "TMUX", "TMUX_PANE")


def note(folder: Path, what: str, **more: object) -> None:
    line = json.dumps({"at": time.time(), "pid": os.getpid(), "what": what, **more}) + "\n"
    with open(folder / "events.jsonl", "ab", buffering=0) as log:
        log.write(line.encode())


def command_of(pid: int) -> list[str]:
    try:
        return Path(f"/proc/{pid}/cmdline").read_bytes().decode("utf-8", "replace").split("\0")[:-1]
    except OSError:
        return []


def main(mode: str, folder: Path, seconds: float) -> None:
    def on_signal(number: int, _: object) -> None:
        note(folder, "signal", signal=signal.Signals(number).name)
        if mode == "hold":
            sys.exit(0)

    for number in (signal.SIGTERM, signal.SIGHUP, signal.SIGINT):
        signal.signal(number, on_signal)
    process = {
        "ppid": os.getppid(), "pgid": os.getpgid(0), "sid": os.getsid(0), "parent": command_of(os.getppid()),
        "stdout": os.readlink("/proc/self/fd/1") if os.path.exists("/proc/self/fd/1") else "",
        "has_tty": _has_tty(),
    }  # fmt: skip
    payload = json.loads(sys.stdin.buffer.read() or b"{}")
    note(folder, "payload", mode=mode, payload=payload, process=process, names=sorted(os.environ),
         env={name: os.environ[name] for name in SAFE if name in os.environ})  # fmt: skip
    end = time.monotonic() + seconds
    hung_up = False
    answer = folder / f"answer-{os.getpid()}"
    while mode != "record" and time.monotonic() < end:
        if mode == "hold" and answer.exists():
            said = answer.read_text()
            note(folder, "answering", said=said)
            sys.stdout.write(said)
            sys.stdout.flush()
            break
        poll = select.poll()
        for fd in (1, 2):
            poll.register(fd, 0)
        seen = [] if hung_up else poll.poll(5)
        if seen:
            hung_up = True
            note(folder, "hangup", on=[fd for fd, _ in seen])
            if mode == "hold":
                break
        time.sleep(0.005)
    note(folder, "end")


def _has_tty() -> bool:
    try:
        os.close(os.open("/dev/tty", os.O_RDWR | os.O_NOCTTY))
    except OSError:
        return False
    return True


if __name__ == "__main__":
    main(sys.argv[1], Path(sys.argv[2]), float(sys.argv[3]) if len(sys.argv) > 3 else 3600.0)
