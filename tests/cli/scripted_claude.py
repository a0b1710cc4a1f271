"""A stand-in for Claude Code at the edge of the real program: it runs the real hook and keeps the real files.

The rule it keeps: everything goes through what `yourcall setup` would install (the launcher in the home) and the
files Claude Code writes (session file, transcript); nothing of yourcall is replaced.
"""

from __future__ import annotations

import json
import os
import subprocess
import time
import uuid
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from kit.terminal import Pane
from kit.yourcall import Yourcall


class Held:
    """One request the hook holds; `answer()` is what the agent would read once the hook is done."""

    def __init__(self, call_id: str, process: subprocess.Popen[bytes]) -> None:
        self.call_id = call_id
        self.process = process

    def answer(self, timeout: float = 20) -> dict[str, Any] | None:
        out, _ = self.process.communicate(timeout=timeout)
        return json.loads(out) if out else None


class ScriptedClaude:
    """`with ScriptedClaude(folder, yc) as claude: held = claude.asks("Bash", command="ls")`."""

    def __init__(
        self,
        folder: Path,
        yourcall: Yourcall,
        mode: str = "default",
        pane: Pane | None = None,
        *,
        tells_its_pid: bool = True,
    ) -> None:
        """`tells_its_pid`: 2.1.197 and older do not, so their hooks find no session file."""
        self.session_id = str(uuid.uuid4())
        self.project = folder / "project"
        self.config = folder / "claude-config"
        self.transcript = self.config / "projects" / "p" / f"{self.session_id}.jsonl"
        for each in (self.project, self.config / "sessions", self.transcript.parent):
            each.mkdir(parents=True, exist_ok=True)
        self.mode = mode
        self._launcher = yourcall.home / "hook"
        self._process = None if pane else subprocess.Popen(["/bin/sleep", "600"])
        self.pid = pane.pid if pane else self._process.pid if self._process else 0
        self._where = {"TMUX": f"{pane.tmux.socket},1,0", "TMUX_PANE": pane.id} if pane else {}
        self._named = {"CLAUDE_PID": str(self.pid)} if tells_its_pid else {}
        self.env: dict[str, str] = {}  # what its settings set besides, for its hooks too
        self._held: list[Held] = []

    def __enter__(self) -> ScriptedClaude:
        return self

    def __exit__(self, *_: object) -> None:
        for held in self._held:
            held.process.kill()
            held.process.wait(10)
            for pipe in (held.process.stdin, held.process.stdout):
                if pipe is not None:
                    pipe.close()
        self.ends()

    def ends(self) -> None:
        if self._process is not None:
            self._process.kill()
            self._process.wait(10)

    def asks(self, tool: str, *, suggestions: list[dict[str, Any]] | None = None, **tool_input: Any) -> Held:
        call_id = f"toolu_{uuid.uuid4().hex[:20]}"
        use = {"type": "tool_use", "id": call_id, "name": tool, "input": tool_input}
        self._writes({"type": "assistant", "message": {"role": "assistant", "content": [use]}})
        self.is_("waiting")
        payload = {
            "session_id": self.session_id,
            "hook_event_name": "PermissionRequest",
            "transcript_path": str(self.transcript),
            "cwd": str(self.project),
            "permission_mode": self.mode,
            "prompt_id": str(uuid.uuid4()),
            "tool_name": tool,
            "tool_input": tool_input,
            "permission_suggestions": suggestions or [],
        }
        process = subprocess.Popen(
            [str(self._launcher), "claude", "PermissionRequest"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            env={
                "PATH": os.defpath,
                **self._named,
                **self._where,
                **self.env,
                "AI_AGENT": "claude-code_2-1-325_harness",
                "CLAUDE_CODE_ENTRYPOINT": "cli",
            },
            cwd=self.project,
        )
        assert process.stdin is not None
        process.stdin.write(json.dumps(payload).encode())
        process.stdin.close()
        process.stdin = None
        held = Held(call_id, process)
        self._held.append(held)
        return held

    def is_(self, status: str) -> None:
        """The session file says so: waiting, busy or idle."""
        told = {"sessionId": self.session_id, "status": status, "statusUpdatedAt": time.time() * 1000}
        file = self.config / "sessions" / f"{self.pid}.json"
        new = file.with_suffix(".new")
        new.write_text(json.dumps(told))
        new.replace(file)

    def goes_on(self, held: Held, *, decision: str = "accept", source: str = "hook") -> None:
        """The dialog closes and the record is written; `source` says who decided: hook, user_temporary, …"""
        self.is_("busy")
        result = {"type": "tool_result", "tool_use_id": held.call_id, "content": "done", "is_error": False}
        line = {"type": "user", "message": {"role": "user", "content": [result]}}
        self._writes({**line, "permissionDecision": {"decision": decision, "source": source}})

    def _writes(self, line: dict[str, Any]) -> None:
        stamp = datetime.now(UTC).isoformat().replace("+00:00", "Z")
        with self.transcript.open("a") as file:
            file.write(json.dumps({**line, "timestamp": stamp}) + "\n")
