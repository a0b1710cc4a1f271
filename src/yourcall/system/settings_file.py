"""A settings file of somebody else, read and replaced with care.

Rule: what is written replaces exactly what was read: if the file changed in between, nothing is written. The new
file appears whole or not at all, with the old one's mode and owner, in the place a symbolic link points to.
"""

from __future__ import annotations

import errno
import os
import stat
import tempfile
from contextlib import suppress
from hashlib import sha256
from pathlib import Path

from msgspec import Struct

from yourcall.agents.kit.json_edit import LONGEST
from yourcall.model.prompts import Refused


class SettingsFile(Struct, frozen=True):
    """A file as it was read; `text` is None if there is none. `target` is where its links lead."""

    path: Path
    target: Path
    text: str | None = None
    mode: int = 0o600
    owner: tuple[int, int] | None = None


def read(path: Path) -> SettingsFile | Refused:
    target = Path(os.path.realpath(path))
    try:
        facts = target.stat()
        if not stat.S_ISREG(facts.st_mode):
            return Refused(f"{path} is not a file. Move it away first; nothing was changed.")
        if facts.st_size > 4 * LONGEST:  # a character takes at most four bytes
            return Refused(
                f"{path} is too long for a settings file ({facts.st_size:,} bytes); nothing was changed."
            )
        raw = target.read_bytes()
    except FileNotFoundError:
        return SettingsFile(path, target)
    except OSError as error:
        return Refused(f"{path} cannot be read ({_why(error)}). Mend that first; nothing was changed.")
    try:
        text = raw.decode("utf-8")
    except UnicodeDecodeError as error:
        return Refused(f"{path} is not UTF-8 text (byte {error.start}). Mend it first; nothing was changed.")
    return SettingsFile(path, target, text, stat.S_IMODE(facts.st_mode), (facts.st_uid, facts.st_gid))


def replace(file: SettingsFile, text: str | None, backup: Path | None) -> Refused | None:
    """Put `text` where `file` was (None: delete the file), and the old text into `backup`."""
    new: Path | None = None
    try:
        if file.text is not None and backup is not None:
            backup.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
            write_whole(backup, file.text.encode(), 0o600)
        if text is not None:
            file.target.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
            new = _beside(file.target, text.encode(), file.mode, file.owner)
        # The last thing before the change, so that hardly anything can come between.
        if _text_now(file) != file.text:
            return Refused(
                f"{file.path} was changed by something else in the meantime. Run this again to see it as it is."
            )
        if new is None:
            file.target.unlink(missing_ok=True)
        else:
            new.replace(file.target)
            new = None
        _sync_folder(file.target.parent)
    except OSError as error:
        managed = " Another tool may manage this file: make the change shown above there."
        locked = error.errno in (errno.EACCES, errno.EPERM, errno.EROFS, errno.EBUSY)
        return Refused(
            f"{file.path} cannot be written ({_why(error)}); it is as it was.{managed if locked else ''}"
        )
    finally:
        if new is not None:
            new.unlink(missing_ok=True)
    return None


def backup_of(home: Path, agent: str, target: Path) -> Path:
    """Where the file as it was before our last change is kept; one for each settings file."""
    return home / "backups" / f"{agent}-{sha256(os.fsencode(target)).hexdigest()[:12]}-{target.name}"


def write_whole(path: Path, data: bytes, mode: int) -> bool:
    """Write a file of our own, whole or not at all; False if it is already exactly that."""
    with suppress(OSError):
        if path.read_bytes() == data and stat.S_IMODE(path.stat().st_mode) == mode:
            return False
    new = _beside(path, data, mode, None)
    try:
        new.replace(path)
    finally:
        new.unlink(missing_ok=True)
    _sync_folder(path.parent)
    return True


def _beside(path: Path, data: bytes, mode: int, owner: tuple[int, int] | None) -> Path:
    """A new file in the same folder, complete and on disk, ready to take the path's place by one rename."""
    fd, name = tempfile.mkstemp(prefix=f".{path.name}.", suffix=".yourcall", dir=path.parent)
    try:
        with os.fdopen(fd, "wb") as file:
            file.write(data)
            if owner is not None and owner != (os.geteuid(), os.getegid()):
                with suppress(PermissionError):
                    os.fchown(fd, *owner)
            os.fchmod(fd, mode)
            file.flush()
            os.fsync(fd)
    except BaseException:
        Path(name).unlink(missing_ok=True)
        raise
    return Path(name)


def _text_now(file: SettingsFile) -> str | None:
    now = read(file.path)
    # What cannot be read any more is certainly not what was read; an empty string would be a possible text.
    return "\0" if isinstance(now, Refused) or now.target != file.target else now.text


def _sync_folder(folder: Path) -> None:
    with suppress(OSError):  # some file systems cannot; the rename itself is done
        fd = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(fd)
        finally:
            os.close(fd)


def _why(error: OSError) -> str:
    return (error.strerror or type(error).__name__).lower()
