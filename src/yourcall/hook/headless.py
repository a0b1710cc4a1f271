"""Can a person see a dialog of this run of Claude Code? Where none is shown, nothing waits for one.

Stand-alone like `hook.py`, which loads it, but only where the environment does not say that Claude runs in a
terminal. What Claude tells its hooks was measured: docs/reference/agents/claude-code.md, "Runs without a dialog".

Rule: if in doubt, there is no dialog, and Claude goes on as it would without us.
"""

from __future__ import annotations

import os

TYPE_CHECKING = False
if TYPE_CHECKING:
    import socket
    from collections.abc import Callable, Mapping, Sequence

SHELLS = ("sh", "ash", "bash", "busybox", "dash", "ksh", "zsh")  # what may stand between Claude and us
PRINTS = ("-p", "--print")  # a cluster such as `-cp` does not count for Claude either
ASKS_ITS_HOST = "--permission-prompt-tool"  # an editor, an app or an SDK gets the request
REPLY_S = 2.0  # a daemon that needs longer for a word is hung


def is_headless(environ: Mapping[str, str], argv: Sequence[str], on_terminal: bool) -> bool:
    """`argv`, `on_terminal`: of the process of Claude; nothing and False where they cannot be found out."""
    words = list(argv[1:])
    words = words[: words.index("--")] if "--" in words else words
    attended = environ.get("CLAUDE_CODE_SESSION_ATTENDED") == "1"
    if attended and any(word.split("=")[0] == ASKS_ITS_HOST for word in words):
        return False  # an editor or the desktop app, which shows its own dialog while a hook runs
    if any(word in PRINTS for word in words):
        return True
    if environ.get("CLAUDE_CODE_ENTRYPOINT") == "cli":
        return False  # also a session in the background: its dialog waits for whoever opens it
    return not on_terminal  # other entry points are inherited, also by a Claude that is started in a terminal


def here(environ: Mapping[str, str]) -> bool:
    """Is the run that called this hook headless?"""
    argv, on_terminal = caller(environ)
    return is_headless(environ, argv, on_terminal)


def caller(environ: Mapping[str, str]) -> tuple[list[str], bool]:
    """The command line of the Claude that called us, and whether it reads from and writes to a terminal."""
    pid = environ.get("CLAUDE_PID", "")
    try:
        if pid.isdecimal():
            return look(int(pid))
        parent = os.getppid()  # versions that do not tell their process: the first parent that is no shell
        while parent > 1:
            argv, on_terminal = look(parent)
            if os.path.basename(argv[0]).lstrip("-") not in SHELLS:
                return argv, on_terminal
            with open(f"/proc/{parent}/stat", "rb") as file:
                parent = int(file.read().rpartition(b")")[2].split()[1])
    except (OSError, ValueError, IndexError):
        pass
    return [], False


def look(pid: int) -> tuple[list[str], bool]:
    if not os.path.isdir("/proc/self"):
        return ask_ps(pid)
    with open(f"/proc/{pid}/cmdline", "rb") as file:
        argv = file.read(1 << 16).decode("utf-8", "replace").split("\0")[:-1]
    ends = [os.readlink(f"/proc/{pid}/fd/{number}") for number in (0, 1)]
    return argv, all(end.startswith(("/dev/pts/", "/dev/tty", "/dev/console")) for end in ends)


def ask_ps(pid: int) -> tuple[list[str], bool]:
    """macOS. Only the terminal of the process is told, not whether it is read; words may be split at blanks."""
    import subprocess

    asked = ["/bin/ps", "-o", "tty=,command=", "-p", str(pid)]
    try:
        line = subprocess.run(asked, capture_output=True, timeout=1, check=False).stdout
    except subprocess.SubprocessError:
        return [], False
    tty, *argv = line.decode("utf-8", "replace").split() or ["??"]
    return argv, not tty.startswith("?")


def wants_hold(home: str) -> bool:
    """Does the person want requests of such runs to be held? `[claude] headless = "hold"` in config.toml."""
    try:
        with open(os.path.join(home, "config.toml"), "rb") as file:
            text = file.read(1 << 20)
        if b"headless" not in text:
            return False
        import tomllib

        return tomllib.loads(text.decode())["claude"]["headless"] == "hold"
    except (OSError, ValueError, LookupError, TypeError, ImportError):
        return False


def may_hold(event: str, home: str) -> bool:
    """Has a request that shows no dialog anybody to go to? A person who wants it, or rules."""
    return wants_hold(home) or (event == "PermissionRequest" and os.path.exists(os.path.join(home, "rules.toml")))


def answers(home: str, connect: Callable[[str], socket.socket | None]) -> bool:
    """Is the daemon there and awake? It hangs up on whoever does not greet it; one that hangs does not."""
    sock = connect(home)
    if sock is None:
        return False
    try:
        sock.settimeout(REPLY_S)
        sock.sendall(b"awake?\n")
        return sock.recv(1) == b""
    except ConnectionError:
        return True  # it hung up before we had read all
    except OSError:
        return False
    finally:
        sock.close()
