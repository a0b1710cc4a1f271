"""Which processes are Qwen Code in a terminal, by the CLI's own registry.

Rule: a process counts only if its file in the registry names it, with the moment it started: the CLI starts itself
anew twice, and files of those that were killed stay. Pure: the link reads /proc.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

import msgspec

from yourcall.agents.kit.hooks import SAFE_ID
from yourcall.agents.qwen.requests import AGENT
from yourcall.agents.qwen.wire import Registered
from yourcall.agents.sightings import Pane, Process
from yourcall.agents.spec import Finder
from yourcall.model.sessions import Link, Session

SCRIPT = re.compile(r"@qwen-code/qwen-code/(?:cli|dist/cli|dist/index)\.js$")

OUTSIDE = "Read only: it does not run in tmux. Answer it at its own terminal, or start it again in tmux."
HEADLESS = "Read only: another program runs it and answers for it."

_registered = msgspec.json.Decoder(Registered)


def runs(argv: Sequence[str]) -> bool:
    first = argv[0].rsplit("/", 1)[-1] if argv else ""
    return first in ("node", "bun") and any(SCRIPT.search(word) for word in argv[1:])


def session_file(process: Process) -> str:
    home = process.env.get("QWEN_HOME") or f"{process.env.get('HOME', '')}/.qwen"
    return f"{home}/sessions/{process.pid}.json"


def found(process: Process, file: bytes, panes: Sequence[Pane]) -> Session | None:
    try:
        known = _registered.decode(file)
    except (ValueError, RecursionError):
        return None
    same = known.pid == process.pid and known.procStart.rpartition(":")[2] == process.started
    if not same or known.kind not in ("tui", "headless") or not SAFE_ID.fullmatch(known.sessionId):
        return None
    headless = known.kind == "headless"
    own = [pane for pane in panes if process.tty and pane.tty == process.tty]
    links = (Link("tmux", own[0].id, own[0].server),) if len(own) == 1 and not headless else ()
    home = session_file(process).removesuffix(f"/sessions/{process.pid}.json")
    folder = re.sub(r"[^A-Za-z0-9]", "-", known.cwd)
    return Session(
        id=known.sessionId,
        agent=AGENT,
        cwd=known.cwd[:4096],
        mode="headless" if headless else "terminal",
        links=links,
        pid=process.pid,
        pid_started=process.started,
        version=known.qwenVersion[:40],
        transcript=f"{home}/projects/{folder}/chats/{known.sessionId}.jsonl",
        started_at=process.started_at,
        note="" if links else HEADLESS if headless else OUTSIDE,
    )


FINDER = Finder(runs, session_file, found, "pid-")
