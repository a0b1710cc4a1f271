"""Raw things a link saw, before an agent's `read` says what they mean.

Rule: a sighting is carried as it came; nothing in it is trusted, and reading it never raises.
"""

from __future__ import annotations

from msgspec import Struct, field

from yourcall.events import AnyEvent
from yourcall.model import Outcome


class HookCall(Struct, frozen=True):
    """One run of an agent's hook. `request_id` is set when the hook holds a request and waits."""

    at: float
    event: str
    payload: bytes
    env: dict[str, str] = {}
    request_id: str = ""


class Heard(Struct, frozen=True):
    """What a hook call means. `finished`: a tool call that is over, so its record is worth a look now."""

    events: tuple[AnyEvent, ...] = ()
    bodies: dict[str, bytes] = field(default_factory=dict[str, bytes])
    finished: str = ""
    held: bool = False
    problem: str = ""


class CallSeen(Struct, frozen=True):
    """A tool call, as the transcript shows it when the model made it."""

    call_id: str
    fingerprint: str
    at: float


class CallResult(Struct, frozen=True):
    """How a tool call was decided, as the transcript shows it when the call is over."""

    call_id: str
    at: float
    outcome: Outcome
    source: str
    detail: str


class AgentStatus(Struct, frozen=True):
    """What the agent's own process says of itself: `waiting` since when, `busy`, `idle`."""

    session_id: str
    status: str
    since: float
    pid_started: str = ""
    version: str = ""
