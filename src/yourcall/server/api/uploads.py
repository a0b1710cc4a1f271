"""Files that a person sends from a phone, for an agent to read: stored in a private folder, told as a path.

Rule: bytes in a file and no more. A name is made anew from harmless letters, nothing is looked into, unpacked or
executable, and what is too large, too much or too old does not stay.
"""

from __future__ import annotations

import os
import re
import secrets
import time
from collections.abc import AsyncIterator
from pathlib import Path

from starlette.requests import ClientDisconnect

from yourcall.model.prompts import Refused
from yourcall.server.auth import Refusal
from yourcall.server.route import Call, Reply
from yourcall.server.wire import UploadView

# A photo of a phone has 3 to 12 MB.
LARGEST = 20 << 20
MOST_BYTES = 500 << 20
KEPT_S = 30 * 86_400.0

_HARMLESS = re.compile(r"[^A-Za-z0-9._-]+")


class Uploads:
    def __init__(self, folder: Path) -> None:
        self.folder = folder

    async def keep(self, name: str, chunks: AsyncIterator[bytes]) -> tuple[Path, int] | Refused:
        """Store these bytes; where, and how many they were."""
        self.folder.mkdir(mode=0o700, exist_ok=True)
        room = MOST_BYTES - self._tidied(time.time())
        path = self.folder / f"{secrets.token_hex(6)}-{plain_name(name)}"
        size = 0
        fd = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600)
        whole = False
        try:
            with os.fdopen(fd, "wb") as file:
                async for chunk in chunks:
                    size += len(chunk)
                    if size > LARGEST:
                        return Refused(f"A file may have {LARGEST >> 20} MB at most.")
                    if size > room:
                        return Refused(f"There is no room left: {self.folder} holds {MOST_BYTES >> 20} MB.")
                    file.write(chunk)
            whole = size > 0
            return (path, size) if whole else Refused("The file is empty.")
        finally:
            if not whole:
                path.unlink(missing_ok=True)

    def _tidied(self, now: float) -> int:
        """Remove what is old; how many bytes are left."""
        left = 0
        for file in self.folder.iterdir():
            try:
                status = file.lstat()
                if now - status.st_mtime > KEPT_S:
                    file.unlink()
                else:
                    left += status.st_size
            except OSError:  # somebody else was tidying up
                continue
        return left


def plain_name(name: str) -> str:
    """A file's name that means the same in every shell and to every person."""
    plain = _HARMLESS.sub("-", name.replace("\\", "/").rpartition("/")[2]).strip("-.")
    stem, dot, ending = plain.rpartition(".")
    return f"{stem[:60]}.{ending[:10]}" if dot and stem else plain[:60] or "file"


async def upload(call: Call) -> Reply | Refusal:
    """The body is the file itself."""
    if call.uploads is None:
        return Refusal(404, "No files are taken here.")
    said = call.request.headers.get("content-length", "")
    if said.isdecimal() and int(said[:20]) > LARGEST:
        return Refusal(413, f"A file may have {LARGEST >> 20} MB at most.", {"Connection": "close"})
    try:
        kept = await call.uploads.keep(call.request.query_params.get("name", "")[:200], call.request.stream())
    except ClientDisconnect:
        return Refusal(400, "The connection ended in the middle of the file.")
    except OSError as error:
        return Refusal(507, f"The file could not be stored: {error.strerror}.", {"Connection": "close"})
    if isinstance(kept, Refused):
        return Refusal(413, kept.reason, {"Connection": "close"})
    path, size = kept
    return Reply(UploadView(str(path), path.name, size), 201)
