"""What yourcall asks of an agent: a name and a handful of pure functions.

Rule: this struct is the whole seam between an agent and the rest; a new agent is one folder that fills it.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from msgspec import Struct

from yourcall.agents.sightings import (
    AgentStatus,
    CallResult,
    CallSeen,
    Heard,
    HookCall,
    Pane,
    Process,
)
from yourcall.agents.talk import Headless
from yourcall.conversation import AnyEntry, Picture
from yourcall.core.asked import Asked
from yourcall.events import CallSettled
from yourcall.messages import Message
from yourcall.model import Answer, Prompt, Refused, Session


class Plan(Struct, frozen=True):
    """How an answer is carried: what the held hook prints. `strict`: only while the dialog is known to be open."""

    output: bytes
    strict: bool = False


class Finder(Struct, frozen=True):
    """How sessions are found that no hook told of. `unnamed`: how an id begins that is not the session's own.

    `holds`: parts of the paths of open files that say something. `shown`: by pid, the session that a process only
    shows, which is known by other means.
    """

    runs: Callable[[Sequence[str]], bool]
    session_file: Callable[[Process], str]
    found: Callable[[Process, bytes, Sequence[Pane]], Session]
    unnamed: str
    holds: tuple[str, ...] = ()
    shown: Callable[[Sequence[Process], Sequence[Session]], dict[int, str]] | None = None


def _no_hook(_call: HookCall) -> Heard:
    return Heard(problem="an agent that has no hooks of ours called one")


def _no_record(_line: bytes) -> list[CallSeen | CallResult]:
    return []


def _no_status(_text: bytes) -> AgentStatus | None:
    return None


def _no_transcript(_session: Session, _prompt: Prompt) -> str:
    return ""


def _no_file(_session: Session) -> str:
    return ""


def _no_proof(_prompt: Prompt, _result: CallResult, _at: float) -> CallSettled | None:
    return None


def _no_plan(_prompt: Prompt, _answer: Answer, _request: bytes) -> Plan | Refused:
    return Refused("No hook holds this request.")


def _no_entry(_line: bytes) -> list[AnyEntry]:
    return []


def _no_conversation(_session: Session, _subagent: str) -> str:
    return ""


class Agent(Struct, frozen=True):
    """What an agent does not have, it need not name."""

    name: str
    read_hook: Callable[[HookCall], Heard] = _no_hook
    read_line: Callable[[bytes], list[CallSeen | CallResult]] = _no_record
    read_status: Callable[[bytes], AgentStatus | None] = _no_status
    transcript_of: Callable[[Session, Prompt], str] = _no_transcript
    status_file_of: Callable[[Session], str] = _no_file
    settled: Callable[[Prompt, CallResult, float], CallSettled | None] = _no_proof
    plan: Callable[[Prompt, Answer, bytes], Plan | Refused] = _no_plan
    read_entry: Callable[[bytes], list[AnyEntry]] = _no_entry
    conversation_of: Callable[[Session, str], str] = _no_conversation  # `*`: what of a sub-agent's path is unknown
    finder: Finder | None = None
    headless: Headless | None = None
    asked: Callable[[bytes], Asked | None] | None = None  # what a stored request is about, for the rules
    insist: Callable[[str], bytes] | None = None  # what its hook before a tool prints, so that a person is asked
    read_pictures: Callable[[bytes], list[Picture]] | None = None  # what a line of its record shows
    read_message: Callable[[bytes], Message | None] | None = None  # where its record holds whole messages
