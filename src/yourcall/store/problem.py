"""What a person reads when the database cannot be used.

Rule: each sentence says what is wrong and what to do; nothing here or in its callers ever deletes the file.
"""

from __future__ import annotations

import sqlite3
from pathlib import Path

# What SQLite says when the bytes themselves are wrong, as against the disk or the permissions around them.
_DAMAGED = frozenset({"SQLITE_CORRUPT", "SQLITE_NOTADB", "SQLITE_FORMAT"})


class StoreProblem(Exception):
    """The database cannot be used as it is; the text is for the person, and whole."""


def explained(path: Path, error: sqlite3.Error | OSError) -> StoreProblem:
    """The sentence for an error of SQLite or of the file system."""
    if isinstance(error, OSError):
        return StoreProblem(
            f"{path} cannot be opened: {error.strerror or error}. Check who owns it and its folder."
        )
    # An extended code carries its detail at the end: SQLITE_CORRUPT_INDEX, SQLITE_IOERR_WRITE.
    name = "_".join(getattr(error, "sqlite_errorname", "").split("_")[:2])
    if name in _DAMAGED:
        return damaged(path, str(error))
    match name:
        case "SQLITE_FULL":
            advice = "The disk is full; make room and start yourcall again."
        case "SQLITE_BUSY" | "SQLITE_LOCKED":
            advice = "Another program is writing to it; close that program and try again."
        case "SQLITE_READONLY" | "SQLITE_CANTOPEN" | "SQLITE_PERM" | "SQLITE_AUTH":
            advice = "Check who owns it and its folder, and that the disk is not read-only."
        case _:
            advice = "Check the disk; nothing was deleted."
    return StoreProblem(f"{path} cannot be used: {error}. {advice}")


def damaged(path: Path, detail: str) -> StoreProblem:
    copies = sorted(path.parent.glob(f"{path.name}.v*.bak"), key=lambda copy: copy.stat().st_mtime)
    or_copy = f", or put its older copy {copies[-1].name} in its place" if copies else ""
    return StoreProblem(
        f"{path} is damaged and cannot be read ({detail}). Nothing was deleted. Move it away together with "
        f"{path.name}-wal and {path.name}-shm to start with an empty one{or_copy}."
    )


def unreadable(path: Path, what: str, detail: str) -> StoreProblem:
    """A row that SQLite gives and our types refuse."""
    return StoreProblem(
        f"{what} in {path} cannot be read by this yourcall ({detail}); it was probably made by a newer yourcall. "
        "Install that version again, or start this one with another home (--home)."
    )
