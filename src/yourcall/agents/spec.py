"""What yourcall asks of an agent: a name and a handful of pure functions.

Rule: this struct is the whole seam between an agent and the rest; a new agent is one folder that fills it.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from msgspec import Struct

from yourcall.agents.phone_spec import PhoneSpec
from yourcall.agents.screen_spec import ScreenSpec
from yourcall.agents.session_spec import Headless, PluginSpec, ServerSpec
from yourcall.agents.setup_spec import Check, Setup
from yourcall.agents.sightings import (
    AgentStatus,
    CallResult,
    CallSeen,
    HookCall,
    HookResult,
    Pane,
    Process,
    TurnMark,
)
from yourcall.model.action import Action, CallKind
from yourcall.model.conversation import AnyEntry, Picture
from yourcall.model.events import CallSettled
from yourcall.model.messages import Message
from yourcall.model.prompts import Answer, Kind, Prompt, Refused
from yourcall.model.sessions import Session


class HookReply(Struct, frozen=True):
    """How an answer is carried: what the held hook prints. `strict`: only while the dialog is known to be open."""

    output: bytes
    strict: bool = False


class Finder(Struct, frozen=True):
    """How sessions are found that no hook told of. `unnamed`: how an id begins that is not the session's own.

    `found` is None for a process that is not one after all. `holds`: parts of the paths of open files that say
    something. `shown`: by pid, the session that a process only shows, which is known by other means.
    """

    runs: Callable[[Sequence[str]], bool]
    session_file: Callable[[Process], str]
    found: Callable[[Process, bytes, Sequence[Pane]], Session | None]
    unnamed: str
    holds: tuple[str, ...] = ()
    shown: Callable[[Sequence[Process], Sequence[Session]], dict[int, str]] | None = None


class Reach(Struct, frozen=True):
    """By what a prompt of one kind is noticed, how an answer goes, and what confirms it; '' is not at all."""

    noticed: str
    answered: str = ""
    confirmed: str = ""


class Grade(Struct, frozen=True):
    """How far an agent is understood. Its folder declares only what a test with the real program has shown; an
    empty word is not done. `tested`: the versions that the tests drive. `needs`: what this much asks for."""

    cli: str
    tested: tuple[str, ...]
    kinds: dict[Kind, Reach]
    needs: str = ""


class Environment(Struct, frozen=True):
    """The variables of an agent. `session_id`: holds the id, in the commands it runs; `flag`: is set in them.
    `home`: moves its own folder. `inherited`: what it leaves to its children, so that a new one would take itself
    for a part of it."""

    session_id: str = ""
    flag: str = ""
    home: str = ""
    inherited: tuple[str, ...] = ()


class OwnServer(Struct, frozen=True):
    """A server of its own, which `yourcall run` starts beside the agent so that the daemon can join it.

    `serve`: the server's arguments, for a socket at this path; None if this command line wants none. `join`: the
    command line that joins it. `folder`: of those sockets, in yourcall's home.
    """

    folder: str
    serve: Callable[[Sequence[str], str], list[str] | None]
    join: Callable[[Sequence[str], str], list[str]]


def _no_hook(_call: HookCall) -> HookResult:
    return HookResult(problem="an agent that has no hooks of ours called one")


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


def _no_plan(_prompt: Prompt, _answer: Answer, _request: bytes) -> HookReply | Refused:
    return Refused("No hook holds this request.")


def _no_entry(_line: bytes) -> list[AnyEntry]:
    return []


def _no_conversation(_session: Session, _subagent: str) -> str:
    return ""


class Agent(Struct, frozen=True):
    """What an agent does not have, it need not name.

    `name`: in records, rules and on the wire. `title`: as people call it. `programs`: its names on PATH;
    `installed`: further places below the person's home. `holds`: its hooks hold requests, while its dialog is
    open. `scripted`: it plays an agent, and its calls concern nobody. `early_dialogs`: its first dialogs come
    before its hooks do, so its pane is watched from the start.
    """

    name: str
    read_hook: Callable[[HookCall], HookResult] = _no_hook
    read_line: Callable[[bytes], list[CallSeen | CallResult]] = _no_record
    read_status: Callable[[bytes], AgentStatus | None] = _no_status
    transcript_of: Callable[[Session, Prompt], str] = _no_transcript
    status_file_of: Callable[[Session], str] = _no_file
    settled: Callable[[Prompt, CallResult, float], CallSettled | None] = _no_proof
    reply: Callable[[Prompt, Answer, bytes], HookReply | Refused] = _no_plan
    read_entry: Callable[[bytes], list[AnyEntry]] = _no_entry
    conversation_of: Callable[[Session, str], str] = _no_conversation  # `*`: what of a sub-agent's path is unknown
    finder: Finder | None = None
    headless: Headless | None = None
    action: Callable[[bytes], Action | None] | None = None  # what a stored request is about, for the rules
    tools: Mapping[str, CallKind] = {}  # what its tools do, to have their calls shown and judged
    insist: Callable[[str], bytes] | None = None  # what its hook before a tool prints, so that a person is asked
    read_pictures: Callable[[bytes], list[Picture]] | None = None  # what a line of its record shows
    read_message: Callable[[bytes], Message | None] | None = None  # where its record holds whole messages
    title: str = ""
    grade: Grade | None = None
    screen: ScreenSpec | None = None
    setup: Setup | None = None
    doctor: tuple[Check, ...] = ()
    environment: Environment = Environment()
    programs: tuple[str, ...] = ()
    installed: tuple[str, ...] = ()
    holds: bool = False
    scripted: bool = False
    early_dialogs: bool = False
    phone: PhoneSpec = PhoneSpec()
    plugin: PluginSpec | None = None
    server: ServerSpec | None = None
    own_server: OwnServer | None = None
    # What a line of its record says of the turn; asked where no file of the process tells how it stands.
    read_turn: Callable[[bytes], TurnMark | None] | None = None
    # The prompt of a session whose turn ended unseen: the session, what the agent said last, since when, and now.
    rested: Callable[[Session, str, float, float], Prompt | None] | None = None
