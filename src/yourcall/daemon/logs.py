"""The daemon's own log: one rotating file in the home, with anything that looks like a secret masked.

Rule: prompts, answers, tokens and payloads are never logged; what is logged is about yourcall itself.
"""

from __future__ import annotations

import logging
import re
from logging.handlers import RotatingFileHandler
from pathlib import Path

SECRET = re.compile(
    r"(?i)(y[ct]_[\w-]{8})[\w-]+"
    r"|((?:bearer|token|key|secret|password|code)[\"'=: ]+)[^\s\"',;]{6,}"
    r"|(sk-[a-z]{2,4}-)[\w-]+"
)


class Redacted(logging.Formatter):
    def format(self, record: logging.LogRecord) -> str:
        return redact(super().format(record))


def redact(text: str) -> str:
    return SECRET.sub(lambda m: next((g for g in m.groups() if g), "") + "…", text)


def start_logging(home: Path) -> None:
    folder = home / "log"
    folder.mkdir(mode=0o700, exist_ok=True)
    path = folder / "yourcall.log"
    # A name of a file may be no text; a line that cannot be written would be lost.
    file = RotatingFileHandler(
        path, maxBytes=1_000_000, backupCount=3, encoding="utf-8", errors="backslashreplace"
    )
    path.chmod(0o600)
    file.setFormatter(Redacted("%(asctime)s %(levelname)s %(name)s: %(message)s"))
    logging.basicConfig(level=logging.INFO, handlers=[file], force=True)
