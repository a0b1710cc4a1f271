"""Which processes are aider in a terminal. Rule: a process tells no session id, so it goes by its pid."""

from __future__ import annotations

from collections.abc import Sequence

from yourcall.agents.kit.discover import UNNAMED, session_by_pid
from yourcall.agents.sightings import Pane, Process
from yourcall.agents.spec import Finder
from yourcall.model.sessions import Session

AGENT = "aider"
# Runs that end by themselves, and ask nobody or the pipe they are in.
ONCE = frozenset({"-m", "--message", "--msg", "-f", "--message-file", "--version", "--help", "--gui", "--browser"})
OUTSIDE = "Read only: it does not run in tmux. Answer it at its own terminal, or start it again in tmux."


def runs(argv: Sequence[str]) -> bool:
    """The script stands behind its Python."""
    names = [word.rsplit("/", 1)[-1] for word in argv[:2]]
    return ("aider" in names or list(argv[1:3]) == ["-m", "aider"]) and not ONCE & set(argv[2:])


def session_file(_process: Process) -> str:
    """aider keeps no file about its process."""
    return ""


def found(process: Process, _file: bytes, panes: Sequence[Pane]) -> Session | None:
    return session_by_pid(process, panes, AGENT, OUTSIDE) if process.tty else None


FINDER = Finder(runs, session_file, found, UNNAMED)
