"""Raw things a link saw, before an agent's `read` says what they mean.

Rule: a sighting is carried as it came; nothing in it is trusted, and reading it never raises.
"""

from __future__ import annotations

from typing import Literal

from msgspec import Struct, field

from yourcall.model.events import AnyEvent
from yourcall.model.prompts import Kind, Outcome, Prompt


class Caller(Struct, frozen=True):
    """A process above a hook, or the hook itself, as the kernel tells. `leads_terminal`: it is the first process
    of a terminal's session."""

    pid: int
    started: str
    leads_terminal: bool = False


class HookCall(Struct, frozen=True):
    """One run of an agent's hook. `request_id` is set when the hook holds a request and waits; `new_id` is an id
    that nobody has yet, for a prompt that this call may raise. `callers`: the process that connected and its
    parents; what `env` says about processes is only a claim."""

    at: float
    event: str
    payload: bytes
    env: dict[str, str] = {}
    request_id: str = ""
    new_id: str = ""
    callers: tuple[Caller, ...] = ()

    @property
    def process(self) -> str:
        """The agent's process, as its hook claims; under this name for every agent."""
        return self.env.get("CLAUDE_PID", "")


class Ending(Struct, frozen=True):
    """Something this session waited for is over, told without an id: the oldest open prompt alike is meant.

    `alike` is a fingerprint, or its beginning. `said`: what was answered, to be compared with what we sent.
    `turn_id`: the turn that begins with this; what that turn itself has raised is not meant (hooks may overtake).
    """

    session_id: str
    alike: str
    outcome: Outcome | None  # None: no longer asked, nobody answered
    said: str = ""
    detail: str = ""
    turn_id: str = ""


class AnnouncedCall(Struct, frozen=True):
    """A tool call that a hook told of, and whose dialog can only be answered on the screen.

    `asked`: the agent says that it asks for it now (`input` is then what it says about that); else that it is
    about to run it. `prompt`: the same as a prompt, for a session whose screen nobody can see.
    """

    id: str
    at: float
    asked: bool
    tool: str
    input: bytes
    prompt: Prompt


class HookResult(Struct, frozen=True):
    """What a hook call means. `finished`: a tool call that is over, so its record is worth a look now.
    `nudged`: the agent reminds of what it waits for, by kind. `told`: a call for `links.told`; `turn`: when a
    turn began: calls told before that are over. `begins`: the session begins under this id, so its process goes by
    no other one any more; `anew`: what a pause of that process says from now on."""

    events: tuple[AnyEvent, ...] = ()
    bodies: dict[str, bytes] = field(default_factory=dict[str, bytes])
    endings: tuple[Ending, ...] = ()
    finished: str = ""
    nudged: Kind | None = None
    held: bool = False
    told: AnnouncedCall | None = None
    turn: float = 0.0
    begins: bool = False
    anew: str = ""
    problem: str = ""


class CallSeen(Struct, frozen=True):
    """A tool call, as the transcript shows it when the model made it. `alike`: the beginning of the fingerprints
    of other prompts that may come up while it runs."""

    call_id: str
    fingerprint: str
    at: float
    alike: str = ""


class CallResult(Struct, frozen=True):
    """How a tool call was decided, as the transcript shows it when the call is over."""

    call_id: str
    at: float
    outcome: Outcome
    source: Literal["held", "desk", "unknown"]
    detail: str
    text: str = ""


class AgentStatus(Struct, frozen=True):
    """What the agent's own process says of itself: `waiting` since when, `busy`, `idle`."""

    session_id: str
    status: str
    since: float
    pid_started: str = ""
    version: str = ""


class TurnMark(Struct, frozen=True):
    """What a line of an agent's record says of its turn, and when.

    `on`: it goes on. `said`: the agent said something; it is over unless a call follows, of which the record
    tells only once that has ended. `over`: it came to its end. `stopped`: somebody stopped it.
    """

    state: Literal["on", "said", "over", "stopped"]
    at: float


class Process(Struct, frozen=True):
    """A running program of this user's. `started` is never the same for two processes; `tty` is the terminal it
    belongs to. Only the variables named in `env` were taken from its environment. `holds`: files that it keeps
    open, as far as they were asked for; the one that was written last comes first."""

    pid: int
    started: str
    argv: tuple[str, ...]
    cwd: str = ""
    tty: str = ""
    started_at: float = 0.0
    env: dict[str, str] = {}
    holds: tuple[str, ...] = ()


class Pane(Struct, frozen=True):
    """A tmux pane and its terminal; `server` is the server's socket."""

    id: str
    tty: str
    server: str
