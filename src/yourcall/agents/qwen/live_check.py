"""How Qwen Code is proved in a sandbox."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence

from yourcall.agents.live_spec import LiveCheck, Place
from yourcall.agents.model_turns import Block, tool

_SETTINGS = {
    "security": {"auth": {"selectedType": "openai"}},
    "tools": {"approvalMode": "default"},  # by itself a model decides what is asked
    "general": {"enableAutoUpdate": False, "disableAutoUpdate": True},
    "privacy": {"usageStatisticsEnabled": False},
    "telemetry": {"enabled": False},
    "ui": {"hideTips": True, "enableFollowupSuggestions": False},
}


def _files(_place: Place) -> Mapping[str, str]:
    return {".qwen/settings.json": json.dumps(_SETTINGS)}


def _environment(place: Place) -> Mapping[str, str]:
    return {
        "OPENAI_API_KEY": "dummy",
        "OPENAI_BASE_URL": place.model,
        "OPENAI_MODEL": "scripted",
        "NO_UPDATE_NOTIFIER": "1",
    }


def _question(text: str, labels: Sequence[str]) -> Block:
    options = [{"label": label, "description": f"About {label}"} for label in labels]
    asked = {"question": text, "header": "Pick", "options": options, "multiSelect": False}
    return tool("ask_user_question", questions=[asked])


CHECKS = (
    LiveCheck(
        "qwen",
        "chat",
        _files,
        _environment,
        ready="Type your message",
        command=lambda command: tool(
            "run_shell_command", command=command, description="Do it", is_background=False
        ),
        question=_question,
        plan=lambda plan: ((tool("exit_plan_mode", plan=plan),),),
        planning=("--approval-mode", "plan"),
    ),
)
