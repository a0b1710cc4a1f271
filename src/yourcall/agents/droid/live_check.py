"""How droid is proved in a sandbox: air-gapped, with a model of the person's own."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence

from yourcall.agents.live_spec import LiveCheck, Place
from yourcall.agents.model_turns import Block, tool


def _files(place: Place, *, trusted: bool) -> Mapping[str, str]:
    model = {
        "model": "scripted",
        "displayName": "Scripted",
        "baseUrl": place.model,
        "apiKey": "dummy",
        "provider": "generic-chat-completion-api",
        "maxOutputTokens": 4000,
    }
    settings = {"customModels": [model], "model": "custom:scripted", "logoAnimation": "off"}
    known = {"trustedFolders": {place.project: {"trustedAt": "2026-01-01T00:00:00.000Z"}}} if trusted else {}
    return {".factory/settings.json": json.dumps({**settings, **known})}


def _environment(_place: Place) -> Mapping[str, str]:
    return {
        "FACTORY_AIRGAP_ENABLED": "true",
        "FACTORY_API_KEY": "fk-dummy",
        "FACTORY_DROID_AUTO_UPDATE_ENABLED": "false",
    }


def _command(command: str) -> Block:
    return tool(
        "Execute",
        command=command,
        summary="Run the command now",
        timeout=30,
        riskLevelReason="It changes a file.",
        riskLevel="medium",
    )


def _question(text: str, labels: Sequence[str]) -> Block:
    options = "\n".join(f"[option] {label}" for label in labels)
    return tool("AskUser", questionnaire=f"1. [question] {text}\n[topic] Pick\n{options}")


CHECKS = (
    LiveCheck(
        "droid",
        "chat",
        lambda place: _files(place, trusted=True),
        _environment,
        ready=r"\? for help",
        command=_command,
        question=_question,
        plan=lambda plan: ((tool("ExitSpecMode", title="Health", plan=plan),),),
        untrusted=lambda place: _files(place, trusted=False),
        planning=("--use-spec",),
    ),
)
