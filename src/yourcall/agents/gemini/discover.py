"""Which processes are Gemini CLI, when no hook told of them.

Rule: a process tells no session id, so it goes by its pid until its own hook speaks. The program starts itself
anew as a child: the two are one session, and the parent stands for it. Pure: the link reads /proc.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from msgspec.structs import replace

from yourcall.agents.kit.discover import UNNAMED, session_by_pid
from yourcall.agents.sightings import Pane, Process
from yourcall.agents.spec import Finder
from yourcall.model.sessions import Session

AGENT = "gemini"
# npm's link, the package's own file, and what older versions called it.
SCRIPT = re.compile(r"(^|/)(gemini|@google/gemini-cli/(bundle/gemini|dist/index)\.m?js)$")
HEADLESS_WORDS = frozenset({"-p", "--prompt", "--acp", "--experimental-acp"})

OUTSIDE = (
    "Read only: it was started before `yourcall setup gemini` (or its hooks are off) and does not run in tmux."
    " Answer it at its own terminal, or start it again in tmux."
)
HEADLESS = "Read only: another program runs it and answers for it."


def runs(argv: Sequence[str]) -> bool:
    """Is this Gemini CLI's first process? Its child is node too, and is told by a limit on memory of its own."""
    first = argv[0].rsplit("/", 1)[-1] if argv else ""
    if first not in ("node", "bun"):
        return False
    if any(word.startswith("--max-old-space-size") for word in argv[1:]):
        return False
    script = next((word for word in argv[1:] if not word.startswith("-")), "")
    return bool(SCRIPT.search(script))


def session_file(_process: Process) -> str:
    """This CLI keeps no file about its process."""
    return ""


def found(process: Process, _file: bytes, panes: Sequence[Pane]) -> Session:
    if not HEADLESS_WORDS & set(process.argv[1:]):
        return session_by_pid(process, panes, AGENT, OUTSIDE)
    return replace(session_by_pid(process, (), AGENT, HEADLESS), mode="headless")


FINDER = Finder(runs, session_file, found, UNNAMED)
