"""Two hundred commands as Claude asks for them, each with the daemon's own verdict; for comparing front ends.

The rule it keeps: the verdict is asked of `agents/assess.py`, and of nothing that a front end shows.
"""

from __future__ import annotations

import hashlib
import json
import sys
from pathlib import Path

import msgspec
from msgspec import Struct

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "rules"))

from dangerous_commands import DANGEROUS
from shell_table import TABLE

from yourcall.agents.assess import assessed
from yourcall.agents.claude import requests
from yourcall.agents.claude.wire import HookPayload
from yourcall.core.safety import confirmation
from yourcall.model.prompts import Prompt, Risk, Tool

COUNT = 200

_SUGGESTION = {
    "type": "addRules",
    "rules": [{"toolName": "Bash", "ruleContent": "x:*"}],
    "behavior": "allow",
    "destination": "localSettings",
}


class Case(Struct, frozen=True):
    """One command. `risk` is the verdict; `confirm`: by option, why a yes needs a confirmation."""

    prompt: Prompt
    body: bytes
    risk: Risk
    confirm: dict[str, str]

    @property
    def warning(self) -> str:
        return self.risk.reason if self.risk.level != "low" else ""


class Stored:
    """The bodies as the store would give them."""

    last_seq = 0

    def __init__(self, cases: list[Case]) -> None:
        self._bodies = {case.prompt.request: case.body for case in cases}

    def body(self, id: str, /) -> bytes | None:
        return self._bodies.get(id)

    def body_size(self, id: str, /) -> int:
        return len(self._bodies.get(id, b""))


def cases() -> list[Case]:
    tabled = [command for commands in TABLE.values() for command in commands]
    step = len(tabled) // (COUNT - len(DANGEROUS)) or 1
    commands = list(dict.fromkeys([*DANGEROUS, *tabled[::step], *tabled]))[:COUNT]
    return [_case(number, command) for number, command in enumerate(commands)]


def _case(number: int, command: str) -> Case:
    fields: dict[str, object] = {"command": command}
    sent = {
        "session_id": "s",
        "tool_name": "Bash",
        "tool_input": fields,
        "permission_suggestions": [_SUGGESTION],
    }
    body = json.dumps(sent).encode()
    kind, questions = requests.questions(msgspec.json.decode(body, type=HookPayload), fields)
    prompt = Prompt(
        f"p{number}", kind, "claude", "s", "/p", requests.title("Bash", fields), 1.0,
        body=requests.body("Bash", fields), tool=Tool("Bash"), questions=questions, answerable=True,
        request=hashlib.sha256(body).hexdigest(),
    )  # fmt: skip
    risk = assessed(prompt, body).risk
    options = [option for question in questions for option in question.options]
    return Case(prompt, body, risk, {o.id: why for o in options if (why := confirmation(o, risk))})
