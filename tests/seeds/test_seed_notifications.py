"""Seed 000, what is pushed to a phone, and what a session looks like from afar: one test for each row."""

from __future__ import annotations

import os
from contextlib import ExitStack
from typing import TYPE_CHECKING

from seed_agent import Agent

from channels.services import NtfyService
from kit.poll import until
from kit.terminal import Tmux
from kit.yourcall import Yourcall

if TYPE_CHECKING:
    from pathlib import Path

IDLE_S = 60.0  # when Claude says that it is idle
ALTERNATE = r"printf '\033[?1049h\033[2J\033[HDo you want to proceed?'; exec sleep 600"


def test_idle_prompt_is_pushed_when_claude_says_so(tmp_path: Path) -> None:
    """The first notice of a session that is ready comes with Claude's own word, and no clock of ours delays it."""
    with NtfyService() as ntfy, Yourcall(tmp_path) as yc, Agent(tmp_path, yc) as agent:
        options = ("--set", f"server={ntfy.url}", "--set", "topic=seeds")
        assert yc.run("channels", "add", "ntfy", "--yes", *options).code == 0
        agent.tells("SessionStart", source="startup")
        agent.tells("Stop", last_assistant_message="Done with it.", stop_hook_active=False)
        ready = agent.prompt("ready")
        agent.is_("idle")
        agent.tells("Notification", notification_type="idle_prompt", message="Claude is waiting for your input")
        (told,) = until(lambda: ntfy.alerts, what="a notice")
        assert "Done with it." in str(told)
        assert ntfy.seen[-1].at - ready["opened_at"] < IDLE_S


def test_the_alternate_screen_of_a_session_is_shown(tmp_path: Path, daemon: Yourcall) -> None:
    """What `tmux capture-pane` was said to miss."""
    with ExitStack() as stack:
        tmux = stack.enter_context(Tmux())
        pane = tmux.start(["sh", "-c", ALTERNATE], cwd=tmp_path, env={"PATH": os.environ["PATH"]})
        until(lambda: pane.variable("alternate_on") == "1", what="the alternate screen")
        agent = stack.enter_context(Agent(tmp_path, daemon, pane=pane))
        agent.asks("Bash", command="ls")
        agent.prompt()
        path = f"/api/sessions/{agent.session_id}/screen"
        assert "Do you want to proceed?" in str(daemon.http("GET", path)[1])


def test_a_login_that_expired_is_a_problem_with_what_to_do(agent: Agent) -> None:
    agent.tells("SessionStart", source="startup")
    agent.tells("StopFailure", error="authentication_failed", last_assistant_message="API Error: 401 expired")
    problem = agent.prompt("problem")
    assert "login has expired" in problem["title"]
    assert "claude setup-token" in problem["body"]
    agent.tells("Notification", notification_type="auth_success", message="Login successful")
    until(lambda: not agent.open(), show=agent.open)
