"""Taking turns, and what one child process costs.

The rule it keeps: the order changes from round to round, so that nobody is always first after a pause.
"""

from __future__ import annotations

import os
import subprocess
import time
from collections.abc import Callable, Mapping, Sequence
from typing import TypeVar

import psutil

T = TypeVar("T")
MB = 1024 * 1024


def in_turn(rounds: int, contenders: Mapping[str, Callable[[], T]], warm_up: int = 1) -> dict[str, list[T]]:
    """Every contender once per round; the first `warm_up` rounds are not counted."""
    taken: dict[str, list[T]] = {name: [] for name in contenders}
    names = list(contenders)
    for number in range(-warm_up, rounds):
        for at in range(len(names)):
            name = names[(at + number) % len(names)]
            measured = contenders[name]()
            if number >= 0:
                taken[name].append(measured)
    return taken


def ms(seconds: Sequence[float]) -> list[float]:
    return [each * 1000 for each in seconds]


def quicker(times: Sequence[float]) -> list[float]:
    """Their quicker half: the other half met something else on its way."""
    return sorted(times)[: (len(times) + 1) // 2]


def wall(command: Sequence[str], env: Mapping[str, str] | None = None) -> float:
    """Seconds from the start of a program to its end."""
    began = time.perf_counter()
    subprocess.run(
        command,
        env=env,
        check=True,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    return time.perf_counter() - began


def cpu(command: Sequence[str], typed: bytes = b"", env: Mapping[str, str] | None = None) -> float:
    """Seconds of processor time that a program and its children took, whatever core they ran on."""
    reading, writing = os.pipe()
    os.write(writing, typed)
    os.close(writing)
    process = subprocess.Popen(
        command, env=env, stdin=reading, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
    )
    os.close(reading)
    _, status, used = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode:
        raise RuntimeError(f"{command} ended with {process.returncode}")
    return used.ru_utime + used.ru_stime


def resident(pid: int) -> float:
    """Megabytes of memory that this process has in use, shared pages in full."""
    return psutil.Process(pid).memory_info().rss / MB


def proportional(pid: int) -> float:
    """Megabytes, pages that several processes share divided among them; without such a count, its own alone."""
    told = psutil.Process(pid).memory_full_info()
    return getattr(told, "pss", told.uss) / MB
