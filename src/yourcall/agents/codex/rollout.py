"""What Codex's own record, the rollout, says about calls that are over.

Rule: a rollout never tells that something is asked; it tells which calls the model made, and what it was told
about each, by the call's id.
"""

from __future__ import annotations

import re

import msgspec
from msgspec import Raw, Struct, field

from yourcall.agents.codex import call_marks
from yourcall.agents.codex.reply import answers_told
from yourcall.agents.codex.requests import TYPING
from yourcall.agents.kit.wire import decoded, time_of
from yourcall.agents.sightings import CallResult, CallSeen
from yourcall.core.identity import handed
from yourcall.core.safety import chosen
from yourcall.model.events import CallSettled
from yourcall.model.prompts import Effect, Outcome, Prompt

# The whole of what the model is told; what a command printed has a head of its own and never looks like this.
REFUSED = re.compile(
    rb"\w+ failed: CreateProcess \{ message: \"Rejected\(\\\"rejected by user\\\"\)\" \}"
    rb"|patch rejected by user|write_stdin rejected: rejected by user"
)
# That head, which Codex itself writes.
RAN = re.compile(rb"Chunk ID: [0-9a-f]{1,16}\nWall time: |Exit code: \d+\nWall time: ")
STOPPED = re.compile(rb"(?:Wall time: [\d.]+ seconds\n)?aborted by user(?: after [\d.]+s)?")


class Payload(Struct, frozen=True):
    type: str = ""
    call_id: str = ""
    name: str = ""
    namespace: str | None = ""
    arguments: str | None = ""
    input: str | None = ""
    output: Raw = field(default_factory=lambda: Raw(b"null"))


class Line(Struct, frozen=True):
    timestamp: str = ""
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
    """A call that may be asked for; or the end of one, whose output says how a person answered."""
    if b'_call_output"' not in line:
        return _made(line) if b'_call"' in line else []
    parsed = decoded(Line, line)
    text = decoded(str, parsed.payload.output) if parsed and parsed.type == "response_item" else None
    if parsed is None or text is None:
        return []
    outcome = _outcome(text.encode("utf-8", "replace"))
    if outcome is None:
        return []
    return [CallResult(parsed.payload.call_id, time_of(parsed.timestamp), outcome, "unknown", "", text)]


def _made(line: bytes) -> list[CallSeen | CallResult]:
    parsed = decoded(Line, line)
    if parsed is None or parsed.payload.type not in ("function_call", "custom_tool_call"):
        return []
    call = parsed.payload
    mark = call_marks.of_record(call.name, call.namespace or "", call.arguments or "", call.input or "")
    return [CallSeen(call.call_id, mark, time_of(parsed.timestamp))] if mark and call.call_id else []


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
        answers = decoded(Answers, result.text.encode("utf-8", "replace"))
        if answers is None:
            return None
        ours = prompt.answer is not None and handed(prompt) and _same(answers_told(prompt, prompt.answer), answers)
        return CallSettled(at, prompt.id, "allowed", "held" if ours else "desk", "it was answered")
    name = prompt.tool.name if prompt.tool else ""
    if name == TYPING:
        words = {"allowed": "it was typed", "denied": "it was refused", "stopped": "the turn was stopped"}
        return CallSettled(at, prompt.id, result.outcome, "unknown", words.get(result.outcome, ""))
    if prompt.link == "screen" and name != "request_permissions":
        if result.outcome == "stopped" and _allowed(prompt):
            return None  # it may have run until somebody stopped it
        words = {"allowed": "it ran", "denied": "it was refused", "stopped": "the turn was stopped"}
        return CallSettled(at, prompt.id, result.outcome, "unknown", words.get(result.outcome, ""))
    if name != "request_permissions":
        refused = CallSettled(at, prompt.id, "denied", "unknown", "it was refused")
        return refused if result.outcome == "denied" else None
    words = "the permissions were granted" if result.outcome == "allowed" else "nothing was granted"
    return CallSettled(at, prompt.id, result.outcome, "unknown", words)


def _allowed(prompt: Prompt) -> bool:
    """Have we said yes to it?"""
    effects = {option.effect for option in chosen(prompt, prompt.answer)} if prompt.answer else set[Effect]()
    return bool(effects - {"deny", "stop"}) and handed(prompt)


def _same(ours: bytes, answers: Answers) -> bool:
    return msgspec.json.decode(ours, type=Answers) == answers
