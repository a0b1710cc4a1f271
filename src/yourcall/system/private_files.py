"""Files of ours that nobody else may read.

Rule: readable by their owner alone from the first moment; after a power cut a file is as it was, or new and whole.
"""

from __future__ import annotations

import os
import tempfile
from pathlib import Path


def write(path: Path, data: bytes) -> None:
    # Where a link leads, for a person may keep their configuration elsewhere; under a name of its own until it is
    # whole, for two commands may write at once.
    target = Path(os.path.realpath(path))
    number, name = tempfile.mkstemp(prefix=f".{target.name}.", suffix=".new", dir=target.parent)
    try:
        with os.fdopen(number, "wb") as file:
            file.write(data)
            file.flush()
            os.fsync(file.fileno())
        Path(name).replace(target)
    except BaseException:
        Path(name).unlink(missing_ok=True)
        raise


def version(path: Path) -> tuple[int, int]:
    """Changes whenever the file is written anew; the same for all that are not there."""
    try:
        info = path.stat()
    except OSError:
        return 0, 0
    return info.st_mtime_ns, info.st_ino
