"""Run the real Claude Code without a terminal, and tell what came of it and how long it took.

The rule it keeps: each run has a fresh home. What differs between two runs is only what the caller names.
"""

from __future__ import annotations

import json
import subprocess
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

from kit.claude import environment
from kit.poll import PATIENCE_S

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path

    from kit.claude import ClaudeHome
    from kit.model_server import ModelServer

Host = Callable[[str, dict[str, Any]], dict[str, Any]]
Way = Literal["-p", "piped", "stream-json", "sdk"]
STREAM = ("--input-format", "stream-json", "--output-format", "stream-json", "--verbose")
ARGS: dict[Way, tuple[str, ...]] = {
    "-p": ("-p",),
    "piped": (),
    "stream-json": ("-p", *STREAM),
    "sdk": (*STREAM, "--permission-prompt-tool", "stdio"),  # as the Agent SDKs start it
}


def yes(tool: str, given: dict[str, Any]) -> dict[str, Any]:
    return {"behavior": "allow", "updatedInput": given}


@dataclass(frozen=True)
class Run:
    """`asked`: how often the host, if the run has one, was asked. `said`: the last words."""

    ran: bool
    code: int
    said: str
    asked: int
    seconds: float

    @property
    def outcome(self) -> tuple[bool, int, str, int]:
        return self.ran, self.code, self.said, self.asked


def run_headless(
    binary: Path,
    home: ClaudeHome,
    model: ModelServer,
    words: str,
    *,
    way: Way = "-p",
    args: Sequence[str] = (),
    env: Mapping[str, str] | None = None,
    meanwhile: Callable[[], object] = lambda: None,
    host: Host = yes,
) -> Run:
    """Start it, let `meanwhile` happen, and wait for its end. `host` is asked for each call, and says yes."""
    sdk = {"CLAUDE_CODE_ENTRYPOINT": "sdk-py"} if way == "sdk" else {}
    spoken = [words] if way == "-p" else []  # before `args`: `--allowedTools` takes all words that follow it
    began = time.monotonic()
    process = subprocess.Popen(
        [str(binary), *ARGS[way], *spoken, *args], cwd=home.project, text=True, bufsize=1,
        env={**environment(home, model), **sdk, **(env or {})},
        stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
    )  # fmt: skip
    watchdog = threading.Timer(PATIENCE_S, process.kill)
    watchdog.start()
    try:
        assert process.stdin is not None
        assert process.stdout is not None
        streams = "stream-json" in ARGS[way]
        if way == "sdk":
            _tell(process, type="control_request", request_id="1", request={"subtype": "initialize", "hooks": {}})
        if streams:
            _tell(process, type="user", message={"role": "user", "content": words})
        elif way == "piped":
            process.stdin.write(words)
        if way != "sdk":
            process.stdin.close()
        meanwhile()
        said, asked = _follow(process, host) if streams else (process.stdout.read().strip(), 0)
        code = process.wait()
    finally:
        watchdog.cancel()
        process.kill()
        process.wait()
        for pipe in (process.stdin, process.stdout):
            if pipe is not None:
                pipe.close()
    return Run((home.project / "marker").exists(), code, said, asked, time.monotonic() - began)


def _follow(process: subprocess.Popen[str], host: Host) -> tuple[str, int]:
    assert process.stdin is not None
    assert process.stdout is not None
    said, asked = "", 0
    for line in process.stdout:
        told = json.loads(line)
        if told["type"] == "control_request":
            asked += 1
            decided = host(told["request"]["tool_name"], told["request"]["input"])
            response = {"subtype": "success", "request_id": told["request_id"], "response": decided}
            _tell(process, type="control_response", response=response)
        elif told["type"] == "result":
            said = str(told["result"])
            process.stdin.close()
    return said, asked


def _tell(process: subprocess.Popen[str], **message: Any) -> None:
    assert process.stdin is not None
    process.stdin.write(json.dumps(message) + "\n")
    process.stdin.flush()
