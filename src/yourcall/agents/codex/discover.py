"""Which processes are Codex in a terminal; what their sessions are called, their hooks or the control socket tell.

Rule: nothing is concluded from a folder or a fresh rollout in it. What runs from the same binary without a
conversation (the shared app-server, its updater, `codex exec`) is no session here. Pure: the link reads /proc.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from itertools import pairwise

from yourcall.agents.agent import Finder
from yourcall.agents.sightings import Pane, Process
from yourcall.model import Link, Session

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


def session_file(_process: Process) -> str:
    """Codex keeps no file about a process."""
    return ""


def found(process: Process, _file: bytes, panes: Sequence[Pane]) -> Session:
    own = [pane for pane in panes if process.tty and pane.tty == process.tty]
    links = (Link("tmux", own[0].id, own[0].server),) if len(own) == 1 else ()
    return Session(
        id=f"{UNNAMED}{process.pid}-{process.started}",
        agent=AGENT,
        cwd=_folder(process),
        links=links,
        pid=process.pid,
        pid_started=process.started,
        started_at=process.started_at,
        note="" if links else OUTSIDE,
    )


def _folder(process: Process) -> str:
    """Where it works: `-C` names another folder than the one it was started in."""
    for word, value in pairwise(process.argv[1:]):
        if word in ("-C", "--cd"):
            return value.rstrip("/") if value.startswith("/") else process.cwd
    return process.cwd


FINDER = Finder(runs, session_file, found, UNNAMED)
