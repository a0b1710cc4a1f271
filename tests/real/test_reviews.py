"""Second opinions with the real CLIs: Codex about Claude's work, Claude about Codex's, and an agent over ACP."""

from __future__ import annotations

import json
import os
import shlex
import subprocess
from typing import TYPE_CHECKING, Any

import pytest
from acp_scene import on_stage

from kit import claude as claudes
from kit import responses_server, turns
from kit.claude import ClaudeHome
from kit.codex import CodexHome
from kit.model_server import ModelServer
from kit.poll import until
from kit.responses_server import ResponsesServer
from kit.yourcall import Yourcall

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

LIMIT = "LIMIT = 50\n"
LOWER = turns.tool("Bash", command="sed -i s/50/30/ prices.py", description="Lower the limit")


class Both(Yourcall):
    """One whose sessions find both agents, each with its own home and model."""

    def __init__(self, folder: Path, env: dict[str, str]) -> None:
        super().__init__(folder)
        self._given = env

    @property
    def env(self) -> dict[str, str]:
        return {**super().env, **self._given}


class Desk:
    def __init__(self, yourcall: Both, project: Path, claude: ModelServer, codex: ResponsesServer) -> None:
        self.yourcall, self.project, self.claude, self.codex = yourcall, project, claude, codex

    def start(self, agent: str, words: str) -> str:
        done = self.yourcall.run("run", "--headless", "--agent", agent, "--cwd", str(self.project), words)
        assert done.code == 0, done
        return done.out.strip()

    def rests(self, session: str) -> dict[str, Any]:
        def look() -> list[dict[str, Any]]:
            return [p for p in self.yourcall.waiting() if p["session_id"] == session and p["kind"] == "ready"]

        return until(look, what="the end of the turn", show=lambda: json.dumps(self.yourcall.waiting(), indent=1))[
            0
        ]

    def review(self, session: str, by: str, *words: str, code: int = 0) -> Any:
        done = self.yourcall.run("review", session, "--by", by, "--json", *words, timeout=200)
        assert done.code == code, done
        return done.json


@pytest.fixture
def desk(tmp_path: Path, fetched: Callable[..., Path]) -> Iterator[Desk]:
    claude, codex = fetched("claude"), fetched("codex")
    with ModelServer() as anthropic, ResponsesServer() as openai:
        claude_home, codex_home = ClaudeHome.make(tmp_path), CodexHome.make(tmp_path, openai)
        own = tmp_path / "bin"
        own.mkdir()
        for name, program in (("claude", claude), ("codex", codex)):
            (own / name).write_text(f'#!/bin/sh\nexec {shlex.quote(str(program))} "$@"\n')
            (own / name).chmod(0o755)
        env = {**codex_home.env, **claudes.environment(claude_home, anthropic), "SHELL": "/bin/bash"}
        env["PATH"] = f"{own}{os.pathsep}{os.environ.get('PATH', os.defpath)}"
        env["CODEX_HOME"] = str(codex_home.config)
        (claude_home.path / ".bash_profile").write_text(f'export PATH="{own}:$PATH"\n')
        env = {name: value for name, value in env.items() if not name.startswith("YOURCALL")}
        project = claude_home.project
        (project / "prices.py").write_text(LIMIT)
        for words in (
            ["init", "-q"],
            ["add", "."],
            ["-c", "user.name=a", "-c", "user.email=a@b", "commit", "-qm", "1"],
        ):
            subprocess.run(["git", *words], cwd=project, env={**env, "GIT_CONFIG_GLOBAL": "/dev/null"}, check=True)
        yourcall = Both(tmp_path, env)
        yourcall.home.mkdir(mode=0o700)
        (yourcall.home / "config.toml").write_text("[claude]\nuse_api_billing = true\n")
        try:
            with yourcall:
                yield Desk(yourcall, project, anthropic, openai)
        finally:
            codex_home.close()


def test_codex_about_claudes_work_and_back(desk: Desk) -> None:
    words = desk.claude.script(
        "work", [LOWER], [turns.text("The limit is 30 now.")], [turns.text("You are right.")]
    )
    session = desk.start("claude", words)
    assert desk.yourcall.run("answer", desk.yourcall.wait_prompt()["id"], "allow").code == 0
    desk.rests(session)
    before = (desk.project / "prices.py").read_text()
    assert before == "LIMIT = 30\n"
    # The reviewer reads, and tries to write: its own sandbox does not let it, and nobody is asked.
    desk.codex.script(
        "work",  # what the reviewed session was asked is quoted to the reviewer
        [responses_server.call("exec_command", cmd="cat prices.py")],
        [responses_server.call("exec_command", cmd="echo hacked > prices.py; echo hacked > made")],
        [responses_server.say("prices.py line 1: nobody has agreed to 30.")],
    )
    review = desk.review(session, "codex", "--text", "Is the limit right?")
    assert (review["state"], review["round"], review["reviewer"]) == ("done", 1, "codex")
    assert review["text"] == "prices.py line 1: nobody has agreed to 30."
    assert (desk.project / "prices.py").read_text() == before
    assert not (desk.project / "made").exists()
    asked = next(text for text in desk.codex.user_texts() if "Is the limit right?" in text)
    assert "Review of what Claude did in project." in asked
    assert "The limit is 30 now." in asked
    assert "-LIMIT = 50\n+LIMIT = 30" in asked
    assert desk.yourcall.prompts() == []

    status, sent = desk.yourcall.http("POST", f"/api/reviews/{review['id']}/send", {})
    assert status == 200, sent
    until(
        lambda: any("nobody has agreed" in str(request.body) for request in desk.claude.requests),
        what="it to be told",
    )
    told = str(desk.claude.requests[-1].body)
    assert "Codex reviewed this and says:" in told
    assert "> prices.py line 1: nobody has agreed to 30." in told
    (listed,) = desk.yourcall.http("GET", f"/api/sessions/{session}/reviews")[1]
    assert listed["sent_at"] > 0
    (same,) = desk.yourcall.http("GET", f"/api/sessions/{review['by_session']}/reviews")[1]
    assert same["id"] == review["id"]  # linked from both sides
    again = desk.yourcall.run("review", review["by_session"], "--by", "claude")
    assert again.code == 2
    assert "is a review itself" in again.err


def test_claude_about_codexs_work(desk: Desk) -> None:
    words = desk.codex.script("work", [responses_server.say("I would delete prices.py.")])
    session = desk.start("codex", words)
    desk.rests(session)
    desk.claude.script(
        "work",
        [turns.tool("Read", file_path=str(desk.project / "prices.py"))],
        [turns.tool("Bash", command="touch made", description="Try it")],
        [turns.tool("Write", file_path=str(desk.project / "made"), content="x")],
        [turns.text("Keep it: it is imported.")],
    )
    review = desk.review(session, "claude")
    assert (review["state"], review["text"]) == ("done", "Keep it: it is imported.")
    assert not (desk.project / "made").exists()
    assert desk.yourcall.prompts() == []
    tools: list[list[dict[str, str]]] = [request.body.get("tools") or [] for request in desk.claude.requests]
    offered = {tool["name"] for each in tools for tool in each}
    assert {"Read", "Grep"} & offered
    assert not {"Bash", "Write", "Edit", "NotebookEdit", "Task", "Agent"} & offered
    assert "I would delete prices.py." in str([request.body for request in desk.claude.requests])


def test_a_reviewer_that_fails_is_told(desk: Desk) -> None:
    words = desk.codex.script("work", [responses_server.say("Done.")])
    session = desk.start("codex", words)
    desk.rests(session)
    desk.claude.script("work", [turns.error(400, "invalid_request_error", "no")])
    review = desk.review(session, "claude", code=4)
    assert review["state"] == "failed"
    assert review["detail"]
    status, no = desk.yourcall.http("POST", f"/api/reviews/{review['id']}/send", {})
    assert (status, no["error"]) == (422, "There is no review to send.")


def test_an_agent_over_acp_reviews_in_its_plan_mode(tmp_path: Path, fetched: Callable[..., Path]) -> None:
    with on_stage("gemini-acp", tmp_path, fetched) as agent:
        session = agent.session(agent.script("work", [("speak", "It is done.")]))
        agent.ready()
        agent.script("work", [("write", "made.txt", "x")], [("run", "touch made")], [("speak", "It is not done.")])
        done = agent.yourcall.run("review", session, "--by", "gemini-acp", "--json", timeout=200)
        assert done.code == 0, done
        assert done.json["text"].endswith("It is not done.")
        assert not agent.made("made")
        assert not agent.made("made.txt")
        assert agent.yourcall.prompts() == []
