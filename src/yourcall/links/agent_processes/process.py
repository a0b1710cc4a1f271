"""What the kernel tells of one process: parents, terminal, process session, control group, environment, program.

Rule: reads and decides nothing. A pid alone is nobody: a process is its pid and its start.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator
from contextlib import suppress

from msgspec import Struct

from yourcall.agents.registry import AGENTS
from yourcall.links import processes
from yourcall.links.processes import PROC


def socket_of(near: tuple[str, int], far: tuple[str, int]) -> tuple[int, int]:
    """The socket of this machine that is bound to `near` and connected to `far` (0: nobody holds it any more), and
    the user whose it is."""
    from ipaddress import ip_address

    def written(address: tuple[str, int], wide: bool) -> str:
        ip = ip_address(address[0])
        packed = ip.packed
        if wide and ip.version == 4:
            packed = bytes(10) + b"\xff\xff" + packed
        words = (packed[at : at + 4][::-1].hex().upper() for at in range(0, len(packed), 4))
        return f"{''.join(words)}:{address[1]:04X}"

    for name, wide in (("tcp", False), ("tcp6", True)):
        if not wide and ":" in near[0]:
            continue
        wanted = written(near, wide), written(far, wide)
        with suppress(OSError), open(f"{PROC}/net/{name}") as table:
            for line in table:
                fields = line.split()
                if len(fields) > 9 and (fields[1], fields[2]) == wanted:
                    held = fields[3] in ("01", "05", "08")  # established, or half closed
                    return (int(fields[9]) if held else 0), int(fields[7])
    return 0, 0


def holds_socket(pid: int, inode: int) -> bool:
    wanted = f"socket:[{inode}]"
    folder = f"{PROC}/{pid}/fd"
    with suppress(OSError):
        for number in os.listdir(folder):
            with suppress(OSError):
                if os.readlink(f"{folder}/{number}") == wanted:
                    return True
    return False


def held_by_one_of_mine(inode: int) -> bool:
    """Is there a process of this user's that is seen to hold this socket? One that is on its way from a process to
    another is held by none, and who does not want to be looked at hides it."""
    return any(holds_socket(pid, inode) for pid in list(processes.own()))


def hidden_ones() -> set[int]:
    """The processes of this user's whose files cannot be looked at, as a browser's in its sandbox."""
    found: set[int] = set()
    for pid in list(processes.own()):
        try:
            os.listdir(f"{PROC}/{pid}/fd")
        except PermissionError:
            found.add(pid)
        except OSError:
            continue
    return found


# More parents than any shell, wrapper and terminal have together.
MOST_PARENTS = 64

# What agents give to the commands they run: the id of the session, or that it is theirs.
ID_VARIABLES = frozenset(each.environment.session_id for each in AGENTS.values() if each.environment.session_id)
FLAG_VARIABLES = {each.environment.flag: name for name, each in AGENTS.items() if each.environment.flag}

# A control group with more processes than this is nobody's own.
MOST_IN_GROUP = 500

SHELLS = frozenset({"bash", "zsh", "fish", "sh", "dash", "ksh", "mksh", "tcsh", "csh", "nu", "xonsh", "elvish"})

# What all programs of a person may be children of.
TERMINALS = frozenset(
    {
        "tmux: server",
        "tmux",
        "screen",
        "zellij",
        "sshd",
        "sshd-session",
        "login",
        "systemd",
        "init",
        "launchd",
        "cron",
    }
)

Process = tuple[int, str]  # pid, and the word for its start


class Facts(Struct, frozen=True):
    """`terminal` is the number of its controlling terminal, 0 for none; `began`: seconds after boot."""

    pid: int
    started: str
    parent: int
    sid: int
    terminal: int
    began: float = 0.0

    @property
    def process(self) -> Process:
        return self.pid, self.started


def facts(pid: int) -> Facts | None:
    """None: it is gone, or cannot be read."""
    if pid <= 0:
        return None
    if not on_proc():
        return _facts_elsewhere(pid)
    try:
        fields = processes.stat(pid)
        began = int(fields[19]) / os.sysconf("SC_CLK_TCK")
        return Facts(pid, fields[19], int(fields[1]), int(fields[3]), int(fields[4]), began)
    except (OSError, IndexError, ValueError):
        return None


def on_proc() -> bool:
    return os.path.exists(f"{PROC}/self/stat")


def _facts_elsewhere(pid: int) -> Facts | None:
    import psutil  # no /proc here: macOS

    try:
        process = psutil.Process(pid)
        terminal = process.terminal()
        number = os.stat(terminal).st_rdev if terminal else 0
        return Facts(pid, str(process.create_time()), process.ppid(), os.getsid(pid), number)
    except (psutil.Error, OSError):
        return None


def in_container(pid: int) -> bool:
    """Has it another process table than ours? Then its agent has another number there, and is not known here."""
    with suppress(OSError):
        for line in processes.read(f"{PROC}/{pid}/status").splitlines():
            if line.startswith(b"NSpid:"):
                return len(line.split()) > 2
    return False


def chain(first: Facts) -> list[Facts]:
    """A process and its parents, up to the first of all."""
    found, seen = [first], {first.pid}
    while len(found) < MOST_PARENTS:
        parent = found[-1].parent
        above = facts(parent) if parent > 0 and parent not in seen else None
        if above is None:
            break
        found.append(above)
        seen.add(parent)
    return found


def left_behind(mine: list[Facts], agent: list[Facts]) -> bool:
    """Of two in the same process session without a terminal: is the first one the agent's own?

    A job that started both is a parent of both, and what it starts is not the agent's. Who is left behind has
    another parent: the first process of all, or whoever takes in orphans.
    """
    sid = agent[0].sid
    above = {each.process for each in agent[1:] if each.sid == sid and each.pid != 1}
    return not any(each.process in above for each in mine[1:])


def variables(parents: Iterable[Facts]) -> tuple[set[str], set[str]]:
    """The sessions that the environment names, and the agents. May hang if a process wants it to."""
    ids: set[str] = set()
    agents: set[str] = set()
    for number, each in enumerate(parents):
        for name, value in _environment(each.pid):
            if name in ID_VARIABLES and value:
                ids.add(value[:200])
            elif number == 0 and name in FLAG_VARIABLES:
                agents.add(FLAG_VARIABLES[name])
    return ids, agents


def _environment(pid: int) -> Iterator[tuple[str, str]]:
    if not on_proc():
        import psutil  # macOS

        with suppress(psutil.Error, OSError):
            yield from psutil.Process(pid).environ().items()
        return
    with suppress(OSError):
        for pair in processes.read(f"{PROC}/{pid}/environ").split(b"\0"):
            name, _, value = os.fsdecode(pair).partition("=")
            yield name, value


def group(pid: int) -> str:
    """Its control group of the unified hierarchy; empty if it is nobody's own."""
    with suppress(OSError):
        for line in processes.read(f"{PROC}/{pid}/cgroup").decode("utf-8", "replace").splitlines():
            if line.startswith("0::") and line[3:] not in ("/", "/init.scope"):
                return line[3:]
    return ""


def own_group(path: str, agent: Facts) -> bool:
    """Does this group hold the agent's terminal and no other? The scope of a whole login or of a service with
    several terminals says nothing; that of one terminal's tab or pane, or of one job, does."""
    members = _members(path)
    if not members or len(members) > MOST_IN_GROUP or agent.pid not in members:
        return False
    terminals = {found.terminal for pid in members if (found := facts(pid)) is not None and found.terminal}
    return terminals <= {agent.terminal}


def _members(path: str) -> list[int]:
    with suppress(OSError, ValueError):
        return list(map(int, processes.read(f"/sys/fs/cgroup{path}/cgroup.procs").split()))
    return []


def is_shell(pid: int) -> bool:
    """Is it an interactive shell of a person's, as far as its name tells?"""
    return _name(pid).lstrip("-") in SHELLS


def _name(pid: int) -> str:
    with suppress(OSError):
        if on_proc():
            return processes.read(f"{PROC}/{pid}/comm").decode("utf-8", "replace").strip()
        import psutil  # macOS

        with suppress(psutil.Error):
            return psutil.Process(pid).name()
    return ""


def may_be_an_agent(pid: int) -> bool:
    """Not a shell or a terminal, not another user's, and nothing that we ourselves run below: what a person starts
    is a child of those, too."""
    if is_shell(pid) or _name(pid) in TERMINALS:
        return False
    with suppress(OSError):
        if on_proc() and os.stat(f"{PROC}/{pid}").st_uid != os.getuid():
            return False
    me = facts(os.getpid())
    return me is None or pid not in {each.pid for each in chain(me)}


def argv(pid: int) -> tuple[str, ...]:
    with suppress(OSError):
        if on_proc():
            return tuple(map(os.fsdecode, processes.read(f"{PROC}/{pid}/cmdline").split(b"\0")[:-1]))
        import psutil  # macOS

        with suppress(psutil.Error):
            return tuple(psutil.Process(pid).cmdline())
    return ()


def folder_of(process: Process) -> str:
    """Where it works, as the kernel says: what its own messages say may follow a `cd` of its model's."""
    found = facts(process[0])
    if found is None or found.started != process[1]:
        return ""
    if on_proc():
        with suppress(OSError):
            return os.readlink(f"{PROC}/{process[0]}/cwd")
        return ""
    import psutil

    with suppress(psutil.Error, OSError):
        return psutil.Process(process[0]).cwd()
    return ""
