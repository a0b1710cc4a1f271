"""Following a file of JSON lines that another program writes.

Rule: only whole lines are handed out, each once; a file that shrank is read anew; a missing one is empty.
"""

from __future__ import annotations

from pathlib import Path

# One read never takes more: a follower shares the loop with people who wait.
MOST_AT_ONCE = 4 * 1024 * 1024


class Tail:
    """Whole new lines since the last look, beginning `back` bytes before the end the file has now."""

    def __init__(self, path: Path, back: int) -> None:
        self._path = path
        size = self._size()
        self._offset = max(0, size - back)
        # Starting in the middle, the first piece is the rest of a line that began earlier.
        self._skip_first = self._offset > 0
        self._identity = self._inode()

    def new_lines(self) -> list[bytes]:
        size = self._size()
        if size < self._offset or self._inode() != self._identity:
            self._offset, self._skip_first, self._identity = 0, False, self._inode()
        if size <= self._offset:
            return []
        try:
            with self._path.open("rb") as file:
                file.seek(self._offset)
                data = file.read(MOST_AT_ONCE)
        except OSError:
            return []
        whole, newline, rest = data.rpartition(b"\n")
        if not newline:
            if len(rest) == MOST_AT_ONCE:  # a line beyond reason: passed over, and the next one is whole again
                self._offset += len(rest)
                self._skip_first = True
            return []
        self._offset += len(whole) + 1
        lines = whole.split(b"\n")
        if self._skip_first:
            lines = lines[1:]
            self._skip_first = False
        return [line for line in lines if line]

    def _size(self) -> int:
        try:
            return self._path.stat().st_size
        except OSError:
            return 0

    def _inode(self) -> int:
        try:
            return self._path.stat().st_ino
        except OSError:
            return 0
