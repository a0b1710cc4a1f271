"""How a session of an agent is started: with the environment of the person's login shell, and our rules for it.

Rules
  * A daemon that a service manager started knows nothing of the person's PATH, of nvm or of a login: their own
    shell is asked, as a terminal would ask it. If it does not answer, what we have must do.
  * A subscription is not billed as API use by accident: `ANTHROPIC_API_KEY` is passed on only if configured.
  * A secret goes from environment to environment: never onto a command line, never into a log.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import pwd
import secrets
import select
import shlex
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Mapping
from pathlib import Path

from yourcall.agents.registry import AGENTS, by_program
from yourcall.model.prompts import Refused

API_KEY = "ANTHROPIC_API_KEY"
OWNED = "YOURCALL_OWNED"  # the secret of a session that we speak with ourselves, by which its hooks are known
RESOLVING = "YOURCALL_RESOLVING_ENVIRONMENT"  # for a shell's own files: nobody sits at this one

SHELL_S = 10.0  # nvm takes half a second on a slow disk; what takes longer than this waits for a person
LONGEST_SAID = 4 << 20

# Those that take `-l -i -c COMMAND`. Another one is passed over for /bin/sh.
SHELLS = frozenset({"bash", "zsh", "fish", "sh", "dash", "ksh"})

# What an agent leaves in the environment of its children; with it, a new one takes itself for a part of that one.
OF_ANOTHER = frozenset(name for agent in AGENTS.values() for name in agent.environment.inherited)

# Between two marks that nobody else could have printed: what the shell's own files say comes before.
_TELL = (
    "import os; pairs = [k + b'=' + v for k, v in os.environb.items()]; "
    "told = bytes(1).join([b'{mark}', *pairs, b'{mark}'])"
    "\nwhile told: told = told[os.write(1, told):]"
)


class LoginShell:
    """The environment that a new terminal of this user's would have; asked for anew with each start."""

    def __init__(self) -> None:
        self._next: asyncio.Task[dict[str, str]] | None = None
        self._asking = asyncio.Lock()

    async def environment(self) -> dict[str, str]:
        """Of a burst of starts, those that come while the shell is asked share what it says the next time."""
        if self._next is None:
            self._next = asyncio.create_task(self._ask())
        return await asyncio.shield(self._next)

    async def _ask(self) -> dict[str, str]:
        async with self._asking:
            self._next = None  # whoever comes from now on may have changed something since
            return await asyncio.to_thread(login_environment, dict(os.environ))


def login_environment(base: Mapping[str, str]) -> dict[str, str]:
    """What the login shell makes of this environment. Interactive first: nvm stands in files only read then."""
    shell = _shell(base)
    for options in (["-l", "-i"], ["-l"]):
        told = _ask(shell, options, base)
        if told:
            return {name: value for name, value in told.items() if name not in ("SHLVL", "_", "OLDPWD", RESOLVING)}
    return dict(base)


def _shell(base: Mapping[str, str]) -> str:
    try:
        own = base.get("SHELL") or pwd.getpwuid(os.getuid()).pw_shell
    except KeyError:
        own = ""
    return own if Path(own).name in SHELLS and os.access(own, os.X_OK) else "/bin/sh"


def _ask(shell: str, options: list[str], base: Mapping[str, str]) -> dict[str, str]:
    """The variables as a command in that shell sees them; empty if it does not come to run one."""
    mark = secrets.token_hex(16)
    command = shlex.join([sys.executable, "-I", "-S", "-c", _TELL.format(mark=mark)])
    try:
        process = subprocess.Popen(
            [shell, *options, "-c", command],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            env={**base, RESOLVING: "1"},
            cwd=base.get("HOME") or "/",
            start_new_session=True,
        )
    except OSError:
        return {}
    with process:
        line = _between(process.stdout.fileno(), mark.encode()) if process.stdout else b""
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.killpg(process.pid, signal.SIGKILL)
    pairs = (pair.partition(b"=") for pair in line.split(b"\0") if pair)
    return {os.fsdecode(name): os.fsdecode(value) for name, _, value in pairs}


def _between(pipe: int, mark: bytes) -> bytes:
    """What is said between the marks. Not to the end: a child of the shell's may keep the pipe open."""
    said, deadline = bytearray(), time.monotonic() + SHELL_S
    readable = select.poll()
    readable.register(pipe, select.POLLIN)
    while said.count(mark) < 2:
        patience = max(0.0, deadline - time.monotonic())
        part = os.read(pipe, 1 << 16) if readable.poll(patience * 1000) else b""
        if not part or len(said) > LONGEST_SAID:
            return b""
        said += part
    return bytes(said.split(mark)[1])


def prepared(env: Mapping[str, str], *, api_billing: bool, owned: str = "") -> dict[str, str]:
    """The environment of a session that we start. `owned`: the secret of one that we speak with ourselves."""
    kept = {name: value for name, value in env.items() if name not in OF_ANOTHER and name != OWNED}
    if not api_billing:
        kept.pop(API_KEY, None)
    if kept.get("TERM") in (None, "", "dumb", "unknown"):
        kept["TERM"] = "xterm-256color"
    if owned:
        kept[OWNED] = owned
        # It has no terminal: a pane that the daemon was started in is not its own.
        for name in ("TMUX", "TMUX_PANE"):
            kept.pop(name, None)
    return kept


def find(program: str, env: Mapping[str, str]) -> str | Refused:
    """The program's path, looked up as its person's shell would."""
    value = shutil.which(program, path=env.get("PATH", os.defpath))
    if value:
        return value
    home = Path(env.get("HOME") or "/nonexistent")
    known = by_program(program)
    for place in known.installed if known is not None else ():
        if os.access(home / place, os.X_OK):
            return str(home / place)
    return Refused(f"There is no {program} on the PATH of your login shell. Install it, or put it on the PATH.")
