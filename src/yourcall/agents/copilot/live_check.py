"""How GitHub Copilot CLI is proved in a sandbox. The consent to our extension is given by a key, as a person
does."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence

from yourcall.agents.live_spec import LiveCheck, Place
from yourcall.agents.model_turns import Block, tool


def _files(place: Place) -> Mapping[str, str]:
    return _home(place, trusted=True)


def _home(place: Place, *, trusted: bool) -> Mapping[str, str]:
    known = {"firstLaunchAt": "2026-01-01T00:00:00.000Z", "appTipShown": True}
    server = {"type": "local", "command": place.server[0], "args": place.server[1:], "tools": ["*"]}
    return {
        ".copilot/config.json": json.dumps({**known, **({"trustedFolders": [place.project]} if trusted else {})}),
        ".copilot/settings.json": json.dumps({"banner": "never", "showTipsOnStartup": False, "autoUpdate": False}),
        ".copilot/mcp-config.json": json.dumps({"mcpServers": {"demo": server}}),
    }


def _environment(place: Place) -> Mapping[str, str]:
    return {
        "COPILOT_OFFLINE": "true",
        "COPILOT_AUTO_UPDATE": "false",
        "COPILOT_PROVIDER_BASE_URL": place.model,
        "COPILOT_PROVIDER_API_KEY": "dummy",
        "COPILOT_MODEL": "claude-sonnet-4.6",
    }


def _question(text: str, labels: Sequence[str]) -> Block:
    field = {"type": "string", "title": "Pick", "enum": list(labels)}
    schema = {"type": "object", "properties": {"pick": field}, "required": ["pick"]}
    return tool("ask_user", message=text, requestedSchema=schema)


CHECKS = (
    LiveCheck(
        "copilot",
        "chat",
        _files,
        _environment,
        ready=r"Manual Approval|\? for shortcuts|\? help",
        command=lambda command: tool("bash", command=command, description="Do it"),
        question=_question,
        plan=lambda plan: ((tool("exit_plan_mode", summary=plan),),),
        form=((tool("demo-book_table"),),),
        untrusted=lambda place: _home(place, trusted=False),
        planning_keys=("BTab",),
        first=(("wants elevated permissions", ("2",)),),
    ),
)
