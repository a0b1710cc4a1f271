"""Install `probe_hook.py` as Claude Code's hooks, and read what it saw; for facts about the CLI, not about us."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

from kit.poll import until

if TYPE_CHECKING:
    from collections.abc import Iterable

SCRIPT = Path(__file__).with_name("probe_hook.py")


class Probe:
    """The settings and the diary of the probing hooks; `folder` is made and holds the diary."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        folder.mkdir()

    def settings(self, held: Iterable[str] = ("PermissionRequest",), told: Iterable[str] = ()) -> dict[str, Any]:
        """Settings in which the `held` events wait for `answer` and the `told` ones are written down."""
        hooks = {event: [{"hooks": [self._hook("hold", timeout=3600)]}] for event in held}
        hooks |= {event: [{"hooks": [self._hook("record", **{"async": True})]}] for event in told}
        return {"hooks": hooks}

    def _hook(self, mode: str, **options: Any) -> dict[str, Any]:
        # An isolated interpreter: nothing of the test's own environment slows it down or changes it.
        arguments = ["-IS", str(SCRIPT), mode, str(self.folder)]
        return {"type": "command", "command": sys.executable, "args": arguments, **options}

    def events(self) -> list[dict[str, Any]]:
        """The diary: {"at", "pid", "what": "payload" | "answering" | "signal" | "hangup" | "end", …}."""
        try:
            lines = (self.folder / "events.jsonl").read_bytes().split(b"\n")[:-1]
        except FileNotFoundError:
            return []
        return [json.loads(line) for line in lines]

    def payloads(self, event: str) -> list[dict[str, Any]]:
        """The diary's lines that hold a payload of that hook event."""
        return [e for e in self.events() if e.get("payload", {}).get("hook_event_name") == event]

    def wait_held(self, count: int = 1) -> list[dict[str, Any]]:
        """The lines of the requests that are held now, once there are `count`."""

        def held() -> list[dict[str, Any]]:
            over = {e["pid"] for e in self.events() if e["what"] in ("answering", "signal", "end")}
            lines = [e for e in self.events() if e.get("mode") == "hold" and e["pid"] not in over]
            return lines if len(lines) >= count else []

        return until(held, what=f"{count} held requests", show=self.events)

    def wait_what(self, pid: int, what: str) -> dict[str, Any]:
        """The diary's line that says that this happened to that hook process."""

        def line() -> dict[str, Any]:
            return next((e for e in self.events() if (e["pid"], e["what"]) == (pid, what)), {})

        return until(line, what=f"{what} of hook {pid}", show=self.events)

    def answer(self, pid: int, decision: dict[str, Any] | None) -> None:
        """Let that hook print this decision about its PermissionRequest, or leave without a word."""
        output = {"hookSpecificOutput": {"hookEventName": "PermissionRequest", "decision": decision}}
        beside = self.folder / f"making-{pid}"
        beside.write_text(json.dumps(output) if decision else "")
        beside.rename(self.folder / f"answer-{pid}")
