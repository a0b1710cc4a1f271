"""Which processes are Copilot CLI in a terminal, when our extension has not told of them.

Rule: a process tells no session id, so it goes by its pid until the extension speaks. The extension runs in the
same program, as a child: that one is no session. Pure: the link reads /proc.
"""

from __future__ import annotations

from collections.abc import Sequence

from yourcall.agents.copilot.requests import AGENT
from yourcall.agents.kit.discover import UNNAMED, session_by_pid
from yourcall.agents.sightings import Pane, Process
from yourcall.agents.spec import Finder
from yourcall.model.sessions import Session

NOT_A_SESSION = ("--acp", "--headless", "--server", "-p", "--prompt")

OUTSIDE = (
    "Read only: it was started before `yourcall setup copilot`, or does not run our extension, and is not in tmux."
    " Answer it at its own terminal, or start it again."
)


def runs(argv: Sequence[str]) -> bool:
    """Is this Copilot with a conversation in its terminal? Its children are called as it is, with a script."""
    name = argv[0].rsplit("/", 1)[-1] if argv else ""
    if name != "copilot":
        return False
    return not any(word.endswith((".mjs", ".js")) or word in NOT_A_SESSION for word in argv[1:])


def session_file(_process: Process) -> str:
    return ""


def found(process: Process, _file: bytes, panes: Sequence[Pane]) -> Session:
    return session_by_pid(process, panes, AGENT, OUTSIDE)


FINDER = Finder(runs, session_file, found, UNNAMED)
