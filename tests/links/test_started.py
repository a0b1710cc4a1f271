"""What may be started from afar: refused before any program runs."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import pytest

from yourcall.agents.claude.agent import CLAUDE
from yourcall.agents.codex.agent import CODEX
from yourcall.agents.talk import Wish
from yourcall.core.state import State
from yourcall.events import AnyEvent
from yourcall.links.started import Policy, Started
from yourcall.model import Refused

AGENTS = {CLAUDE.name: CLAUDE, CODEX.name: CODEX}


class Teller:
    state = State()

    async def post(self, event: AnyEvent, bodies: dict[str, bytes] | None = None) -> Any:
        raise AssertionError(event)


@pytest.mark.parametrize("agent", ["claude", "codex"])
@pytest.mark.parametrize("allowed", [Policy(skip_permissions=True), Policy(permission_mode="bypassPermissions")])
def test_what_the_config_allows_one_agent_it_allows_no_other(tmp_path: Path, agent: str, allowed: Policy) -> None:
    mine, others = (Policy(), allowed) if agent == "claude" else (allowed, Policy())
    started = Started(Teller(), AGENTS.get, mine, {"codex": others})
    wish = Wish(str(tmp_path), "x", "bypassPermissions")
    refused = asyncio.run(started.start(agent, wish, remote=True))
    assert isinstance(refused, Refused)
    assert f"[{agent}] permission_mode" in refused.reason
