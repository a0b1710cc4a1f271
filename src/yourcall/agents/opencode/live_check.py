"""How opencode and Kilo are proved in a sandbox."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

from yourcall.agents.live_spec import LiveCheck, Place
from yourcall.agents.model_turns import Block, tool
from yourcall.agents.opencode.app import APPS, App

NOWHERE = "http://127.0.0.1:9"  # nobody listens on this port
PACKAGES = {"opencode": "@opencode-ai/plugin", "kilo": "@kilocode/plugin"}
# Each of these would look for models, plugins or a newer version of itself elsewhere.
_OFF = ("MODELS_FETCH", "AUTOUPDATE", "LSP_DOWNLOAD", "DEFAULT_PLUGINS", "SHARE", "SESSION_INGEST", "PRESENCE")


def _files(app: App, place: Place) -> Mapping[str, str]:
    """With a plugin the program fetches a package of its own at its first start; this is how it stands after
    that."""
    provider: dict[str, Any] = {
        "npm": "@ai-sdk/openai-compatible",
        "name": "scripted",
        "options": {"baseURL": place.model, "apiKey": "dummy"},
        "models": {"scripted": {"name": "scripted", "limit": {"context": 100_000, "output": 10_000}}},
    }
    config = {
        "model": "scripted/scripted",
        "small_model": "scripted/scripted",
        "provider": {"scripted": provider},
        "permission": {"bash": "ask", "edit": "ask"},
        "autoupdate": False,
        "share": "disabled",
        "snapshot": False,
    }
    wanted = {PACKAGES[app.name]: ".".join(map(str, place.version or ()))}
    lock = {"name": app.name, "lockfileVersion": 3, "requires": True, "packages": {"": {"dependencies": wanted}}}
    folder = f".config/{app.folder}"
    return {
        f"{folder}/{app.config}": json.dumps(config),
        f"{folder}/node_modules/.keep": "",
        f"{folder}/package.json": json.dumps({"dependencies": wanted}),
        f"{folder}/package-lock.json": json.dumps(lock),
    }


def _environment(app: App) -> Mapping[str, str]:
    quiet = {f"{app.name.upper()}_DISABLE_{what}": "1" for what in _OFF}
    elsewhere = {f"KILO_{what}_URL": NOWHERE for what in ("API", "MODELS", "EVENT_SERVICE", "SESSION_INGEST")}
    return {**quiet, **elsewhere, "KILO_TELEMETRY_LEVEL": "off", "npm_config_registry": NOWHERE}


def _question(text: str, labels: Sequence[str]) -> Block:
    options = [{"label": label, "description": f"About {label}"} for label in labels]
    return tool("question", questions=[{"question": text, "header": "Pick", "options": options}])


def _check(app: App) -> LiveCheck:
    return LiveCheck(
        app.name,
        "chat",
        lambda place: _files(app, place),
        lambda place: _environment(app),
        ready=r"ctrl\+p|Ask anything",
        # Kilo asks for none that it takes for harmless.
        command=lambda command: tool("bash", command=f"python3 -c pass && {command}", description="Do it"),
        question=_question,
    )


CHECKS = tuple(map(_check, APPS))
