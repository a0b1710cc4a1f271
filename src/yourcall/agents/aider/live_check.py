"""How aider is proved in a sandbox."""

from __future__ import annotations

from collections.abc import Mapping

from yourcall.agents.live_spec import LiveCheck, Place
from yourcall.agents.model_turns import text


def _files(_place: Place) -> Mapping[str, str]:
    """With a list of prices it fetches none."""
    return {
        ".aider/caches/model_prices_and_context_window.json": "{}",
        ".gitconfig": "[user]\n  name = A Person\n  email = a.person@example.com\n",
    }


def _environment(place: Place) -> Mapping[str, str]:
    return {"OPENAI_API_BASE": place.model, "OPENAI_API_KEY": "dummy", "LITELLM_LOCAL_MODEL_COST_MAP": "True"}


_QUIET = (
    "--no-gitignore",
    "--no-check-update",
    "--analytics-disable",
    "--no-show-release-notes",
    "--no-show-model-warnings",
    "--no-auto-commits",
)

CHECKS = (
    LiveCheck(
        "aider",
        "chat",
        _files,
        _environment,
        ready=r"(?m)^(?:\w+)?>\s*\Z",
        command=lambda command: text(f"Run it:\n\n```bash\n{command}\n```\n"),
        arguments=("--model", "openai/scripted", "--edit-format", "diff", *_QUIET),
        refuse=("n", "Enter"),
        tools=False,
    ),
)
