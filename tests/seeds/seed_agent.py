"""A scripted Claude in a daemon that others share: it runs the real hook, and is seen through the public API only.

The rule it keeps: it looks at the prompts of its own session and at no others.
"""

from __future__ import annotations

import json
import os
import subprocess
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

from scripted_claude import Held, ScriptedClaude

from kit.poll import until
from kit.yourcall import Yourcall


class Agent(ScriptedClaude):
    """A session of its own in the shared daemon, seen only through the public API."""

    def __init__(self, folder: Path, yc: Yourcall, **more: Any) -> None:
        super().__init__(folder, yc, **more)
        self.yc = yc

    def tells(self, event: str, **payload: Any) -> None:
        """One of the hooks that only inform."""
        told = {
            "session_id": self.session_id,
            "hook_event_name": event,
            "transcript_path": str(self.transcript),
            "cwd": str(self.project),
            "permission_mode": self.mode,
            **payload,
        }
        env = {"PATH": os.defpath, **self._named, **self._where, "CLAUDE_CODE_ENTRYPOINT": "cli"}
        subprocess.run(
            [str(self._launcher), "claude", event],
            input=json.dumps(told).encode(),
            env=env,
            cwd=self.project,
            check=True,
            timeout=60,
        )

    def writes(self, line: dict[str, Any]) -> None:
        """One more line of its transcript."""
        self._writes(line)

    def open(self) -> list[dict[str, Any]]:
        return [prompt for prompt in self.yc.waiting() if prompt["session_id"] == self.session_id]

    def prompt(self, kind: str = "") -> dict[str, Any]:
        """The one thing that this session waits for."""
        (found,) = until(
            lambda: [p for p in self.open() if not kind or p["kind"] == kind],
            what=f"a {kind} prompt",
            show=self.open,
        )
        return found

    def session(self) -> dict[str, Any]:
        def look() -> list[dict[str, Any]]:
            return [s for s in self.yc.http("GET", "/api/sessions")[1] if s["id"] == self.session_id]

        return until(look, what="its session")[0]

    def decided(self, held: Held, prompt: dict[str, Any], decision: str = "accept", **answer: Any) -> Any:
        """Answer it over HTTP, play the agent's part, and see it confirmed; what the agent was told."""
        with ThreadPoolExecutor(1) as pool:
            body = {"wait": 30, **answer}
            said = pool.submit(self.yc.http, "POST", f"/api/prompts/{prompt['id']}/answer", body)
            got = held.answer()
            self.goes_on(held, decision=decision)
            status, reply = said.result()
        assert (status, reply["result"]) == (200, "confirmed"), reply
        assert got is not None
        return got["hookSpecificOutput"]["decision"]
