"""Processes that play agents, persons and strangers before a real daemon: each runs what it is told in a shell."""

from __future__ import annotations

import os
import subprocess
import sys
import uuid
from pathlib import Path
from typing import Any

from kit.poll import until
from kit.yourcall import Yourcall

# Runs each line that it is given in a shell: what an agent's tool does, and what a terminal does for a person.
RUNNER = """
import subprocess, sys
for line in sys.stdin:
    subprocess.Popen(["/bin/sh", "-c", line], stdin=subprocess.DEVNULL)
"""

# The same for one who is started by a runner: reads its lines from a file that grows.
BELOW = """
import subprocess, sys, time
with open(sys.argv[1]) as lines:
    while True:
        line = lines.readline()
        if line.strip() == "end":
            break
        if line:
            subprocess.Popen(["/bin/sh", "-c", line], stdin=subprocess.DEVNULL)
        else:
            time.sleep(0.02)
"""

# Greets as a hook does, with any pid; waits until the daemon has heard it, or leaves at once.
GREET = """
import json, os, socket, sys
home, pid, session, cwd = sys.argv[1:5]
payload = json.dumps({"session_id": session, "hook_event_name": "SessionStart", "cwd": cwd, "source": "startup",
                      "transcript_path": "", "permission_mode": "default"}).encode()
env = f"CLAUDE_PID={pid}\\0CLAUDE_CODE_ENTRYPOINT=cli".encode()
os.chdir(home)
talk = socket.socket(socket.AF_UNIX)
talk.connect("hook.sock")
talk.sendall(b"yourcall/1 claude SessionStart - %d %d\\n" % (len(env), len(payload)) + env + payload)
if "leave" not in sys.argv:
    talk.shutdown(socket.SHUT_WR)
    talk.recv(1)
"""

# Asks whether this process may pause the rules; its status goes into a file.
MAY = """
import http.client, os, socket, sys
home, out = sys.argv[1:3]
os.chdir(home)
line = http.client.HTTPConnection("localhost")
line.sock = socket.socket(socket.AF_UNIX)
line.sock.connect("api.sock")
line.request("POST", "/api/may/pause")
status = line.getresponse().status
with open(out + ".new", "w") as file:
    file.write(str(status))
os.rename(out + ".new", out)
"""

REFUSED, TAKEN = 403, 200


class World:
    def __init__(self, folder: Path, yc: Yourcall) -> None:
        self.folder, self.yc = folder, yc
        self.runners: list[subprocess.Popen[str]] = []
        for name, code in {"greet": GREET, "may": MAY, "below": BELOW}.items():
            (folder / f"{name}.py").write_text(code)

    def runner(self, name: str = sys.executable) -> subprocess.Popen[str]:
        """A process that has nothing to do with any other here; `name`: what it is called."""
        made = subprocess.Popen(
            [name, "-c", RUNNER], executable=sys.executable, stdin=subprocess.PIPE, text=True, cwd=self.folder,
            start_new_session=True, env={"PATH": os.environ.get("PATH", os.defpath)},
        )  # fmt: skip
        self.runners.append(made)
        return made

    def below(self, runner: subprocess.Popen[str]) -> tuple[int, Path]:
        """A process that this one started: its pid, and the file that takes its lines."""
        lines, pid = self.folder / f"{uuid.uuid4().hex}.lines", self.folder / f"{uuid.uuid4().hex}.pid"
        lines.touch()
        tell(runner, f"echo $$ > {pid}.new; mv {pid}.new {pid}; exec {self.script('below')} {lines}")
        until(pid.exists, what="the process below")
        return int(pid.read_text()), lines

    def script(self, name: str) -> str:
        return f"{sys.executable} -I {self.folder / name}.py"

    def greeting(self, pid: int, session: str, *words: str) -> str:
        return " ".join([self.script("greet"), str(self.yc.home), str(pid), session, str(self.folder), *words])

    def heard(self, session: str) -> None:
        until(lambda: session in {each["id"] for each in self.sessions()}, what=f"session {session}")

    def sessions(self) -> list[dict[str, Any]]:
        return self.yc.http("GET", "/api/sessions")[1]

    def close(self) -> None:
        for lines in self.folder.glob("*.lines"):
            tell(lines, "end")
        for runner in self.runners:
            assert runner.stdin is not None
            runner.stdin.close()
            runner.wait(30)

    def may(self, runner: subprocess.Popen[str] | Path) -> int:
        """What the daemon says to a change that a child of this process asks for."""
        out = self.folder / f"{uuid.uuid4().hex}.status"
        tell(runner, f"{self.script('may')} {self.yc.home} {out}")
        until(out.exists, what="a status")
        return int(out.read_text())


def tell(runner: subprocess.Popen[str] | Path, line: str) -> None:
    if isinstance(runner, Path):
        with runner.open("a") as file:
            file.write(line + "\n")
    else:
        assert runner.stdin is not None
        runner.stdin.write(line + "\n")
        runner.stdin.flush()
