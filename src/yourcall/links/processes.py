"""Is this still the process we know?

Rule: a pid alone is nobody; a process is its pid and the moment it started.
"""

from __future__ import annotations

from pathlib import Path


def started(pid: int) -> str:
    """A word that is the same as long as the process lives, and never again; empty if there is no such process."""
    if pid <= 0:
        return ""
    try:
        # Field 22, counted behind the name, which may hold spaces and brackets.
        fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
        return "" if fields[0] == "Z" else fields[19]
    except (OSError, IndexError):
        return "" if Path("/proc/self/stat").exists() else _started_elsewhere(pid)


def _started_elsewhere(pid: int) -> str:
    import psutil  # no /proc here: macOS

    try:
        return str(psutil.Process(pid).create_time())
    except psutil.Error:
        return ""
