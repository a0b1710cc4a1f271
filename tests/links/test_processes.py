"""Is it still the process we know? Not to be able to look is no sign of its death."""

from __future__ import annotations

import os
import resource
import subprocess
import sys
from collections.abc import Generator
from contextlib import contextmanager

from yourcall.links import processes


@contextmanager
def no_file_left() -> Generator[None]:
    """This process has as many files open as it may have."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    taken = [os.open(os.devnull, os.O_RDONLY)]
    resource.setrlimit(resource.RLIMIT_NOFILE, (min(soft, taken[0] + 50), hard))
    try:
        while True:
            try:
                taken.append(os.open(os.devnull, os.O_RDONLY))
            except OSError:
                break
        yield
    finally:
        for file in taken:
            os.close(file)
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))


def test_who_lives_is_not_dead_because_we_have_too_many_files_open() -> None:
    child = subprocess.Popen([sys.executable, "-c", "import sys; sys.stdin.read()"], stdin=subprocess.PIPE)
    try:
        began = processes.started(child.pid)
        assert began
        with no_file_left():
            assert processes.started(child.pid) == began
    finally:
        child.communicate()
    with no_file_left():
        assert processes.started(child.pid) == ""
    assert processes.started(child.pid) == ""
