"""A stand-in for Claude Code where the real one would only add noise: its session file, transcript and requests.

The rule it keeps: yourcall sees what the real CLI shows it (payloads and lines as captured from 2.1.325), and
the process it is told of is a real one.
"""

from __future__ import annotations

import atexit
import json
import os
import subprocess
import time
import uuid
from datetime import UTC, datetime
from functools import cache
from pathlib import Path
from typing import Any

ALPHABET = "abcdefghjkmnpqrstuvwxyz23456789"


def new_id() -> str:
    return "".join(ALPHABET[each % len(ALPHABET)] for each in os.urandom(10))


def _bash(command: str) -> dict[str, str]:
    return {"command": command, "description": "Run one of the project's own scripts"}


@cache
def _process() -> int:
    """A process of its own: whatever belongs to an agent's may not answer, and this program does."""
    sleeper = subprocess.Popen(["sleep", "86400"])
    atexit.register(sleeper.wait)
    atexit.register(sleeper.kill)
    return sleeper.pid


class Agent:
    """One session, in a config folder of its own."""

    def __init__(self, at: Path, pid: int | None = None) -> None:
        self.session_id = str(uuid.uuid4())
        self.pid = pid or _process()
        self.project = at / "project"
        self.config = at / "claude"
        self.transcript = self.config / "projects" / "p" / f"{self.session_id}.jsonl"
        for each in (self.project, self.config / "sessions", self.transcript.parent):
            each.mkdir(parents=True, exist_ok=True)

    @property
    def env(self) -> dict[str, str]:
        return {
            "CLAUDE_PID": str(self.pid),
            "CLAUDE_CODE_ENTRYPOINT": "cli",
            "CLAUDE_CODE_SESSION_ATTENDED": "1",
            "AI_AGENT": "claude-code_2-1-325_harness",
        }

    def asks(self, command: str) -> tuple[str, bytes]:
        """The dialog opens: the id of the call, and what a PermissionRequest hook is given."""
        call_id = f"toolu_{uuid.uuid4().hex[:22]}"
        use = {"type": "tool_use", "id": call_id, "name": "Bash", "input": _bash(command)}
        self._write({"type": "assistant", "message": {"role": "assistant", "content": [use]}})
        self.status("waiting")
        return call_id, self.request(command)

    def request(self, command: str) -> bytes:
        return self._payload("PermissionRequest", _bash(command), prompt_id=str(uuid.uuid4()))

    def call(self, tool: str, tool_input: dict[str, Any]) -> bytes:
        """What a PermissionRequest hook is given for any tool."""
        return self._payload("PermissionRequest", tool_input, tool_name=tool, prompt_id=str(uuid.uuid4()))

    def finished(self) -> bytes:
        """What a PostToolUse hook is given."""
        response = {"stdout": "built in 3.1 s\n" * 40, "stderr": "", "interrupted": False, "isImage": False}
        call_id = f"toolu_{uuid.uuid4().hex[:22]}"
        return self._payload("PostToolUse", _bash("npm run build"), tool_use_id=call_id, tool_response=response)

    def goes_on(self, call_id: str) -> None:
        """The dialog closed, and the tool was run because a hook said so."""
        self.status("busy")
        result = {"type": "tool_result", "tool_use_id": call_id, "content": "done", "is_error": False}
        decision = {"decision": "accept", "source": "hook"}
        said = {"type": "user", "message": {"role": "user", "content": [result]}, "permissionDecision": decision}
        self._write(said)

    def status(self, word: str) -> None:
        told = {"sessionId": self.session_id, "status": word, "statusUpdatedAt": time.time() * 1000}
        file = self.config / "sessions" / f"{self.pid}.json"
        new = file.with_suffix(".new")
        new.write_text(json.dumps(told))
        new.replace(file)

    def _payload(self, event: str, tool_input: dict[str, Any], **more: Any) -> bytes:
        told = {
            "session_id": self.session_id,
            "transcript_path": str(self.transcript),
            "cwd": str(self.project),
            "permission_mode": "default",
            "hook_event_name": event,
            "tool_name": "Bash",
            "tool_input": tool_input,
        }
        return json.dumps({**told, **more}).encode()

    def _write(self, line: dict[str, Any]) -> None:
        stamp = datetime.now(UTC).isoformat().replace("+00:00", "Z")
        with self.transcript.open("a") as file:
            file.write(json.dumps({**line, "timestamp": stamp}) + "\n")
