"""A session that yourcall itself started and speaks with over pipes: what is asked for, and what a line means.

Rule: a talk is pure. Lines go in and events come out; answers and wishes go in and lines come out; whoever holds
the pipes carries them and decides nothing.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol

from msgspec import Struct, field

from yourcall.events import AnyEvent
from yourcall.model import Answer, Prompt, Refused


class Wish(Struct, frozen=True):
    """A session to be started. `resume` is the id of an earlier one that is to go on; empty fields say nothing.
    `command`: another program than the agent's usual one, as a person typed it at this machine."""

    cwd: str
    prompt: str
    permission_mode: str = ""
    model: str = ""
    resume: str = ""
    allowed_tools: tuple[str, ...] = ()
    skip_permissions: bool = False
    command: tuple[str, ...] = ()


class Child(Struct, frozen=True):
    """The process that was started for it. `records`: the folder of the records that we keep ourselves;
    `recorded`: there is one already of the session that is to go on."""

    pid: int
    started: str
    cwd: str
    records: str = ""
    recorded: bool = False


class Done(Struct, frozen=True):
    """What became of a request of ours; `error` is empty if it was granted."""

    request_id: str
    error: str = ""


class Spoke(Struct, frozen=True):
    """What one line means: events to post in this order, lines to write back at once, and the word on a request
    of ours. `gives_up`: why this session cannot begin, or go on; its program is to be ended. `record`: lines for
    the record that we keep of it, where the agent names none of its own."""

    events: tuple[AnyEvent, ...] = ()
    bodies: dict[str, bytes] = field(default_factory=dict[str, bytes])
    lines: tuple[bytes, ...] = ()
    done: Done | None = None
    gives_up: str = ""
    record: tuple[bytes, ...] = ()


class Speaking(Struct, frozen=True):
    """What the agent is saying right now, before the message is whole."""

    text: str = ""
    thinking: str = ""


class Talk(Protocol):
    """One conversation over pipes. `session_id` is empty until the agent has told it."""

    session_id: str
    speaking: Speaking

    def open(self) -> list[bytes]:
        """The first lines: they begin the session with its first instruction."""
        ...

    def hear(self, line: bytes, at: float) -> Spoke:
        """What a line from the agent means; anything unreadable means nothing."""
        ...

    def answer(self, prompt: Prompt, answer: Answer, request: bytes) -> bytes | Refused:
        """The line that carries this answer to this prompt."""
        ...

    def say(self, text: str, command: bool) -> bytes | Refused:
        """The line that tells the agent something, at rest or at work. `command`: it may be a `/command`."""
        ...

    def ask(self, wish: str, value: str) -> tuple[str, bytes] | Refused:
        """A request of ours (`interrupt`, `mode`, `model`): its id, by which it will be granted, and its line."""
        ...


class Headless(Struct, frozen=True):
    """How an agent is started without a terminal: its program, what it is called with, and the talk with it.

    `idles`: it may begin without an instruction. `missing`: what to do if there is no such program.
    `in_terminal`: what it is called with in a terminal, where that is known.
    """

    program: str
    arguments: Callable[[Wish], list[str]]
    talk: Callable[[Wish, Child], Talk]
    idles: bool = False
    missing: str = ""
    in_terminal: Callable[[Wish], list[str]] | None = None
