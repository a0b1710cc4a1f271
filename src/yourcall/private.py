"""Files of ours that nobody else may read.

Rule: readable by their owner alone from the first moment; after a power cut a file is as it was, or new and whole.
"""

from __future__ import annotations

import os
from pathlib import Path


def write(path: Path, data: bytes) -> None:
    new = path.with_name(f".{path.name}.new")
    number = os.open(new, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_CLOEXEC, 0o600)
    with os.fdopen(number, "wb") as file:
        file.write(data)
        file.flush()
        os.fsync(file.fileno())
    new.replace(path)
