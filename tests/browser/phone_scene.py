"""Agents that ask for everything there is, for a phone to answer: the scripted Claude Code, and bare requests.

The rule it keeps: prompts come in through the hooks' own socket, as always; nothing of yourcall is replaced.
"""

from __future__ import annotations

import json
import os
import socket
import subprocess
import uuid
from collections.abc import Callable
from pathlib import Path
from typing import Any

from chromium import Chromium, Page
from scripted_claude import ScriptedClaude

from kit.poll import until
from kit.terminal import Pane
from kit.yourcall import COMMAND, Yourcall

Opens = Callable[..., Page]

PLAN = """# Move the shop to the new prices

The limit for free shipping moves into `settings.toml`.

1. Read the limit in `prices.py`, with **30** as the default
2. Write a test for orders of 29.99 and 30.00
3. Run the whole suite

| file | change |
|---|---|
| `prices.py` | reads the limit |
| `settings.toml` | new |

> Nothing is deployed.
"""

QUESTION = {
    "question": "Which colour shall the kite have?",
    "header": "Colour",
    "multiSelect": False,
    "options": [
        {"label": "Sky blue", "description": "Calm, and easy to lose sight of."},
        {"label": "Signal red", "description": "Seen from everywhere."},
        {"label": "Black", "description": "Looks fast."},
    ],
}
SEVERAL = {
    "question": "Which sizes shall we offer?",
    "header": "Sizes",
    "multiSelect": True,
    "options": [
        {"label": "Small", "description": "For the beach."},
        {"label": "Medium", "description": "For most people."},
        {"label": "Large", "description": "For strong arms."},
    ],
}
COMPARE = {
    "question": "Which layout for the front page?",
    "header": "Layout",
    "multiSelect": False,
    "options": [
        {
            "label": "Grid",
            "description": "All kites at once.",
            "preview": "+----+ +----+\n| A  | | B  |\n+----+ +----+",
        },
        {"label": "List", "description": "One by one.", "preview": "A ........ 20\nB ........ 35"},
    ],
}
FORM: dict[str, Any] = {
    "type": "object",
    "properties": {
        "name": {"type": "string", "title": "Name", "description": "who the parcel is for"},
        "count": {"type": "integer", "title": "Kites", "minimum": 1, "maximum": 9},
        "size": {"type": "string", "title": "Size", "enum": ["small", "large"]},
        "gift": {"type": "boolean", "title": "Gift wrap"},
        "note": {"type": "string", "title": "Note"},
    },
    "required": ["name", "count", "size"],
}
RULE = {
    "type": "addRules",
    "rules": [{"toolName": "Bash", "ruleContent": "npm test:*"}],
    "behavior": "allow",
    "destination": "localSettings",
}


class Agent(ScriptedClaude):
    """A scripted session in a project of this name."""

    def __init__(
        self,
        folder: Path,
        yourcall: Yourcall,
        project: str = "kite-shop",
        mode: str = "default",
        pane: Pane | None = None,
    ) -> None:
        super().__init__(folder / project, yourcall, mode, pane)
        self.project = folder / project
        self.yourcall = yourcall
        self._lines: list[socket.socket] = []

    def __exit__(self, *gone: object) -> None:
        for line in self._lines:
            line.close()
        super().__exit__(*gone)

    def raises(self, event: str, request_id: str = "-", **payload: Any) -> socket.socket:
        """One hook call over a bare line; who holds the line, holds the request."""
        told = {"session_id": self.session_id, "cwd": str(self.project), "permission_mode": self.mode, **payload}
        where = {"idle": "9999", **self._where, **({"CLAUDE_PID": str(self.pid)} if self._where else {})}
        body, env = json.dumps(told).encode(), "\0".join(f"{name}={value}" for name, value in where.items())
        line = socket.socket(socket.AF_UNIX)
        line.settimeout(10)
        folder = os.open(self.yourcall.home, os.O_PATH)
        line.connect(f"/proc/self/fd/{folder}/hook.sock")
        os.close(folder)
        line.sendall(f"yourcall/1 claude {event} {request_id} {len(env)} {len(body)}\n{env}".encode() + body)
        self._lines.append(line)
        return line

    def form(self, request_id: str, cwd: str = "") -> socket.socket:
        asked = {"mcp_server_name": "parcels", "message": "Where shall the parcel go?", "requested_schema": FORM}
        return self.raises("Elicitation", request_id, **asked, cwd=cwd or str(self.project))

    def begins(self, **payload: Any) -> None:
        """The session is there, with its transcript: a turn has begun."""
        told = {"prompt": "go", "transcript_path": str(self.transcript), **payload}
        self.raises("UserPromptSubmit", **told)

    def says(self, text: str) -> None:
        self._writes(
            {"type": "assistant", "message": {"role": "assistant", "content": [{"type": "text", "text": text}]}}
        )

    def hears(self, text: str) -> None:
        self._writes({"type": "user", "message": {"role": "user", "content": text}})

    def does(self, tool: str, result: str, *, failed: bool = False, **tool_input: Any) -> None:
        """A call that needed nobody, with what came of it."""
        call_id = f"toolu_{uuid.uuid4().hex[:20]}"
        use = {"type": "tool_use", "id": call_id, "name": tool, "input": tool_input}
        self._writes({"type": "assistant", "message": {"role": "assistant", "content": [use]}})
        done = {"type": "tool_result", "tool_use_id": call_id, "content": result, "is_error": failed}
        self._writes({"type": "user", "message": {"role": "user", "content": [done]}})

    def bash(self, request_id: str, command: str) -> socket.socket:
        """A command that nobody but the test's own line holds."""
        return self.raises("PermissionRequest", request_id, tool_name="Bash", tool_input={"command": command})


def answered(line: socket.socket) -> dict[str, Any]:
    """What the holder of a request is told to write, once it is told."""
    read = b""
    while b"answer " not in read or not read.partition(b"answer ")[2].partition(b"\n")[2].endswith(b"}"):
        part = line.recv(1 << 16)
        assert part, f"hung up on after {read!r}"
        read += part
    return json.loads(read.partition(b"answer ")[2].partition(b"\n")[2])["hookSpecificOutput"]


class Daemon(Yourcall):
    """One that can come back at the address it had, as a daemon that is restarted does."""

    def start_on(self, port: int) -> None:
        (self.home / "daemon.json").unlink(missing_ok=True)
        self._process = subprocess.Popen(
            [str(COMMAND), "up", "--port", str(port)],
            env=self.env,
            cwd="/",
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
        )
        until(self._listens, what="the daemon")


def scroll_to_the_end(page: Page) -> None:
    """As a thumb does it: by less than a screen at a time."""
    page.js("""new Promise((done) => {
        const step = () => {
            const before = scrollY;
            dispatchEvent(new WheelEvent("wheel"));
            scrollBy(0, innerHeight * 0.6);
            requestAnimationFrame(() => requestAnimationFrame(() => (scrollY === before ? done() : step())));
        };
        step();
    })""")


def give_all_scopes(yc: Yourcall, name: str) -> None:
    """What only the owner gives, at the machine: a phone that may also rename and revoke devices."""
    (device,) = [each for each in yc.http("GET", "/api/devices")[1] if each["name"] == name]
    scopes = ["read", "answer", "steer", "rules", "admin"]
    assert yc.http("POST", f"/api/devices/{device['id']}/scopes", {"scopes": scopes})[0] == 200


def enter(chromium: Chromium, yc: Yourcall, name: str = "phone", **look: object) -> Page:
    """A paired phone with the inbox in front. (That pairing itself works has tests of its own.)"""
    code = yc.http("POST", "/api/pairing")[1]["code"]
    page = chromium.page(f"{yc.url}/", pair=(code, name), **look)  # type: ignore[arg-type]
    page.sees("Live")
    return page
