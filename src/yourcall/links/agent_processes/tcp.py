"""Which process of this machine holds a TCP connection.

Rule: reads `/proc` and decides nothing; Linux only.
"""

from __future__ import annotations

import os
from contextlib import suppress

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
