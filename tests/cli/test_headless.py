"""Which runs of Claude Code show no dialog, and that the hook holds nothing there unless the person wants it."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest

from kit.poll import PATIENCE_S, until
from kit.yourcall import Yourcall
from yourcall.hook.headless import caller, is_headless, wants_hold

STDIO = ["--permission-prompt-tool", "stdio"]


# As measured with 2.1.325: docs/reference/agents/claude-code.md, "Runs without a dialog".
@pytest.mark.parametrize(
    ("entrypoint", "attended", "words", "on_terminal", "headless"),
    [
        ("cli", "1", [], True, False),
        ("cli", "1", ["-cp", "go"], True, False),
        ("cli", "0", [], True, False),  # in the background: its dialog waits
        ("cli", "", [], True, False),
        ("cli", "", ["-p", "go"], True, True),  # older: what a shell of a session starts inherits `cli`
        ("cli", "", ["--", "-p"], True, False),  # a prompt that reads like an option
        ("sdk-cli", "0", ["-p", "go"], False, True),
        ("sdk-cli", "0", ["--print"], True, True),
        ("sdk-cli", "0", [], False, True),  # `echo go | claude`
        ("sdk-py", "0", STDIO, False, True),
        ("sdk-ts", "0", ["-p", *STDIO], False, True),
        ("sdk-py", "1", [], True, False),  # in a terminal, started by something that an SDK started
        ("claude-vscode", "1", STDIO, False, False),  # its dialog is in the editor
        ("claude-vscode", "1", ["--permission-prompt-tool=stdio"], False, False),
        ("claude-vscode", "1", ["-p", "go"], False, True),
        ("claude-vscode", "0", ["-p", "go"], False, True),
        ("something-new", "", [], False, True),
        ("", "", [], False, True),
        ("", "", [], True, False),
    ],
)
def test_what_claude_tells_its_hooks(
    entrypoint: str, attended: str, words: list[str], on_terminal: bool, headless: bool
) -> None:
    told = {"CLAUDE_CODE_ENTRYPOINT": entrypoint, "CLAUDE_CODE_SESSION_ATTENDED": attended}
    environ = {name: value for name, value in told.items() if value}
    assert is_headless(environ, ["/usr/bin/claude", *words], on_terminal) == headless


def test_nothing_is_known_of_a_process_that_is_gone() -> None:
    gone = subprocess.Popen([sys.executable, "-c", ""])
    gone.wait()
    assert caller({"CLAUDE_PID": str(gone.pid)}) == ([], False)
    assert is_headless({"CLAUDE_CODE_ENTRYPOINT": "sdk-cli"}, [], on_terminal=False)


def test_shells_between_claude_and_the_hook_are_passed_over(tmp_path: Path) -> None:
    """2.1.197 does not tell its process; the first parent that is no shell is Claude."""
    script = "import os, sys; from yourcall.hook.headless import caller; print(caller({})[0][-1])"
    inner = f"{sys.executable} -c '{script}'; true"
    outer = [
        sys.executable,
        "-c",
        f"import subprocess; subprocess.run(['/bin/sh', '-c', {inner!r}])",
        "claude-was-here",
    ]
    assert subprocess.run(outer, capture_output=True, text=True, check=True).stdout.strip() == "claude-was-here"


@pytest.mark.parametrize(
    ("text", "hold"),
    [
        ('[claude]\nheadless = "hold"\n', True),
        ('[claude]\nheadless = "off"\n', False),
        ('headless = "hold"\n', False),
        ('# headless = "hold"\n[claude]\n', False),
        ('claude = "headless"\n', False),
        ('[claude]\nheadless = ["hold"\n', False),
        ('[claude]\nheadless = "hold"\n\xff', False),
    ],
)
def test_only_the_setting_itself_lets_a_request_be_held(tmp_path: Path, text: str, hold: bool) -> None:
    (tmp_path / "config.toml").write_bytes(text.encode("latin-1"))
    assert wants_hold(str(tmp_path)) == hold
    assert not wants_hold(str(tmp_path / "elsewhere"))


class PrintRun:
    """A `claude -p`, as far as its hooks can tell: its process, its environment, its calls."""

    def __init__(self, yc: Yourcall, folder: Path) -> None:
        self.yc, self.folder = yc, folder
        self.process = subprocess.Popen([sys.executable, "-c", "input()", "-p"], stdin=subprocess.PIPE)
        self.hooks: list[subprocess.Popen[bytes]] = []

    def calls(self, event: str, **more: Any) -> subprocess.Popen[bytes]:
        payload = {
            "session_id": "s1", "transcript_path": str(self.folder / "projects" / "p" / "s1.jsonl"),
            "cwd": str(self.folder), "permission_mode": "default", "tool_name": "Bash", "tool_use_id": "toolu_1",
            "tool_input": {"command": "touch marker"}, **more,
        }  # fmt: skip
        hook = subprocess.Popen(
            [str(self.yc.home / "hook"), "claude", event], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
            env={
                "PATH": os.defpath, "CLAUDE_PID": str(self.process.pid),
                "CLAUDE_CODE_ENTRYPOINT": "sdk-cli", "CLAUDE_CODE_SESSION_ATTENDED": "0",
            },
        )  # fmt: skip
        assert hook.stdin is not None
        with suppress(BrokenPipeError):  # a hook that has nothing to do leaves without reading
            hook.stdin.write(json.dumps(payload).encode())
            hook.stdin.close()
        hook.stdin = None
        self.hooks.append(hook)
        return hook

    def says(self, event: str, **more: Any) -> str:
        return self.calls(event, **more).communicate(timeout=PATIENCE_S)[0].decode()

    def close(self) -> None:
        for process in (self.process, *self.hooks):
            process.kill()
            process.communicate()


@pytest.fixture
def yc(tmp_path: Path) -> Iterator[Yourcall]:
    with Yourcall(tmp_path) as running:
        yield running


@pytest.fixture
def run(yc: Yourcall, tmp_path: Path) -> Iterator[PrintRun]:
    started = PrintRun(yc, tmp_path)
    yield started
    started.close()


HOLD = '[claude]\nheadless = "hold"\n'
FORM: dict[str, Any] = {
    "mcp_server_name": "m",
    "message": "Name?",
    "requested_schema": {"type": "object", "properties": {}},
}


def test_nothing_is_held_or_asked_and_nobody_hears_of_it(yc: Yourcall, run: PrintRun) -> None:
    assert run.says("PermissionRequest") == ""
    assert run.says("Elicitation", **FORM) == ""
    assert run.says("PreToolUse") == ""
    assert yc.waiting() == []


def test_such_a_run_is_listed_and_the_end_of_its_turn_is_not_told(yc: Yourcall, run: PrintRun) -> None:
    """Claude waits at its end for a Stop hook that still runs, so there is none that takes its time."""
    assert run.says("Stop", last_assistant_message="Done.") == ""
    assert run.says("SessionStart", source="startup") == ""
    until(lambda: yc.http("GET", "/api/sessions")[1], what="the run to be listed")
    assert yc.waiting() == []
    assert run.says("SessionEnd", reason="other") == ""
    until(lambda: "SessionEnded" in yc.facts(), what="its end to be told")


def test_a_session_of_our_own_is_asked_through_its_pipes(yc: Yourcall, run: PrintRun) -> None:
    """`--ask` makes Claude ask its host there, which is yourcall."""
    done = subprocess.run(
        [str(yc.home / "hook"), "claude", "PreToolUse"], input=b"{}", capture_output=True, check=True,
        env={"PATH": os.defpath, "CLAUDE_PID": str(run.process.pid), "YOURCALL_OWNED": "1"},
    )  # fmt: skip
    assert json.loads(done.stdout)["hookSpecificOutput"]["permissionDecision"] == "ask"


def test_rules_answer_at_once_and_nobody_else_is_asked(yc: Yourcall, run: PrintRun) -> None:
    rules = '[no-rm]\ndo = "deny"\ncommand = "rm"\n\n[reading]\ndo = "allow"\neffect = "read"\n'
    (yc.home / "rules.toml").write_text(rules)
    allowed = json.loads(run.says("PermissionRequest", tool_input={"command": "echo hi"}))
    assert allowed["hookSpecificOutput"]["decision"]["behavior"] == "allow"
    denied = json.loads(run.says("PermissionRequest", tool_input={"command": "rm -r x"}))
    assert denied["hookSpecificOutput"]["decision"]["behavior"] == "deny"
    assert run.says("PermissionRequest", tool_input={"command": "touch x"}) == ""
    assert run.says("PermissionRequest", tool_input={"command": "$x"}) == "", "a deny may be about it"
    assert [prompt["state"] for prompt in yc.prompts()] == ["sent", "sent"], "those that a rule answered"


def test_with_the_setting_a_request_waits_for_its_answer(yc: Yourcall, run: PrintRun) -> None:
    yc.configure(HOLD)
    assert run.says("PreToolUse") == "", "Claude would take `ask` for a no, and make no request of it"
    held = run.calls("PermissionRequest")
    prompt = yc.wait_prompt()
    assert prompt["held"]
    assert yc.run("answer", prompt["id"], "allow", "--no-wait").code in (0, 6)
    answer = json.loads(held.communicate(timeout=PATIENCE_S)[0])
    assert answer["hookSpecificOutput"]["decision"]["behavior"] == "allow"


@pytest.mark.parametrize("state", ["down", "hung"])
def test_with_the_setting_nothing_waits_for_a_yourcall_that_is_not_there(
    yc: Yourcall, run: PrintRun, state: str
) -> None:
    yc.configure(HOLD)
    if state == "hung":
        yc.signal(signal.SIGSTOP)
    else:
        yc.stop()
    assert run.says("PermissionRequest") == ""


@pytest.mark.parametrize("end", ["killed", "stopped", "hung"])
def test_a_held_request_is_let_go_when_yourcall_goes_away(yc: Yourcall, run: PrintRun, end: str) -> None:
    yc.configure(HOLD)
    held = run.calls("PermissionRequest")
    yc.wait_prompt()
    if end == "killed":
        yc.kill()
    elif end == "stopped":
        yc.stop()
    else:
        yc.signal(signal.SIGSTOP)
    assert held.communicate(timeout=PATIENCE_S)[0] == b""


def test_a_held_request_is_held_for_long(yc: Yourcall, run: PrintRun) -> None:
    """The look whether yourcall is awake, every five seconds, ends nothing while it is."""
    yc.configure(HOLD)
    held = run.calls("PermissionRequest")
    prompt = yc.wait_prompt()
    began = time.monotonic()
    until(lambda: time.monotonic() > began + 6.5 or held.poll() is not None, what="two looks")
    assert held.poll() is None
    assert yc.run("answer", prompt["id"], "deny", "--no-wait").code in (0, 6)
    answer = json.loads(held.communicate(timeout=PATIENCE_S)[0])
    assert answer["hookSpecificOutput"]["decision"]["behavior"] == "deny"
