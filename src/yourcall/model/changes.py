"""What a session changed: the files that differ, and how."""

from __future__ import annotations

from typing import Literal

from msgspec import Struct

# What is compared with: the commit when the session began, the last commit, or nothing but the agent's own record.
Against = Literal["start", "head", "record"]
ChangeKind = Literal["added", "modified", "deleted", "untracked"]


class ChangedFile(Struct, frozen=True):
    """`id` names it in a request: a path may hold bytes that are no text. `touched`: the agent's record names it.

    `added` and `removed` are None for a binary file, or where they were not counted.
    """

    id: str
    path: str
    kind: ChangeKind
    touched: bool = False
    added: int | None = None
    removed: int | None = None


class SessionChanges(Struct, frozen=True):
    """`start` and `head` are commits; "" where there is none. `complete`: False if files were left out."""

    session_id: str
    against: Against
    root: str
    files: tuple[ChangedFile, ...] = ()
    branch: str = ""
    start: str = ""
    head: str = ""
    complete: bool = True
    note: str = ""


class FilePatch(Struct, frozen=True):
    """One file's change as a unified diff; `complete`: False if its end was cut off."""

    id: str
    path: str
    patch: str
    complete: bool = True
