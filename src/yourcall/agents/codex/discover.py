"""Which processes are Codex in a terminal, and what their sessions are called: by the files that they keep open.

Rule: nothing is concluded from a folder or a fresh rollout in it. What runs from the same binary without a
conversation (the shared app-server, its updater, `codex exec`) is no session here. A client of a shared server
keeps nothing open; the control socket tells its name. Pure: the link reads /proc.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from itertools import pairwise

from msgspec import Struct

from yourcall.agents.kit.wire import decoded
from yourcall.agents.sightings import Pane, Process
from yourcall.model.sessions import Link, Session

AGENT = "codex"
UNNAMED = "pid-"  # how an id begins that we gave, for want of the session's own

NAME = re.compile(r"codex(?:-(?:x86_64|aarch64)[\w-]*)?")
# The commands of 0.166.0 and of older versions that show no conversation in the terminal.
OTHER_COMMANDS = frozenset({
    "exec", "e", "review", "login", "logout", "mcp", "mcp-server", "plugin", "app-server", "remote-control",
    "completion", "update", "doctor", "sandbox", "debug", "apply", "a", "queue", "archive", "delete",
    "migrate-rollouts", "migrate-nfs-db", "unarchive", "cloud", "exec-server", "features", "help", "proto",
    "app", "responses-api-proxy", "execpolicy",
})  # fmt: skip
# Options whose next word is not a command.
WITH_VALUE = frozenset({
    "-c", "--config", "-m", "--model", "-p", "--profile", "-s", "--sandbox", "-a", "--ask-for-approval", "-C",
    "--cd", "-i", "--image", "--enable", "--disable", "--remote", "--remote-auth-token-env", "--local-provider",
    "--add-dir",
})  # fmt: skip

HOLDS = ("/thread-writer-locks/", "/rollout-")  # what a Codex with a server within itself keeps open
_LOCK = re.compile(r"/thread-writer-locks/([A-Za-z0-9_-]{1,128})\.lock$")
_ROLLOUT = re.compile(r"/sessions/.*/rollout-[^/]*\.jsonl$")
_SAFE_ID = re.compile(r"[A-Za-z0-9_-]{1,128}")


class Meta(Struct, frozen=True):
    """Of a sub-agent, `session_id` is the conversation it belongs to; versions before it have `id` alone."""

    session_id: str = ""
    id: str = ""


class FirstLine(Struct, frozen=True):
    type: str = ""
    payload: Meta = Meta()


OUTSIDE = (
    "Read only: it does not run in tmux. What a plain `codex` asks comes through its control socket all the same;"
    " of others, `yourcall setup codex` shows what they ask."
)


def runs(argv: Sequence[str]) -> bool:
    """Is this Codex with a conversation in its terminal? (`codex resume` and `codex fork` are.)"""
    name = argv[0].rsplit("/", 1)[-1] if argv else ""
    return NAME.fullmatch(name) is not None and command_of(argv) not in OTHER_COMMANDS


def command_of(argv: Sequence[str]) -> str:
    """The first word that is no option: a command, or what the person said."""
    words = iter(argv[1:])
    for word in words:
        if word in WITH_VALUE:
            next(words, "")
        elif not word.startswith("-"):
            return word
    return ""


def threads_held(process: Process) -> list[str]:
    """The threads that this process itself writes."""
    return [lock[1] for path in process.holds if (lock := _LOCK.search(path))]


def session_file(process: Process) -> str:
    """The rollout that it wrote last, of those it keeps open: a sub-agent's names the conversation too."""
    return next((path for path in process.holds if _ROLLOUT.search(path)), "")


def found(process: Process, file: bytes, panes: Sequence[Pane]) -> Session:
    own = [pane for pane in panes if process.tty and pane.tty == process.tty]
    links = (Link("tmux", own[0].id, own[0].server),) if len(own) == 1 else ()
    named = _name(process, file)
    rollouts = [path for path in process.holds if named and path.endswith(f"-{named}.jsonl")]
    return Session(
        id=named or f"{UNNAMED}{process.pid}-{process.started}",
        agent=AGENT,
        cwd=folder_of(process),
        links=links,
        pid=process.pid,
        pid_started=process.started,
        transcript=rollouts[0] if rollouts else "",
        started_at=process.started_at,
        note="" if links else OUTSIDE,
    )


def _name(process: Process, file: bytes) -> str:
    """The conversation in which something was written last; before the first word, the only one there is."""
    first = decoded(FirstLine, file.split(b"\n", 1)[0]) if file else None
    if first is not None and first.type == "session_meta":
        name = first.payload.session_id or first.payload.id
        return name if _SAFE_ID.fullmatch(name) else ""
    held = threads_held(process)
    return held[0] if len(held) == 1 and not file else ""


def folder_of(process: Process) -> str:
    """Where it works: `-C` names another folder than the one it was started in."""
    for word, value in pairwise(process.argv[1:]):
        if word in ("-C", "--cd"):
            return value.rstrip("/") if value.startswith("/") else process.cwd
    return process.cwd
