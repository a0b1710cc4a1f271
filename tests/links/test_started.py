"""What may be started from afar: refused before any program runs."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import uvloop

from yourcall.agents.registry import AGENTS
from yourcall.agents.session_spec import StartOptions
from yourcall.core.state import State
from yourcall.links.stdio.sessions import Policy, StdioSessions
from yourcall.model.events import AnyEvent
from yourcall.model.prompts import Refused


class Teller:
    state = State()

    async def post(self, event: AnyEvent, bodies: dict[str, bytes] | None = None) -> Any:
        raise AssertionError(event)


@pytest.mark.parametrize("agent", ["claude", "codex"])
@pytest.mark.parametrize("allowed", [Policy(skip_permissions=True), Policy(permission_mode="bypassPermissions")])
def test_what_the_config_allows_one_agent_it_allows_no_other(tmp_path: Path, agent: str, allowed: Policy) -> None:
    mine, others = (Policy(), allowed) if agent == "claude" else (allowed, Policy())
    started = StdioSessions(Teller(), AGENTS, mine, {"codex": others})
    wish = StartOptions(str(tmp_path), "x", "bypassPermissions")
    refused = uvloop.run(started.start(agent, wish, remote=True))
    assert isinstance(refused, Refused)
    assert f"[{agent}] permission_mode" in refused.reason


def test_what_can_be_started_is_what_the_login_shell_finds(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name, value in {"HOME": str(tmp_path), "SHELL": "/bin/sh", "PATH": "/usr/bin:/bin"}.items():
        monkeypatch.setenv(name, value)
    (tmp_path / ".profile").write_text('PATH="$HOME/bin:/usr/bin:/bin"\n')
    (tmp_path / "bin").mkdir()
    for program in ("opencode", "codex"):
        (tmp_path / "bin" / program).write_text("#!/bin/sh\n")
        (tmp_path / "bin" / program).chmod(0o700)
    (tmp_path / "bin" / "kilo").write_text("not a program\n")
    started = StdioSessions(Teller(), AGENTS, Policy())
    assert uvloop.run(started.offers()) == ["codex", "opencode"]
    (tmp_path / ".profile").write_text("PATH=/usr/bin:/bin\n")
    assert uvloop.run(started.offers()) == []  # no restart is needed for a PATH that has changed
    (tmp_path / ".profile").write_text('PATH="$HOME/bin:/usr/bin:/bin"\n')
    refused = uvloop.run(started.start("gemini", StartOptions(str(tmp_path), "x"), remote=True))
    assert isinstance(refused, Refused)
    assert "Here it can start: codex, opencode." in refused.reason
