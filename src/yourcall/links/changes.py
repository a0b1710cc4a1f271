"""The files a session changed: what git sees in its folder, and what the agent's own record names.

Rule: looked up when somebody asks, on another thread, and bounded; nothing is kept and nothing is changed. Names
and contents of files are passed on as text and never interpreted.
"""

from __future__ import annotations

import asyncio
import base64
import binascii
import os
from collections.abc import Awaitable, Callable
from pathlib import Path

from yourcall.model.changes import Against, ChangedFile, FilePatch, SessionChanges
from yourcall.model.conversation import Action, Page
from yourcall.model.prompts import Refused
from yourcall.model.sessions import Session
from yourcall.system import git

# A list that a person scrolls through; the rest is counted by nobody.
MOST_FILES = 2_000
# The record is read from its end, this many pages of it: a few thousand calls.
MOST_PAGES = 12
PAGE = 500
# A path in a request is not longer than one that a file can have.
LONGEST_ID = 8_192

_NO_START = "No commit from before this session is known to git here."

Pages = Callable[[Session, int | None, str], Awaitable[Page | Refused]]


class Changes:
    """`pages`: a page of a session's record before this place of this file."""

    def __init__(self, pages: Pages) -> None:
        self._pages = pages

    async def files(self, session: Session, against: Against | None, /) -> SessionChanges | Refused:
        """What differs; without `against`, since the start of the session if git knows, else since the last
        commit, else what the record tells."""
        record = await self._record(session)
        if against == "record":
            return _from_record(session, record, "")
        try:
            return await asyncio.to_thread(_from_git, session, against, record)
        except git.GitProblem as problem:
            return _from_record(session, record, str(problem)) if against is None else Refused(str(problem))

    async def patch(self, session: Session, against: Against, file_id: str, /) -> FilePatch | Refused:
        path = _path(file_id)
        if path is None:
            return Refused("There is no such file among the changes.")
        if against == "record":
            record = await self._record(session)
            text = "\n".join(record.get(os.fsdecode(path), []))
            return (
                FilePatch(file_id, _shown(path), text)
                if text
                else Refused("The record has no change of this file.")
            )
        try:
            return await asyncio.to_thread(_patch, session, against, file_id, path)
        except git.GitProblem as problem:
            return Refused(str(problem))

    async def whole(self, session: Session, most: int, /) -> tuple[str, int, bool]:
        """All changes as one text of at most so many bytes, how many files differ, and whether that is all.
        Files that git does not know are only counted."""
        changes = await self.files(session, None)
        if isinstance(changes, Refused) or not changes.files:
            return "", 0, True
        if changes.against == "record":
            record = await self._record(session)
            text = "\n".join(diff for diffs in record.values() for diff in diffs)
            return text[:most], len(changes.files), changes.complete and len(text) <= most
        try:
            text, whole = await asyncio.to_thread(_whole_patch, session, changes.against, most)
        except git.GitProblem:
            return "", len(changes.files), False
        whole = whole and changes.complete and not any(each.kind == "untracked" for each in changes.files)
        return text, len(changes.files), whole

    async def _record(self, session: Session) -> dict[str, list[str]]:
        """The files that the session's record names as changed, each with its diffs, oldest first."""
        actions: list[Action] = []
        before, file = None, ""
        for _ in range(MOST_PAGES):
            page = await self._pages(session, before, file)
            if isinstance(page, Refused):
                break
            done = [
                entry
                for entry in page.entries
                if isinstance(entry, Action) and entry.kind == "file_change" and not entry.is_error
            ]
            actions[:0] = done
            before, file = page.next_before, page.file
            if before is None:
                break
        named: dict[str, list[str]] = {}
        for entry in actions:
            for path in entry.paths:
                diffs = named.setdefault(os.path.join(session.cwd, path), [])
                if entry.phase == "completed" and entry.diff:
                    diffs.append(entry.diff)
        return named


def _from_record(session: Session, record: dict[str, list[str]], note: str) -> SessionChanges:
    files = [
        ChangedFile(id_of(os.fsencode(path)), _below(path, session.cwd), "modified", True, *_counted(diffs))
        for path, diffs in sorted(record.items())
    ]
    complete = len(files) <= MOST_FILES
    return SessionChanges(
        session.id, "record", session.cwd, tuple(files[:MOST_FILES]), complete=complete, note=note
    )


def _from_git(session: Session, against: Against | None, record: dict[str, list[str]]) -> SessionChanges:
    repository = git.find(Path(session.cwd))
    start = _start(repository, session)
    if against == "start" and not start:
        raise git.GitProblem(_NO_START)
    chosen: Against = against or ("start" if start else "head")
    listing = git.listing(repository, start if chosen == "start" else repository.head)
    root = os.fsencode(repository.root)
    touched = {os.path.relpath(os.fsencode(path), root) for path in record}
    files = [
        ChangedFile(id_of(each.path), _shown(each.path), each.kind, each.path in touched, each.added, each.removed)
        for each in listing.files
    ]
    # What the session itself named comes first: it is what one looks for.
    files.sort(key=lambda each: not each.touched)
    return SessionChanges(
        session.id,
        chosen,
        _shown(root),
        tuple(files[:MOST_FILES]),
        branch=_text(repository.branch),
        start=start,
        head=repository.head,
        complete=listing.complete and len(files) <= MOST_FILES,
        note="" if start else _NO_START,
    )


def _patch(session: Session, against: Against, file_id: str, path: bytes) -> FilePatch | Refused:
    repository = git.find(Path(session.cwd))
    start = _start(repository, session) if against == "start" else ""
    if against == "start" and not start:
        raise git.GitProblem(_NO_START)
    text, complete = git.patch(repository, start or repository.head, path)
    if not text:
        return Refused("This file no longer differs.")
    return FilePatch(file_id, _shown(path), text.decode("utf-8", "replace"), complete)


def _whole_patch(session: Session, against: Against, most: int) -> tuple[str, bool]:
    repository = git.find(Path(session.cwd))
    start = _start(repository, session) if against == "start" else ""
    text, whole = git.whole_patch(repository, start or repository.head, most)
    return text.decode("utf-8", "replace"), whole


def _start(repository: git.Repository, session: Session) -> str:
    return git.commit_at(repository, session.started_at) if session.started_at and repository.head else ""


def _counted(diffs: list[str]) -> tuple[int, int]:
    lines = [line for diff in diffs for line in diff.split("\n") if not line.startswith(("+++", "---"))]
    return sum(line.startswith("+") for line in lines), sum(line.startswith("-") for line in lines)


def _below(path: str, folder: str) -> str:
    return _text(path.removeprefix(f"{folder}/"))


def _text(name: str) -> str:
    """A name from the file system, as text that can be sent."""
    return _shown(os.fsencode(name))


def _shown(path: bytes) -> str:
    return path.decode("utf-8", "backslashreplace")


def id_of(path: bytes) -> str:
    return base64.urlsafe_b64encode(path).decode().rstrip("=")


def _path(file_id: str) -> bytes | None:
    try:
        if not 0 < len(file_id) <= LONGEST_ID or not file_id.isascii():
            return None
        path = base64.urlsafe_b64decode(file_id + "=" * (-len(file_id) % 4))
    except (ValueError, binascii.Error):
        return None
    return path if path and b"\0" not in path else None
