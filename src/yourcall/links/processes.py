"""Is this still the process we know? And which programs of this user run?

Rule: a pid alone is nobody; a process is its pid and the moment it started. With a root, only that process and its
descendants are looked at.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterator, Sequence
from functools import cache
from pathlib import Path

from yourcall.agents.sightings import Process

PROC = Path("/proc")

# What Python makes of bytes that are no text.
_NO_LETTER = re.compile("[\ud800-\udfff]")

Wanted = Callable[[Sequence[str]], bool]

# What was last read of each process, for when nothing can be read. Far more than agents run at a time.
MOST_REMEMBERED = 10_000
_last: dict[int, str] = {}


@cache
def told_variables() -> frozenset[str]:
    """All that is taken from the environment of a process; the rest holds secrets."""
    from yourcall.agents.registry import AGENTS  # not before a process is looked at

    homes = (agent.environment.home for agent in AGENTS.values())
    return frozenset({"HOME", "TMUX", "TMUX_PANE", *filter(None, homes)})


def started(pid: int) -> str:
    """A word that is the same as long as the process lives, and never again; empty if there is no such process."""
    if pid <= 0:
        return ""
    try:
        word = stat(pid)[19]
    except (FileNotFoundError, ProcessLookupError, IndexError):
        _last.pop(pid, None)
        return "" if (PROC / "self/stat").exists() else _started_elsewhere(pid)
    except OSError:
        # We have too many files open, or the whole machine has: that is no sign of anybody's death.
        return _last.get(pid, "") if os.path.exists(f"{PROC}/{pid}") else ""
    if len(_last) >= MOST_REMEMBERED:
        _last.clear()
    _last[pid] = word
    return word


def gone(pid: int, began: str) -> bool:
    """Surely not there any more. What cannot be read (no file can be opened now) is not gone for that."""
    try:
        return stat(pid)[19] != began
    except (FileNotFoundError, ProcessLookupError, IndexError):
        return (PROC / "self/stat").exists() or _started_elsewhere(pid) != began
    except OSError:
        return False


def absent(pid: int, began: str) -> bool:
    """Surely not there any more. One that had ended before it was first heard of has no start time."""
    return gone(pid, began) if began else pid > 0 and not started(pid)


def stat(pid: int) -> list[str]:
    """The fields behind the name, which may hold spaces and brackets; a zombie has none."""
    fields = read(f"{PROC}/{pid}/stat").decode("utf-8", "replace").rpartition(")")[2].split()
    return [] if fields[0] == "Z" else fields


def run_state(pid: int) -> str:
    """One letter, as `ps` shows it: `R` runs, `S` sleeps, `T` is stopped, `Z` is a zombie; empty if unknown."""
    try:
        return read(f"{PROC}/{pid}/stat").decode("utf-8", "replace").rpartition(")")[2].split()[0]
    except (OSError, IndexError):
        return "" if (PROC / "self/stat").exists() else _run_state_elsewhere(pid)


def _run_state_elsewhere(pid: int) -> str:
    import psutil  # no /proc here: macOS

    letters = {
        psutil.STATUS_RUNNING: "R",
        psutil.STATUS_SLEEPING: "S",
        psutil.STATUS_STOPPED: "T",
        psutil.STATUS_ZOMBIE: "Z",
    }
    try:
        return letters.get(psutil.Process(pid).status(), "")
    except psutil.Error:
        return ""


def has_zombie(pid: int) -> bool:
    """Has this process a child that has ended and that it has not waited for?"""
    try:
        return any(run_state(child) == "Z" for child in _children(pid))
    except OSError:
        return False if (PROC / "self/stat").exists() else _has_zombie_elsewhere(pid)


def _has_zombie_elsewhere(pid: int) -> bool:
    import psutil  # no /proc here: macOS

    try:
        return any(_run_state_elsewhere(child.pid) == "Z" for child in psutil.Process(pid).children())
    except psutil.Error:
        return False


def terminal_of(pid: int) -> str:
    """The path of its controlling terminal; empty if it has none, or nobody says which."""
    try:
        return _terminal(int(stat(pid)[4]))
    except (OSError, IndexError, ValueError):
        return ""


def _started_elsewhere(pid: int) -> str:
    import psutil  # no /proc here: macOS

    try:
        return str(psutil.Process(pid).create_time())
    except psutil.Error:
        return ""


def running(wanted: Wanted, root: int = 0) -> list[Process]:
    """This user's programs, or those below `root`, whose command line is wanted, as far as they may be read."""
    if not (PROC / "self/stat").exists():
        return list(_running_elsewhere(wanted, root))
    pids = descendants(root) if root else own()
    return [process for pid in pids if (process := _process(pid, wanted)) is not None]


def one(pid: int) -> Process | None:
    """This very program, as far as it may be read."""
    return _process(pid, lambda argv: True) if (PROC / "self/stat").exists() else None


def descendants(root: int) -> Iterator[int]:
    """A process and all that it started; nothing else is touched."""
    todo = [root]
    while todo:
        pid = todo.pop()
        yield pid
        try:
            todo += _children(pid)
        except OSError:
            continue  # it ended while we looked


def _children(pid: int) -> list[int]:
    tasks = f"{PROC}/{pid}/task"
    return [int(child) for thread in os.listdir(tasks) for child in read(f"{tasks}/{thread}/children").split()]


def below(root: int) -> Iterator[int]:
    """The same, also where there is no /proc."""
    if (PROC / "self/stat").exists():
        yield from descendants(root)
        return
    import psutil  # macOS

    try:
        process = psutil.Process(root)
        yield from (root, *(each.pid for each in process.children(recursive=True)))
    except psutil.Error:
        return


def own() -> Iterator[int]:
    """All processes of this user's."""
    for entry in os.scandir(PROC):
        if entry.name.isdecimal():
            try:
                if entry.stat().st_uid == os.getuid():
                    yield int(entry.name)
            except OSError:
                continue


def _process(pid: int, wanted: Wanted) -> Process | None:
    try:
        argv = tuple(map(os.fsdecode, read(f"{PROC}/{pid}/cmdline").split(b"\0")[:-1]))
        if not wanted(argv):
            return None
        place = PROC / str(pid)
        if not _same_world(place):
            return None
        fields = stat(pid)
        environ = (place / "environ").read_bytes().split(b"\0")
        pairs = (os.fsdecode(pair).partition("=") for pair in environ)
        return Process(
            pid=pid,
            started=fields[19],
            argv=argv,
            cwd=as_text(os.readlink(place / "cwd")),
            tty=_terminal(int(fields[4])),
            started_at=_boot_time() + int(fields[19]) / os.sysconf("SC_CLK_TCK"),
            env={name: value for name, _, value in pairs if name in told_variables()},
        )
    except (OSError, IndexError, ValueError):
        return None  # it ended while we looked, or is not ours to read


def open_files(pid: int, parts: Sequence[str]) -> tuple[str, ...]:
    """The files this process keeps open whose path has one of these parts; the one written last comes first."""
    found: dict[str, float] = {}
    for path in _open_files(pid):
        if any(part in path for part in parts):
            try:
                found[path] = os.stat(path).st_mtime
            except OSError:
                continue  # deleted since
    return tuple(sorted(found, key=lambda path: -found[path]))


def _open_files(pid: int) -> Iterator[str]:
    folder = f"{PROC}/{pid}/fd"
    try:
        numbers = os.listdir(folder)
    except OSError:
        return  # it ended, is not ours to read, or there is no /proc here
    for number in numbers:
        try:
            yield os.readlink(f"{folder}/{number}")
        except OSError:
            continue


def written_files(pid: int, folder: Path) -> dict[str, int]:
    """The files of this folder that this process keeps open, each with how far it has written."""
    found: dict[str, int] = {}
    fds = f"{PROC}/{pid}/fd"
    try:
        numbers = os.listdir(fds)
    except OSError:
        return found  # it ended, is not ours to read, or there is no /proc here
    for number in numbers:
        try:
            path = os.readlink(f"{fds}/{number}")
            if os.path.dirname(path) == str(folder):
                about = dict(
                    line.split(":", 1) for line in read(f"{PROC}/{pid}/fdinfo/{number}").decode().splitlines()
                )
                found[os.path.basename(path)] = int(about["pos"])
        except (OSError, ValueError, KeyError):
            continue
    return found


def as_text(path: str) -> str:
    """A path for people and for the record: a name may hold bytes that are no letter, and text may not."""
    return _NO_LETTER.sub("\ufffd", path)


def read(path: str) -> bytes:
    """Hundreds of small files at each look: a Path for each would cost more than the reading."""
    file = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    try:
        return os.read(file, 1 << 20)
    finally:
        os.close(file)


def _same_world(place: Path) -> bool:
    """Not in a container: its paths and terminals have the names of ours and are others."""
    return all(os.readlink(place / "ns" / kind) == os.readlink(PROC / "self/ns" / kind) for kind in ("mnt", "pid"))


def _terminal(number: int) -> str:
    """The name of a controlling terminal, from its device number."""
    major, minor = (number >> 8) & 0xFFF, (number & 0xFF) | ((number >> 12) & 0xFFF00)
    return f"/dev/pts/{(major - 136) * 256 + minor}" if 136 <= major <= 143 else ""


def _boot_time() -> float:
    for line in (PROC / "stat").read_text().splitlines():
        if line.startswith("btime "):
            return float(line.split()[1])
    return 0.0


def _running_elsewhere(wanted: Wanted, root: int) -> Iterator[Process]:
    import psutil  # no /proc here: macOS

    try:
        below = [psutil.Process(root), *psutil.Process(root).children(recursive=True)] if root else None
    except psutil.Error:
        return
    for each in below if below is not None else psutil.process_iter():
        try:
            if each.uids().effective != os.getuid() or not wanted(each.cmdline()):
                continue
            yield Process(
                pid=each.pid,
                started=str(each.create_time()),
                argv=tuple(each.cmdline()),
                cwd=as_text(each.cwd()),
                tty=each.terminal() or "",
                started_at=each.create_time(),
                env={name: value for name, value in each.environ().items() if name in told_variables()},
            )
        except (psutil.Error, OSError):
            continue
