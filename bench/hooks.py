"""What a hook costs: processor time of one informing event, memory of one held request.

The rule it keeps: a command is run the way Claude Code runs it, through a shell, and so is its floor.
"""

from __future__ import annotations

import shlex
import shutil
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path

from bench.agent import Agent
from bench.clock import cpu, in_turn, ms, proportional, resident
from bench.place import PYTHON, Bare, Yourcall, clean, die_with_parent
from bench.row import Row
from bench.size import Size
from bench.wires import Live

WITHIN_MS = 25


def informing(at: Path, size: Size) -> Iterator[Row]:
    """One PostToolUse, told and forgotten."""
    agent = Agent(at)
    payload = agent.finished()
    env = {**clean(at), **agent.env}
    with Yourcall(at) as ours, Bare(at) as bare:
        launcher = shlex.quote(str(ours.launcher))
        url = f"http://127.0.0.1:{bare.port}/hook"
        commands = {
            "ours": f"{launcher} claude PostToolUse",
            "true": "true",
            "python": f"{shlex.quote(PYTHON)} -c pass",
        }
        if shutil.which("curl"):
            commands["curl"] = f"curl -s -X POST -H 'Content-Type: application/json' --data-binary @- {url}"

        def one(command: str, typed: bytes = payload) -> float:
            return cpu(["/bin/sh", "-c", command], typed, env)

        contenders = {name: (lambda line=line: one(line)) for name, line in commands.items()}
        used = {name: ms(each) for name, each in in_turn(size.of(50), contenders, warm_up=2).items()}
        ours.stop()
        down = ms(in_turn(size.of(25), {"ours": contenders["ours"]})["ours"])
    name = "CPU of one informing event"
    yield Row(name, "ms", used["ours"], "the command `true`", used["true"], most=WITHIN_MS)
    if "curl" in used:
        yield Row(name, "ms", used["ours"], "a `curl` hook", used["curl"], most=WITHIN_MS)
    yield Row(name, "ms", used["ours"], "`python -c pass`", used["python"])
    yield Row(f"{name}, daemon down", "ms", down, "daemon up", used["ours"], most=WITHIN_MS)


def held(at: Path, size: Size) -> Iterator[Row]:
    """One PermissionRequest that waits, and a Python that only waits."""
    idle = "import os; os.write(1, b'.'); os.read(0, 1)"
    with Yourcall(at) as ours, Live(ours.port, "/api/live", ours.token) as live:

        def holding() -> tuple[float, float]:
            agent = Agent(at)
            _, payload = agent.asks("scripts/release --dry-run")
            with _started([str(ours.launcher), "claude", "PermissionRequest"], {**clean(at), **agent.env}) as hook:
                assert hook.stdin is not None
                hook.stdin.write(payload)
                hook.stdin.close()
                while live.next().get("type") != "prompt":
                    pass
                # What it waits with: a few looks at the session file are in it.
                time.sleep(0.3)
                return _memory(hook)

        def idling() -> tuple[float, float]:
            with _started([PYTHON, "-I", "-S", "-c", idle], clean(at)) as other:
                assert other.stdout is not None
                other.stdout.read(1)
                return _memory(other)

        taken = in_turn(size.of(5), {"ours": holding, "idle": idling})
    for number, word in enumerate(("resident", "its share (PSS)")):
        mine, other = ([pair[number] for pair in taken[name]] for name in ("ours", "idle"))
        yield Row(f"memory of a held prompt, {word}", "MB", mine, "an idle `python -I -S`", other)


def _memory(process: subprocess.Popen[bytes]) -> tuple[float, float]:
    return resident(process.pid), proportional(process.pid)


class _started(subprocess.Popen[bytes]):
    """A child that is ended, not waited for, when the block ends."""

    def __init__(self, command: list[str], env: dict[str, str]) -> None:
        super().__init__(
            command, env=env, stdin=subprocess.PIPE, stdout=subprocess.PIPE, bufsize=0, preexec_fn=die_with_parent
        )

    def __exit__(self, *_: object) -> None:
        self.kill()
        for pipe in (self.stdin, self.stdout):
            if pipe is not None:
                pipe.close()
        self.wait(10)
