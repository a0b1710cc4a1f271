"""How Gemini CLI is proved in a sandbox."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from typing import Any

from yourcall.agents.live_spec import LiveCheck, Place, Turns
from yourcall.agents.model_turns import Block, either, tool

_SETTINGS = {
    "security": {"auth": {"selectedType": "gemini-api-key"}, "folderTrust": {"enabled": True}},
    "privacy": {"usageStatisticsEnabled": False},
    "general": {
        "enableAutoUpdate": False,
        "enableAutoUpdateNotification": False,
        "disableAutoUpdate": True,
        "disableUpdateNag": True,
    },
    "ui": {"theme": "Default"},
    "telemetry": {"enabled": False},
}


def plans_folder(body: dict[str, Any]) -> str:
    """The folder that Gemini CLI, in plan mode, tells the model to write its plan to."""
    return re.findall(r"(/[^\s`'\"<>\\]*/\.gemini/tmp/[^\s`'\"<>\\]*/plans)\b", json.dumps(body))[-1]


def _files(place: Place) -> Mapping[str, str]:
    return {**_untrusted(place), ".gemini/trustedFolders.json": json.dumps({place.project: "TRUST_FOLDER"})}


def _untrusted(_place: Place) -> Mapping[str, str]:
    return {".gemini/settings.json": json.dumps(_SETTINGS)}


def _environment(place: Place) -> Mapping[str, str]:
    return {"GEMINI_API_KEY": "dummy", "GOOGLE_GEMINI_BASE_URL": place.model}


def _question(text: str, labels: Sequence[str]) -> Block:
    options = [{"label": label, "description": f"About {label}"} for label in labels]
    asked = {"question": text, "header": "Pick", "type": "choice", "options": options, "multiSelect": False}
    return tool("ask_user", questions=[asked])


def _plan(plan: str) -> Turns:
    def path(body: dict[str, Any]) -> str | None:
        try:
            return plans_folder(body) + "/plan.md"
        except IndexError:
            return None

    write = either(tool("write_file", file_path=path, content=plan), tool("glob", pattern="*.none"))
    return (write,), (tool("exit_plan_mode", plan_path=path, plan_filename="plan.md"),)


CHECKS = (
    LiveCheck(
        "gemini",
        "generate",
        _files,
        _environment,
        ready="Type your message",
        command=lambda command: tool("run_shell_command", command=command, description="Do it"),
        question=_question,
        plan=_plan,
        untrusted=_untrusted,
        planning=("--approval-mode", "plan"),
    ),
)
