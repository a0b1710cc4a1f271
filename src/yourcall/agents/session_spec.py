"""A session that yourcall itself started and speaks with over pipes: what is asked for, and what a line means.

Rule: a talk is pure. Lines go in and events come out; answers and wishes go in and lines come out; whoever holds
the pipes carries them and decides nothing.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol

from msgspec import Struct, field

from yourcall.agents.sightings import Caller
from yourcall.model.events import AnyEvent
from yourcall.model.prompts import Answer, Outcome, Prompt, Refused
from yourcall.model.sessions import Session


class StartOptions(Struct, frozen=True):
    """A session to be started. `resume` is the id of an earlier one that is to go on; empty fields say nothing.
    `read_only`: it may read, and nothing else; only for an agent that has such a mode.
    `command`: another program than the agent's usual one, as a person typed it at this machine."""

    cwd: str
    prompt: str
    permission_mode: str = ""
    model: str = ""
    resume: str = ""
    allowed_tools: tuple[str, ...] = ()
    skip_permissions: bool = False
    command: tuple[str, ...] = ()
    read_only: bool = False


class Child(Struct, frozen=True):
    """The process that was started for it. `records`: the folder of the records that we keep ourselves;
    `recorded`: there is one already of the session that is to go on."""

    pid: int
    started: str
    cwd: str
    records: str = ""
    recorded: bool = False


class RequestDone(Struct, frozen=True):
    """What became of a request of ours; `error` is empty if it was granted."""

    request_id: str
    error: str = ""


class Output(Struct, frozen=True):
    """What one line means: events to post in this order, lines to write back at once, and the word on a request
    of ours. `gives_up`: why this session cannot begin, or go on; its program is to be ended. `record`: lines for
    the record that we keep of it, where the agent names none of its own; where one connection carries several
    sessions, of `record_of`. `record_anew`: they are the whole record."""

    events: tuple[AnyEvent, ...] = ()
    bodies: dict[str, bytes] = field(default_factory=dict[str, bytes])
    lines: tuple[bytes, ...] = ()
    done: RequestDone | None = None
    gives_up: str = ""
    record: tuple[bytes, ...] = ()
    record_of: str = ""
    record_anew: bool = False


class Speaking(Struct, frozen=True):
    """What the agent is saying right now, before the message is whole."""

    text: str = ""
    thinking: str = ""


class LiveSession(Protocol):
    """One conversation over pipes. `session_id` is empty until the agent has told it."""

    session_id: str
    speaking: Speaking

    def state(self) -> bytes:
        """All that is to be known to go on with it in another process; empty if that can't be."""
        ...

    def open(self) -> list[bytes]:
        """The first lines: they begin the session with its first instruction."""
        ...

    def hear(self, line: bytes, at: float) -> Output:
        """What a line from the agent means; anything unreadable means nothing."""
        ...

    def answer(self, prompt: Prompt, answer: Answer, request: bytes) -> bytes | Refused:
        """The line that carries this answer to this prompt."""
        ...

    def say(self, text: str, command: bool) -> bytes | Refused:
        """The line that tells the agent something, at rest or at work. `command`: it may be a `/command`."""
        ...

    def ask(self, what: str, value: str) -> tuple[str, bytes] | Refused:
        """A request of ours (`interrupt`, `mode`, `model`): its id, by which it will be granted, and its line."""
        ...


class Headless(Struct, frozen=True):
    """How an agent is started without a terminal: its program, what it is called with, and the talk with it.

    `idles`: it may begin without an instruction. `missing`: what to do if there is no such program.
    `in_terminal`: what it is called with in a terminal, where that is known. `restored`: the session as it stood,
    from what `state` told of it; None: it can't outlive the daemon.
    """

    program: str
    arguments: Callable[[StartOptions], list[str]]
    session: Callable[[StartOptions, Child], LiveSession]
    idles: bool = False
    missing: str = ""
    in_terminal: Callable[[StartOptions], list[str]] | None = None
    restored: Callable[[StartOptions, Child, bytes], LiveSession] | None = None
    read_only: bool = False


class Conversation(Protocol):
    """One connection that carries any number of an agent's sessions."""

    def open(self) -> list[bytes]:
        """The first messages of ours."""
        ...

    def hear(self, data: bytes, at: float) -> Output:
        """What a message means; anything unreadable means nothing."""
        ...

    def answer(self, prompt: Prompt, answer: Answer, request: bytes) -> list[bytes] | Refused:
        """The messages that carry this answer to this prompt."""
        ...

    def say(self, session_id: str, text: str) -> tuple[str, bytes] | Refused:
        """An instruction: the id by which it will be granted (`Output.done`), and its message."""
        ...

    def interrupt(self, session_id: str) -> tuple[str, bytes] | Refused: ...


class PluginGreeting(Struct, frozen=True):
    """What is known of a plugin as it dials in. `callers`: its process and that one's parents, by the kernel's
    word. `about`: what it tells of itself, for the agent's folder to read; only a claim. `records`: the folder of
    the records that we keep ourselves."""

    callers: tuple[Caller, ...]
    about: bytes
    records: str = ""


class ChannelFiles(Struct, frozen=True):
    """Files by which an agent tells and is told, in a folder of yourcall's home that its settings name.

    `writes`, `reads`: how the names begin of the file it writes and the one it reads; what follows is the same in
    both. `signs`: how the lines begin that say something. Each line is a message. A line that is empty is the
    link's own: some time has passed.
    """

    folder: str
    writes: str
    reads: str
    signs: tuple[bytes, ...]


class PluginSpec(Struct, frozen=True):
    """An agent that is reached through a plugin: code of ours in the agent's own process, or a child of it, which
    dials the daemon's socket and reports each request by its id.

    `connect`: the conversation over one such connection; each message is one line. A plugin whose connection is
    lost dials again, and reports anew what is still asked: the same request must become the same prompt.
    `one_session`: a process has one session at a time, so a plugin that dials in for another one ends the first.
    `files`: no code of ours runs there; the agent itself writes and reads files. `recorded`: its record tells
    how a call has ended that the plugin told of.
    """

    connect: Callable[[PluginGreeting], Conversation]
    one_session: bool = False
    files: ChannelFiles | None = None
    recorded: bool = False


class ServerConnection(Conversation, Protocol):
    """One connection to a server of the agent's, to which other clients listen as well."""

    @property
    def awaits_replies(self) -> bool: ...

    @property
    def before(self) -> EarlierRequests: ...

    def asks(self, prompt: Prompt) -> bool:
        """Has the server told this connection of it, and is it still to be answered?"""
        ...

    def again(self) -> list[bytes]:
        """What it refused because it was too busy."""
        ...

    def unproved(self) -> list[tuple[str, str, str]]:
        """Prompts whose outcome stands in the agent's record: prompt, file, call."""
        ...

    def proved(self, prompt_id: str, *, found: bool) -> None: ...

    def unnamed(self) -> list[tuple[str, Outcome]]:
        """Prompts that were closed by nobody knows whom."""
        ...


class EarlierRequests(Protocol):
    """What was asked over an earlier connection, until the server has told of it again."""

    def add_session(self, session_id: str) -> None: ...

    def add(self, prompt: Prompt, request: bytes) -> None: ...

    def give_up(self, at: float) -> list[AnyEvent]: ...


class ServerSpec(Struct, frozen=True):
    """A server that the agent itself runs, and that yourcall joins as one more client.

    `connect`: a new connection, for prompts of this link, to the server at this place. `variable`: names the
    agent's folder, `folder`: where it is otherwise, below the person's home; `socket`: of its server, in it.
    `home_of`: the agent's folder that a session was seen in, '' if it does not tell. `no_commands`: why the
    agent's own commands can't be sent.
    """

    connect: Callable[[str, str], ServerConnection]
    variable: str
    folder: str
    socket: str
    home_of: Callable[[Session], str]
    no_commands: str = ""
