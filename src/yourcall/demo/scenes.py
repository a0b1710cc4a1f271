"""The play: what the scripted agent is told, says and asks, scene by scene, and how it takes an answer.

Rule: only words. No command here is ever run and no file is ever opened; the folder does not exist.
"""

from __future__ import annotations

import json
from typing import Any, cast

from msgspec import Struct

PROJECT = "/demo/kite-shop"

# The tool by which the demo asks what an agent would ask on its screen only.
ASK = "DemoAsk"

# What the person has told the agent; and what they say after they stopped it.
TASK, GO_ON = "Ship version 2.1 of the kite shop.", "Go on with the next thing."


class Decision(Struct, frozen=True):
    """How a request was decided: `source` in Claude Code's words (hook, user_temporary, user_reject)."""

    allowed: bool
    source: str
    input: dict[str, Any] = {}
    message: str = ""
    stop: bool = False
    remembered: bool = False


class Scene(Struct, frozen=True):
    name: str
    says: str  # before it asks
    tool: str
    input: dict[str, Any]
    question: str
    choices: tuple[str, ...]  # of the agent's own dialog, keys 1, 2, …
    away: str  # the option that the hint shows for answering from elsewhere
    phone: dict[str, Any]  # what the demo's own phone answers, if nobody is there to do it
    ran: str
    refused: str
    suggestions: tuple[dict[str, Any], ...] = ()
    denies: tuple[int, ...] = (2,)  # which of the choices are a no


COMMAND = Scene(
    name="a command",
    says="I'll remove the old build, then make the release.",
    tool="Bash",
    input={"command": "rm -rf build/ && make release", "description": "Remove the old build, make the release"},
    question="Do you want to proceed?",
    choices=("Yes", "No, do it differently"),
    away="allow",
    phone={"option": "allow"},
    ran="The old build is gone, release 2.1 is made.",
    refused="Then I leave build/ alone and make the release beside it.",
    suggestions=(
        {
            "type": "addRules",
            "rules": [{"toolName": "Bash", "ruleContent": "make release"}],
            "behavior": "allow",
            "destination": "session",
        },
    ),
)

EDIT = Scene(
    name="a file edit",
    says="Few people reach free shipping; I'll lower the limit.",
    tool="Edit",
    input={
        "file_path": f"{PROJECT}/prices.py",
        "old_string": 'CURRENCY = "EUR"\nFREE_SHIPPING_FROM = 50\nGIFT_WRAP = 3',
        "new_string": 'CURRENCY = "EUR"\nFREE_SHIPPING_FROM = 5\nGIFT_WRAP = 3',
    },
    question="Do you want to make this edit to prices.py?",
    choices=("Yes", "No, do it differently"),
    away='deny --text "Use 30."',
    phone={"option": "deny", "text": "Use 30."},
    ran="Free shipping now starts at 5 euros.",
    refused="Understood, prices.py stays as it was.",
    suggestions=({"type": "setMode", "mode": "acceptEdits", "destination": "session"},),
)

QUESTION = Scene(
    name="a question",
    says="Now the front page, with the new kite on it.",
    tool="AskUserQuestion",
    input={
        "questions": [
            {
                "question": "Which colour shall the kite have?",
                "header": "Colour",
                "multiSelect": False,
                "options": [
                    {"label": "Sky blue", "description": "Calm, and easy to lose sight of."},
                    {"label": "Fire red", "description": "Seen from the other end of the beach."},
                    {"label": "Surprise me", "description": "I'll pick one, and you may complain."},
                ],
            }
        ]
    },
    question="Which colour shall the kite have?",
    choices=("Sky blue", "Fire red", "Surprise me"),
    away='"Fire red"',
    phone={"option": "Fire red"},
    ran="Drawing it:",
    refused="Then it stays as it is.",
    denies=(),
)

SCENES = (COMMAND, EDIT, QUESTION)


def by_key(scene: Scene, key: str) -> Decision | None:
    """What a key means in the agent's own dialog; None where it means nothing."""
    if key not in "123456789"[: len(scene.choices)] or not key:
        return None
    number = int(key)
    if number in scene.denies:
        return Decision(False, "user_reject")
    if scene is QUESTION or scene.tool == ASK:
        said = {**scene.input, "answers": {scene.question: scene.choices[number - 1]}}
        return Decision(True, "user_temporary", said)
    return Decision(True, "user_temporary", scene.input)


def by_hook(scene: Scene, output: bytes) -> Decision | None:
    """What a hook printed; None where it decided nothing, so that the dialog stays."""
    try:
        payload: Any = json.loads(output)["hookSpecificOutput"]["decision"]
        behavior = payload["behavior"]
    except (ValueError, KeyError, TypeError):
        return None
    if behavior == "deny":
        return Decision(
            False, "hook", message=str(payload.get("message", "")), stop=payload.get("interrupt") is True
        )
    given = payload.get("updatedInput")
    run = cast("dict[str, Any]", given) if isinstance(given, dict) else scene.input
    return Decision(True, "hook", run, remembered=bool(payload.get("updatedPermissions")))


def reaction(scene: Scene, decision: Decision) -> str:
    """What the agent says once it knows."""
    if decision.stop:
        return "Stopped. I wait for you."
    if not decision.allowed:
        return scene.refused + (f" You said: {decision.message}" if decision.message else "")
    if scene is QUESTION or scene.tool == ASK:
        answers = decision.input.get("answers")
        chosen = cast("dict[str, Any]", answers).values() if isinstance(answers, dict) else ()
        text = ", ".join(map(str, chosen))
        return scene.ran.replace("{answer}", text) if scene.tool == ASK else f"{scene.ran} {text.lower()}."
    wording = scene.ran
    if decision.input != scene.input:
        wording = "Done, with what you changed it to: " + json.dumps(decision.input, ensure_ascii=False)
    return wording + (" (And I won't ask for this again in here.)" if decision.remembered else "")
