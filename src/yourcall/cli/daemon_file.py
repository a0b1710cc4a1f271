"""`daemon.json`: what the running daemon wrote about itself, read with suspicion.

Rule: it is a note, not a proof; whether somebody listens is asked of the socket.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any


def read_daemon_file(home: Path) -> dict[str, Any]:
    """{pid, port, url, version, started_at}, or nothing if there is no such note or it makes no sense."""
    try:
        found = json.loads((home / "daemon.json").read_bytes())
    except (OSError, ValueError):
        return {}
    return found if isinstance(found, dict) else {}  # pyright: ignore[reportUnknownVariableType]
