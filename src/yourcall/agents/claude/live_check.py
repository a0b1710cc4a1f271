"""How Claude Code is proved in a sandbox."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from typing import Any

from yourcall.agents.live_spec import LiveCheck, Place, Turns
from yourcall.agents.model_turns import Block, either, tool

KEY = "sk-ant-dummy"


def plan_file(body: dict[str, Any]) -> str:
    """The file that Claude Code, in plan mode, tells the model to write its plan to."""
    return re.findall(r"(/[^\s\"\\`']+/plans/[\w.-]+\.md)", json.dumps(body))[-1]


def _state(place: Place, *, trusted: bool) -> Mapping[str, str]:
    project: dict[str, Any] = {
        "hasTrustDialogAccepted": True,
        "hasCompletedProjectOnboarding": True,
        "allowedTools": [],
    }
    state: dict[str, Any] = {
        "hasCompletedOnboarding": True,
        "lastOnboardingVersion": ".".join(map(str, place.version or (2, 1, 0))),
        "numStartups": 5,
        "theme": "dark",
        "customApiKeyResponses": {"approved": [KEY[-20:]], "rejected": []},
        "projects": {place.project: project} if trusted else {},
        "mcpServers": {"demo": {"command": place.server[0], "args": place.server[1:]}},
    }
    return {".claude.json": json.dumps(state)}


def _environment(place: Place) -> Mapping[str, str]:
    return {
        "ANTHROPIC_BASE_URL": place.model,
        "ANTHROPIC_API_KEY": KEY,
        "CLAUDE_CODE_TMPDIR": place.temporary,
        "DISABLE_TELEMETRY": "1",
        "DISABLE_AUTOUPDATER": "1",
        "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1",
    }


def _question(text: str, labels: Sequence[str]) -> Block:
    options = [{"label": label, "description": f"About {label}"} for label in labels]
    return tool(
        "AskUserQuestion",
        questions=[{"question": text, "header": "Pick", "options": options, "multiSelect": False}],
    )


def _plan(plan: str) -> Turns:
    """Written to a file first; older versions know no such file."""
    write = either(tool("Write", file_path=_plan_file, content=plan), tool("Glob", pattern="*.none"))
    return (write,), (tool("ExitPlanMode", plan=plan),)


def _plan_file(body: dict[str, Any]) -> str | None:
    try:
        return plan_file(body)
    except IndexError:
        return None


CHECKS = (
    LiveCheck(
        "claude",
        "messages",
        lambda place: _state(place, trusted=True),
        _environment,
        ready=r"❯\u00a0|(?m:^>\u00a0)",
        command=lambda command: tool("Bash", command=command, description="Do it"),
        question=_question,
        plan=_plan,
        form=((tool("mcp__demo__book_table"),),),
        untrusted=lambda place: _state(place, trusted=False),
        arguments=("--permission-mode", "default"),  # the newest begin in another one
        planning=("--permission-mode", "plan"),
    ),
)
