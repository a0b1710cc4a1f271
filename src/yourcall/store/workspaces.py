"""The folders that were named to be worked in: one small file in yourcall's home.

Rule: written whole or not at all; a file that cannot be read is as good as empty, and is not written over.
"""

from __future__ import annotations

import os
from pathlib import Path

import msgspec
from msgspec import Struct

from yourcall.model.prompts import Refused
from yourcall.system import private_files

NAME = "workspaces.json"
# Each is a line in somebody's list; more than this is a mistake.
MOST = 500
LONGEST_NAME = 100


class Workspace(Struct, frozen=True):
    path: str
    name: str


class Workspaces:
    def __init__(self, home: Path) -> None:
        self._file = home / NAME
        self._known, self._readable = self._read()

    def all(self) -> tuple[Workspace, ...]:
        return self._known

    def add(self, path: str, name: str) -> Workspace | Refused:
        """Name a folder; named again, it gets the new name."""
        folder = Path(path)
        try:
            good = "\0" not in path and folder.is_absolute() and folder.is_dir()
        except (OSError, ValueError):
            good = False
        if not good:
            return Refused(f"{path[:200]!r} is not a folder here; give its whole path.")
        whole = os.path.normpath(path)
        made = Workspace(whole, (name.strip() or Path(whole).name or whole)[:LONGEST_NAME])
        others = tuple(each for each in self._known if each.path != whole)
        if len(others) >= MOST:
            return Refused(f"There are {MOST} workspaces; remove some first.")
        wrong = self._write((*others, made))
        return wrong or made

    def remove(self, path: str) -> bool:
        left = tuple(each for each in self._known if each.path != path)
        if len(left) == len(self._known):
            return False
        return self._write(left) is None

    def _read(self) -> tuple[tuple[Workspace, ...], bool]:
        try:
            return msgspec.json.decode(self._file.read_bytes(), type=tuple[Workspace, ...]), True
        except FileNotFoundError:
            return (), True
        except (OSError, ValueError, RecursionError):
            return (), False

    def _write(self, known: tuple[Workspace, ...]) -> Refused | None:
        if not self._readable:
            return Refused(f"{self._file} cannot be read, and is not written over; mend or remove it.")
        try:
            private_files.write(self._file, msgspec.json.encode(known))
        except (OSError, UnicodeEncodeError) as error:
            return Refused(f"{self._file} cannot be written: {error}.")
        self._known = known
        return None
