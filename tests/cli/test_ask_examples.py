"""The examples run: each is started as a person would start it, and does what its first line says."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from scripted_claude import ScriptedClaude

from kit.yourcall import Yourcall

EXAMPLES = Path(__file__).parents[2] / "examples"
# Runs with the real SDK only, which is no dependency of ours; its callback has its own test.
NOT_RUN = {"agent_sdk.py"}


@pytest.fixture(scope="module")
def desk(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Yourcall]:
    """One daemon for all of them; each leaves nothing open behind."""
    with Yourcall(tmp_path_factory.mktemp("ask")) as running:
        yield running


def start(yc: Yourcall, name: str, *words: str) -> subprocess.Popen[str]:
    program = [str(EXAMPLES / name)] if name.endswith(".sh") else [sys.executable, str(EXAMPLES / name)]
    return subprocess.Popen(
        [*program, *words],
        env={**yc.env, "PYTHONUNBUFFERED": "1"},
        cwd=yc.home,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )


def told(process: subprocess.Popen[str], typed: str | None = None) -> tuple[int, str]:
    try:
        out, _ = process.communicate(typed, timeout=40)
    finally:
        process.kill()
    return process.returncode, out


def test_every_example_is_named_and_can_be_read() -> None:
    names = {file.name for file in EXAMPLES.iterdir() if file.suffix in (".py", ".sh")}
    listed = (EXAMPLES / "README.md").read_text("utf-8")
    assert all(f"`{name}`" in listed for name in names)
    tests = Path(__file__).read_text("utf-8")
    assert all(f'"{name}"' in tests for name in names), "an example that no test runs"
    for name in names:
        if name.endswith(".py"):
            compile((EXAMPLES / name).read_text("utf-8"), name, "exec")
    assert os.access(EXAMPLES / "deploy.sh", os.X_OK)


@pytest.mark.parametrize(("answer", "does"), [("yes", "deploying"), ("no", "not deploying")])
def test_deploy(desk: Yourcall, answer: str, does: str) -> None:
    script = start(desk, "deploy.sh")
    prompt = desk.wait_prompt()
    desk.run("answer", prompt["id"], answer)
    assert told(script) == (0, f"{answer}\n{does}\n")


def test_deploy_without_a_daemon_does_not_deploy(desk: Yourcall) -> None:
    desk.stop()
    assert told(start(desk, "deploy.sh")) == (0, "not deploying\n")
    desk.start()


def test_migrate(desk: Yourcall) -> None:
    program = start(desk, "migrate.py")
    prompt = desk.wait_prompt()
    assert "orders table" in prompt["questions"][0]["options"][0]["description"]
    desk.run("answer", prompt["id"], "Tonight")
    assert told(program) == (0, "cli says: tonight\n")
    assert told(start(desk, "migrate.py", "0.5")) == (0, "nobody answered: tonight\n")
    assert desk.waiting() == []


def test_triage(yc: Yourcall, claude: ScriptedClaude) -> None:
    harmless = yc.run("ask", "Deploy?", "-o", "yes").out.strip()
    secret = claude.asks("Write", file_path="/p/.env", content="KEY=1")
    yc.wait_prompt(2)
    program = start(yc, "triage.py")
    decided = secret.answer()
    assert decided is not None
    assert decided["hookSpecificOutput"]["decision"]["behavior"] == "deny"
    assert told(program)[0] == 0
    assert yc.show(harmless)["state"] == "open"


def test_many_questions(desk: Yourcall) -> None:
    program = start(desk, "many_questions.py")
    desk.wait_prompt(2)
    for prompt in desk.prompts():
        words = ["--text", "main"] if prompt["title"] == "Which branch?" else ["us"]
        assert desk.run("answer", prompt["id"], *words).code == 0
    assert told(program) == (0, "main goes to us\n")


def test_follow(yc: Yourcall, claude: ScriptedClaude) -> None:
    held = claude.asks("Bash", command="touch marker")
    yc.wait_prompt()
    token = yc.run("devices", "add", "follower", "--json").json["token"]
    url = yc.url.replace("http", "ws") + "/api/rpc"
    program = start(yc, "follow.py", url, token, claude.session_id)
    try:
        assert program.stdin is not None
        assert program.stdout is not None
        assert program.stdout.readline() == "bash_command: touch marker\n"
        program.stdin.write("1\n")
        program.stdin.flush()
        decided = held.answer()
        assert decided is not None
        assert decided["hookSpecificOutput"]["decision"]["behavior"] == "allow"
        claude.goes_on(held)
        lines = iter(program.stdout.readline, "")
        assert any(line.endswith("answered\n") for line in lines)
    finally:
        program.kill()
        program.communicate(timeout=10)
