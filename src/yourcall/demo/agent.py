"""A scripted agent: towards yourcall it behaves as Claude Code does, and does nothing else.

Rule: it talks to yourcall only as the real one would, by running the hook's launcher and by keeping a session file
and a transcript; how those look is measured on the real program (docs/reference/agents/claude-code.md).
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import time
import uuid
from contextlib import suppress
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from yourcall import __version__
from yourcall.demo.scenes import PROJECT, Decision, Scene, reaction
from yourcall.links.processes import started

HOOK_S = 5.0  # an informing hook takes 0.03 s
LEAVE_S = 1.0  # a held one sees within 0.1 s that the dialog closed; the desk does not wait for a lost one
RUN_S, REFUSED_S = 0.4, 0.15  # how long a pretended command, and the record of a refusal, take


class Held:
    """One request: the call it is about, and the hook that holds it."""

    def __init__(self, call_id: str, hook: subprocess.Popen[bytes] | None) -> None:
        self.call_id = call_id
        self.hook = hook
        self.output = b""

    @property
    def fd(self) -> int | None:
        """Where the hook's answer comes from, as long as it may come."""
        return (
            self.hook.stdout.fileno() if self.hook and self.hook.stdout and not self.hook.stdout.closed else None
        )

    def hear(self) -> bool:
        """Read what the hook prints; True once it has said all it will ever say."""
        if self.hook is None or self.hook.stdout is None or self.fd is None:
            return True
        part = os.read(self.hook.stdout.fileno(), 1 << 16)
        self.output += part
        if not part:
            self.hook.stdout.close()
        return not part

    def let_go(self, patience: float = LEAVE_S, *, tell: bool = False) -> None:
        """See the hook gone: it leaves by itself when the dialog closes, and is told to when the agent leaves."""
        if self.hook is None:
            return
        if tell:
            self.hook.terminate()
        try:
            self.hook.wait(patience)
        except subprocess.TimeoutExpired:
            self.hook.kill()
            self.hook.wait()
        if self.hook.stdout:
            self.hook.stdout.close()


class ScriptedAgent:
    """One session, from `with` to its end."""

    def __init__(self, launcher: Path, around: Path) -> None:
        self.session_id = str(uuid.uuid4())
        self._launcher = launcher
        self._around = around
        self._folder = around / self.session_id
        self._transcript = self._folder / "projects" / "demo" / f"{self.session_id}.jsonl"
        self._session_file = self._folder / "sessions" / f"{os.getpid()}.json"
        self._held: Held | None = None

    def __enter__(self) -> ScriptedAgent:
        for folder in (self._transcript.parent, self._session_file.parent):
            folder.mkdir(mode=0o700, parents=True)
        self._is("idle")
        self._hook("SessionStart", source="startup")
        return self

    def __exit__(self, *_: object) -> None:
        self._session_file.unlink(missing_ok=True)
        if self._held is not None:
            self._held.let_go(tell=True)
        self._hook("SessionEnd", reason="the demo is over")
        shutil.rmtree(self._folder, ignore_errors=True)
        with suppress(OSError):  # another demo may be playing
            self._around.rmdir()

    def hears(self, text: str) -> None:
        self._writes({"type": "user", "message": {"role": "user", "content": text}})
        self._is("busy")
        self._hook("UserPromptSubmit", prompt=text)

    def rests(self) -> None:
        self._is("idle")
        self._hook("Stop")

    def asks(self, scene: Scene) -> Held:
        """Stop for a person: the dialog is open, and the hook is told."""
        call = {
            "type": "tool_use",
            "id": f"toolu_{uuid.uuid4().hex[:24]}",
            "name": scene.tool,
            "input": scene.input,
        }
        self._writes({"type": "assistant", "message": {"role": "assistant", "content": [call]}})
        self._is("waiting")
        told = {"tool_name": scene.tool, "tool_input": scene.input, "permission_suggestions": [*scene.suggestions]}
        self._held = Held(str(call["id"]), self._start("PermissionRequest", told))
        return self._held

    def takes(self, held: Held, scene: Scene, decision: Decision) -> None:
        """The dialog closes; the call runs (it does not: it is a play) or is refused; the record is written."""
        self._is("idle" if decision.stop else "busy")
        held.let_go()
        self._held = None
        time.sleep(RUN_S if decision.allowed else REFUSED_S)
        result = {
            "type": "tool_result",
            "tool_use_id": held.call_id,
            "content": reaction(scene, decision),
            "is_error": not decision.allowed,
        }
        line: dict[str, Any] = {"type": "user", "message": {"role": "user", "content": [result]}}
        if not decision.allowed:
            line["toolDenialKind"] = "user-rejected"
        if not decision.stop:
            word = "accept" if decision.allowed else "reject"
            line["permissionDecision"] = {"decision": word, "source": decision.source}
        self._writes(line)
        if decision.allowed:
            self._hook("PostToolUse", tool_name=scene.tool, tool_use_id=held.call_id, tool_input=decision.input)

    def _is(self, status: str) -> None:
        told = {
            "pid": os.getpid(),
            "procStart": started(os.getpid()),
            "sessionId": self.session_id,
            "cwd": PROJECT,
            "version": __version__,
            "status": status,
            "statusUpdatedAt": int(time.time() * 1000),
        }
        new = self._session_file.with_suffix(".new")
        new.write_text(json.dumps(told))
        new.replace(self._session_file)

    def _writes(self, line: dict[str, Any]) -> None:
        stamp = datetime.now(UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")
        with self._transcript.open("a") as file:
            file.write(json.dumps({**line, "sessionId": self.session_id, "timestamp": stamp}) + "\n")

    def _hook(self, event: str, **told: object) -> None:
        """An informing hook. Run to its end, so that they arrive in order."""
        if hook := self._start(event, told):
            Held("", hook).let_go(HOOK_S)

    def _start(self, event: str, fields: dict[str, Any]) -> subprocess.Popen[bytes] | None:
        payload = {
            "session_id": self.session_id,
            "hook_event_name": event,
            "transcript_path": str(self._transcript),
            "cwd": PROJECT,
            "permission_mode": "default",
            **fields,
        }
        env = {
            **os.environ,
            "CLAUDE_PID": str(os.getpid()),
            "CLAUDE_CODE_ENTRYPOINT": "cli",
            "CLAUDE_CONFIG_DIR": str(self._folder),
            "AI_AGENT": f"yourcall-demo_{__version__.replace('.', '-')}",
        }
        try:
            hook = subprocess.Popen(
                [str(self._launcher), "demo", event],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.DEVNULL,
                env=env,
                start_new_session=True,  # a Ctrl-C at the desk is for the agent, which then ends its hooks
            )
            assert hook.stdin is not None
            with suppress(BrokenPipeError), hook.stdin:
                hook.stdin.write(json.dumps(payload).encode())
        except OSError:
            return None  # without yourcall the agent works as if it were not there
        return hook
