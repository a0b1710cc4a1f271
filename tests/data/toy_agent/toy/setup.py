"""The one file that setup writes: the plugin, which is wholly ours."""

from __future__ import annotations

from yourcall.agents.setup_spec import Edited, Finding, Version
from yourcall.model.prompts import Refused

MARK = "// yourcall\n"


def add(
    _text: str | None, launcher: str, _versions: list[Version], _ask: tuple[str, ...] | None
) -> Edited | Refused:
    wanted = f"{MARK}dial({launcher!r})\n"
    return Edited(wanted, _text != wanted)


def remove(text: str | None) -> Edited | Refused:
    ours = text is not None and text.startswith(MARK)
    return Edited(None if ours else text, ours)


def check(text: str | None, _launcher: str, _versions: list[Version]) -> list[Finding]:
    there = text is not None and text.startswith(MARK)
    return [] if there else [Finding("missing", "The toy's plugin is not there.", "Run `yourcall setup toy`.")]
