"""Which processes are Claude Code, and which session each one runs.

Rule: a session is named by its own process, through the session file that bears its pid and start time, or not at
all. Nothing is concluded from a folder or from a fresh transcript in it: two sessions in one folder, one of them
just ended, would be confused. Pure: the link reads /proc and the files.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

import msgspec

from yourcall.agents.claude.wire import SessionFile
from yourcall.agents.sightings import Pane, Process
from yourcall.agents.spec import Finder
from yourcall.model.sessions import Link, Session, SessionState

AGENT = "claude"
UNNAMED = "pid-"  # how an id begins that we gave, for want of the session's own
SAFE_ID = re.compile(r"[A-Za-z0-9_-]{1,128}")
SCRIPT = re.compile(r"(^|/)(@anthropic-ai/)?claude-code/cli\.m?js$")

STATES: dict[str, SessionState] = {"busy": "working", "idle": "idle", "waiting": "waiting"}

OUTSIDE = (
    "Read only: it was started before `yourcall setup claude` (or its hooks are off) and does not run in tmux."
    " Answer it at its own terminal, or start it again."
)
WITHIN = (
    "Read only: it was started before `yourcall setup claude` (or its hooks are off) and runs in a terminal inside"
    " its tmux pane, which cannot be read safely. Answer it there, or start it again."
)
HEADLESS = "Read only: another program runs it and answers for it (claude -p)."

_file = msgspec.json.Decoder(SessionFile)


def runs(argv: Sequence[str]) -> bool:
    """Is this Claude Code itself, not one of the tools it starts from its own binary under another name?"""
    first = argv[0].rsplit("/", 1)[-1] if argv else ""
    if first == "claude":
        return True
    script = next((word for word in argv[1:] if not word.startswith("-")), "")
    return first in ("node", "bun") and bool(SCRIPT.search(script))


def session_file(process: Process) -> str:
    return f"{_config(process)}/sessions/{process.pid}.json"


def found(process: Process, file: bytes, panes: Sequence[Pane]) -> Session:
    """The session that this process runs; `file` is its session file, which older versions do not write."""
    told = _told(process, file) or SessionFile(sessionId="")
    headless = told.entrypoint.startswith("sdk") or bool({"-p", "--print"} & set(process.argv[1:]))
    links = () if headless else _links(process, panes)
    cwd = told.cwd or process.cwd
    return Session(
        id=told.sessionId or f"{UNNAMED}{process.pid}-{process.started}",
        agent=AGENT,
        cwd=cwd,
        state=STATES.get(told.status, "unknown"),
        mode="headless" if headless else "terminal",
        links=links,
        pid=process.pid,
        pid_started=process.started,
        version=told.version[:40],
        transcript=f"{_config(process)}/projects/{_slug(cwd)}/{told.sessionId}.jsonl" if told.sessionId else "",
        started_at=process.started_at,
        note="" if links else HEADLESS if headless else WITHIN if process.env.get("TMUX") else OUTSIDE,
    )


def _told(process: Process, file: bytes) -> SessionFile | None:
    try:
        told = _file.decode(file)
    except (ValueError, RecursionError):
        return None
    # A pid is used again: a file that a killed process left behind speaks of another session.
    stale = told.procStart and told.procStart != process.started
    return None if stale or not SAFE_ID.fullmatch(told.sessionId) else told


def _links(process: Process, panes: Sequence[Pane]) -> tuple[Link, ...]:
    """The pane whose terminal is the process's own."""
    own = [pane for pane in panes if process.tty and pane.tty == process.tty]
    return (Link("tmux", own[0].id, own[0].server),) if len(own) == 1 else ()


def _config(process: Process) -> str:
    return (process.env.get("CLAUDE_CONFIG_DIR") or f"{process.env.get('HOME', '')}/.claude").rstrip("/")


def _slug(cwd: str) -> str:
    return re.sub(r"[^A-Za-z0-9]", "-", cwd)


FINDER = Finder(runs, session_file, found, UNNAMED)
