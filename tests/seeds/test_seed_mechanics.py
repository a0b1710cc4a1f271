"""Seed 001, detect, correlate and deliver: one test for each row."""

from __future__ import annotations

import os
from contextlib import ExitStack
from typing import TYPE_CHECKING

from seed_agent import Agent

from kit.poll import until
from kit.terminal import Tmux

if TYPE_CHECKING:
    from pathlib import Path

    from kit.yourcall import Yourcall

SHELL = ["sh", "-c", "while :; do sleep 600; done"]


def test_permission_request_is_a_hard_block(agent: Agent) -> None:
    agent.asks("Bash", command="ls")
    assert (agent.prompt()["kind"], agent.session()["state"]) == ("permission", "waiting")


def test_user_prompt_submit_resolves_the_ready_block(agent: Agent) -> None:
    agent.tells("SessionStart", source="startup")
    agent.tells("Stop", last_assistant_message="Done.", stop_hook_active=False)
    agent.prompt("ready")
    agent.is_("busy")
    agent.tells("UserPromptSubmit", prompt="Go on.")
    until(lambda: not agent.open(), show=agent.open)
    assert agent.session()["state"] == "working"


def test_events_are_tied_to_session_folder_and_transcript(agent: Agent) -> None:
    agent.asks("Bash", command="ls")
    prompt = agent.prompt()
    assert (prompt["session_id"], prompt["cwd"]) == (agent.session_id, str(agent.project))


def test_a_session_is_tied_to_its_tmux_pane(tmp_path: Path, daemon: Yourcall) -> None:
    with ExitStack() as stack:
        tmux = stack.enter_context(Tmux())
        pane = tmux.start(SHELL, cwd=tmp_path, env={"PATH": os.environ["PATH"]})
        agent = stack.enter_context(Agent(tmp_path, daemon, pane=pane))
        agent.asks("Bash", command="ls")
        agent.prompt()
        tied = [(link["kind"], link["target"]) for link in agent.session()["links"]]
        assert ("tmux", pane.id) in tied


def test_the_permission_mode_of_the_session_is_known(agent: Agent) -> None:
    agent.mode = "acceptEdits"
    agent.asks("Bash", command="ls")
    assert agent.prompt()["permission_mode"] == "acceptEdits"


def test_the_transcript_is_the_ground_truth(agent: Agent) -> None:
    """It went past the request: whatever the hooks said, nothing waits any more."""
    held = agent.asks("Bash", command="ls")
    prompt = agent.prompt()
    agent.goes_on(held, source="user_temporary")
    until(lambda: agent.yc.show(prompt["id"])["state"] == "desk", show=lambda: agent.yc.show(prompt["id"]))


def test_a_subagent_that_stops_asks_nothing(agent: Agent) -> None:
    agent.tells("SessionStart", source="startup")
    agent.tells("SubagentStop", stop_hook_active=False)
    agent.session()
    assert agent.open() == []


def test_words_reach_the_pane_of_their_session(tmp_path: Path, daemon: Yourcall) -> None:
    """Two shells that wait: what is said to one is typed there, and nowhere else."""
    env = {"PATH": os.environ["PATH"], "PS1": "ready> ", "TERM": "xterm-256color"}
    with Tmux() as tmux:
        panes = [tmux.start(["bash", "--norc", "-i"], cwd=tmp_path, env=env) for _ in range(2)]
        known = [
            daemon.http("POST", "/api/panes", {"server": str(tmux.socket), "pane": pane.id, "agent": "generic"})[1]
            for pane in panes
        ]

        def ready() -> list[str]:
            return [
                p["id"] for p in daemon.waiting() if p["session_id"] == known[1]["id"] and p["kind"] == "ready"
            ]

        (prompt,) = until(ready, what="the second shell to be ready")
        assert daemon.run("answer", prompt, "--text", "echo $((6 * 7)) > said").code == 0
        until(lambda: (tmp_path / "said").exists() and (tmp_path / "said").read_text() == "42\n")
        assert panes[0].screen().strip() == "ready>"
