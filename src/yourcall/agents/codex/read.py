"""What Codex's own record, the rollout, says about calls that are over.

Rule: a rollout never tells that something is asked; it tells what the model was told about a call,
by the call's id.
"""

from __future__ import annotations

import re

import msgspec
from msgspec import Raw, Struct, field

from yourcall.agents.codex.asks import TYPING
from yourcall.agents.codex.plan import answers_told
from yourcall.agents.codex.wire import decoded
from yourcall.agents.sightings import CallResult, CallSeen
from yourcall.core.identity import handed
from yourcall.events import CallSettled
from yourcall.model import Outcome, Prompt

# The whole of what the model is told; what a command printed has a head of its own and never looks like this.
REFUSED = re.compile(
    rb"\w+ failed: CreateProcess \{ message: \"Rejected\(\\\"rejected by user\\\"\)\" \}"
    rb"|patch rejected by user|write_stdin rejected: rejected by user"
)
# That head, which Codex itself writes.
RAN = re.compile(rb"Chunk ID: [0-9a-f]{1,16}\nWall time: |Exit code: \d+\nWall time: ")
STOPPED = re.compile(rb"aborted by user after [\d.]+s")


class Payload(Struct, frozen=True):
    type: str = ""
    call_id: str = ""
    output: Raw = field(default_factory=lambda: Raw(b"null"))


class Line(Struct, frozen=True):
    type: str = ""
    payload: Payload = Payload()


class Answers(Struct, frozen=True):
    answers: dict[str, object]


class Granted(Struct, frozen=True):
    network: Raw
    file_system: Raw


class Grant(Struct, frozen=True):
    permissions: Granted


def read_line(line: bytes) -> list[CallSeen | CallResult]:
    """The end of a call whose output says how a person answered: a question, a wish for permissions, a command."""
    if b'_call_output"' not in line:
        return []
    told = decoded(Line, line)
    text = decoded(str, told.payload.output) if told and told.type == "response_item" else None
    if told is None or text is None:
        return []
    outcome = _outcome(text.encode("utf-8", "replace"))
    if outcome is None:
        return []
    return [CallResult(told.payload.call_id, 0.0, outcome, "unknown", "", text)]


def _outcome(output: bytes) -> Outcome | None:
    if REFUSED.fullmatch(output):
        return "denied"
    if STOPPED.fullmatch(output):
        return "stopped"
    if RAN.match(output):
        return "allowed"
    if decoded(Answers, output) is not None:
        return "allowed"
    grant = decoded(Grant, output)
    if grant is None:
        return None
    given = (bytes(grant.permissions.network), bytes(grant.permissions.file_system))
    return "denied" if given == (b"null", b"null") else "allowed"


def settled(prompt: Prompt, result: CallResult, at: float) -> CallSettled | None:
    """What the output says became of this prompt."""
    if prompt.kind == "question":
        told = decoded(Answers, result.text.encode("utf-8", "replace"))
        if told is None:
            return None
        ours = prompt.answer is not None and handed(prompt) and _same(answers_told(prompt, prompt.answer), told)
        return CallSettled(at, prompt.id, "allowed", "held" if ours else "desk", "it was answered")
    name = prompt.tool.name if prompt.tool else ""
    if name == TYPING:
        words = {"allowed": "it was typed", "denied": "it was refused", "stopped": "the turn was stopped"}
        return CallSettled(at, prompt.id, result.outcome, "unknown", words.get(result.outcome, ""))
    if name != "request_permissions":
        refused = CallSettled(at, prompt.id, "denied", "unknown", "it was refused")
        return refused if result.outcome == "denied" else None
    words = "the permissions were granted" if result.outcome == "allowed" else "nothing was granted"
    return CallSettled(at, prompt.id, result.outcome, "unknown", words)


def _same(ours: bytes, told: Answers) -> bool:
    return msgspec.json.decode(ours, type=Answers) == told
