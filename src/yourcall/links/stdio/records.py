"""The records that yourcall keeps itself, of sessions whose agent names no file of its own (over ACP).

Rule: for this user only, whole lines, never more than a limit; a record that cannot be written is a line in the
log, and the session goes on. What is old goes with the rest.
"""

from __future__ import annotations

import logging
import os
from collections.abc import Sequence
from pathlib import Path

log = logging.getLogger(__name__)

# A long day's work is some megabytes. An agent that repeats itself without end must not fill the disk.
LARGEST = 256 << 20


class Records:
    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self._failed: set[str] = set()

    def has(self, session_id: str) -> bool:
        return bool(session_id) and os.path.isfile(self._path(session_id))  # no, too, for what can name no file

    def append(self, session_id: str, lines: Sequence[bytes]) -> None:
        if not lines or not session_id or session_id in self._failed:
            return
        try:
            self.folder.mkdir(mode=0o700, parents=True, exist_ok=True)
            flags = os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC
            number = os.open(self._path(session_id), flags, 0o600)
            with os.fdopen(number, "ab") as file:
                if os.fstat(number).st_size < LARGEST:
                    file.write(b"".join(lines))
        except OSError as error:
            self._failed.add(session_id)
            log.warning("the conversation of %s is not recorded: %s", session_id, error.strerror)

    def rewrite(self, session_id: str, lines: Sequence[bytes]) -> None:
        """The whole record, told anew: who follows it sees another file."""
        if session_id:
            try:
                self._path(session_id).unlink(missing_ok=True)
            except (OSError, ValueError):
                return
            self.append(session_id, lines)

    def prune(self, before: float) -> None:
        """Drop the records of sessions that nothing was said in since then."""
        for path in self.folder.glob("*.jsonl"):
            try:
                if path.lstat().st_mtime < before:
                    path.unlink()
            except OSError as error:
                log.warning("an old record stays: %s", error.strerror)

    def _path(self, session_id: str) -> Path:
        return self.folder / f"{session_id}.jsonl"
