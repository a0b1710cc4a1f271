"""Any program in a tmux pane, as the rest of yourcall sees it: it tells nothing, and keeps no record."""

from __future__ import annotations

from yourcall.agents.agent import Agent, Plan
from yourcall.agents.sightings import AgentStatus, CallResult, CallSeen, Heard, HookCall
from yourcall.conversation import AnyEntry
from yourcall.events import CallSettled
from yourcall.model import Answer, Prompt, Refused, Session

AGENT = "generic"


def _read_hook(_call: HookCall) -> Heard:
    return Heard(problem="a program that has no hooks called one")


def _read_line(_line: bytes) -> list[CallSeen | CallResult]:
    return []


def _read_status(_text: bytes) -> AgentStatus | None:
    return None


def _nowhere(_session: Session, _prompt: Prompt) -> str:
    return ""


def _settled(_prompt: Prompt, _result: CallResult, _at: float) -> CallSettled | None:
    return None


def _plan(_prompt: Prompt, _answer: Answer, _request: bytes) -> Plan | Refused:
    return Refused("This program is answered with keys on its own screen.")


def _read_entry(_line: bytes) -> list[AnyEntry]:
    return []


GENERIC = Agent(
    AGENT,
    _read_hook,
    _read_line,
    _read_status,
    _nowhere,
    lambda _session: "",
    _settled,
    _plan,
    _read_entry,
    lambda _session, _subagent: "",
)
