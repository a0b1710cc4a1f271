"""A session, and the links by which it is reached."""

from __future__ import annotations

from typing import Literal

from msgspec import Struct

SessionState = Literal["working", "waiting", "idle", "ended", "unknown"]


# The links by which a session's own screen is read and typed on: a pane of tmux, a pseudo-terminal of ours.
TERMINALS = ("tmux", "pty")


class Link(Struct, frozen=True, forbid_unknown_fields=True):
    """A way we touch a session: `hook`, or `tmux` with the server's socket and the pane, or `pty` with the run's
    socket and its name."""

    kind: str
    target: str = ""
    server: str = ""


class Session(Struct, frozen=True, forbid_unknown_fields=True):
    """One run of an agent. `note`: what a person should know about it, such as why it can only be watched.

    `goes_on_as`: the id under which this run went on when this one ended. `cost_usd`: what it has cost so far,
    where the agent tells; 0: not known. `warning`: what a process of this session tried last that only a person
    may do; it was refused.
    """

    id: str
    agent: str
    cwd: str
    state: SessionState = "unknown"
    mode: str = "terminal"
    permission_mode: str = ""
    links: tuple[Link, ...] = ()
    pid: int = 0
    pid_started: str = ""
    version: str = ""
    transcript: str = ""
    note: str = ""
    goes_on_as: str = ""
    cost_usd: float = 0.0
    outlines: int = 0
    outlined_at: float = 0.0
    started_at: float = 0.0
    seen_at: float = 0.0
    warning: str = ""
