"""Which processes are droid in a terminal, when no hook told of them.

Rule: a process tells no session id, so it goes by its pid until its own hook speaks. Pure: the link reads /proc.
"""

from __future__ import annotations

from collections.abc import Sequence

from yourcall.agents.droid.tools import AGENT
from yourcall.agents.kit.discover import UNNAMED, session_by_pid
from yourcall.agents.sightings import Pane, Process
from yourcall.agents.spec import Finder
from yourcall.model.sessions import Session

COMMANDS = frozenset({"exec", "daemon", "search", "find", "update", "mcp", "plugin", "computer", "doctor", "help"})
OUTSIDE = (
    "Read only: it was started before `yourcall setup droid` (or its hooks are off) and does not run in tmux."
    " Answer it at its own terminal, or start it again in tmux."
)


def runs(argv: Sequence[str]) -> bool:
    """Is this the program in a terminal? Its other commands ask nobody."""
    return bool(argv) and argv[0].rsplit("/", 1)[-1] == "droid" and not (argv[1:2] and argv[1] in COMMANDS)


def session_file(_process: Process) -> str:
    """This CLI keeps no file about its process."""
    return ""


def found(process: Process, _file: bytes, panes: Sequence[Pane]) -> Session | None:
    return session_by_pid(process, panes, AGENT, OUTSIDE) if process.tty else None


FINDER = Finder(runs, session_file, found, UNNAMED)
