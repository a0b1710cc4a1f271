"""What the server needs from the rest of the program, said by the side that calls.

Rule: only `daemon` knows who fills these; the server never learns where rows are stored or prompts are decided.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Sequence
from types import TracebackType
from typing import Literal, Protocol, Self

from yourcall.agents.talk import Speaking, Wish
from yourcall.conversation import Page
from yourcall.model import Answer, Prompt, Refused, Session, Verdict


class Rows(Protocol):
    """The current rows; nothing here that is not on disk."""

    def live(self) -> tuple[list[Prompt], list[Session]]: ...
    def prompt(self, id: str, /) -> Prompt | None: ...
    def prompts(self, *, open_only: bool, limit: int, before: float | None = None) -> list[Prompt]: ...
    def matching(self, prefix: str, /) -> list[str]: ...
    def session(self, id: str, /) -> Session | None: ...


class Bodies(Protocol):
    """What the agents sent, verbatim; and how far the log goes."""

    def body(self, id: str, /) -> bytes | None: ...
    @property
    def last_seq(self) -> int: ...


class Shelf(Rows, Bodies, Protocol):
    """Both: what a view of a prompt is made of."""


class Change(Protocol):
    """One row as it is after a fact."""

    @property
    def seq(self) -> int: ...
    @property
    def at(self) -> float: ...
    @property
    def prompt(self) -> Prompt | None: ...
    @property
    def session(self) -> Session | None: ...


class Feed(Protocol):
    """A bounded queue of changes. It ends by itself, `lagged`, when the reader was too slow for it."""

    lagged: bool

    async def __aenter__(self) -> Self: ...
    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None: ...
    def __aiter__(self) -> AsyncIterator[Change]: ...


class Desk(Protocol):
    """Where prompts are answered and followed."""

    @property
    def store(self) -> Shelf: ...
    async def answer(self, prompt_id: str, answer: Answer, wait: float, /) -> tuple[Verdict, Prompt | None]: ...
    def subscribe(self, after: int | None, /) -> Feed: ...


class Conversations(Protocol):
    """What was said and done in a session, from the agent's own record."""

    async def page(
        self, session: Session, subagent: str, /, *, before: int | None, after: int | None, file: str, limit: int
    ) -> Page | Refused: ...


class Voice(Protocol):
    """To speak to a session in its own terminal, and to have a pane looked after."""

    async def send(self, session: Session, text: str, as_command: bool, /) -> Verdict: ...
    async def press(self, session: Session, key: str, /) -> Verdict: ...
    async def interrupt(self, session: Session, /) -> Verdict: ...
    async def watch(self, server: str, pane: str, /) -> Session | Refused: ...


class Starting(Protocol):
    """To start sessions, and to steer those that were started. `remote`: asked for by a device."""

    async def start(self, agent: str, wish: Wish, /, *, remote: bool) -> str | Refused: ...
    async def change(
        self, session: Session, what: Literal["mode", "model"], value: str, /, *, remote: bool
    ) -> Verdict: ...
    async def stop(self, session: Session, /) -> Verdict: ...
    def speaking(self, session: Session, /) -> Speaking | None: ...


class Device(Protocol):
    @property
    def id(self) -> str: ...
    @property
    def name(self) -> str: ...
    @property
    def created_at(self) -> float: ...
    @property
    def seen_at(self) -> float: ...
    @property
    def revoked_at(self) -> float | None: ...


class Keys(Protocol):
    """To know a device by the hash of its token, unless it was revoked; and to note that it came by."""

    def device_by_hash(self, token_hash: str, /) -> Device | None: ...
    def touch_device(self, id: str, at: float, /) -> None: ...


class Roster(Protocol):
    """To list, add and revoke devices."""

    def devices(self) -> Sequence[Device]: ...
    async def add_device(self, name: str, token_hash: str, /) -> Device: ...
    async def revoke_device(self, id: str, /) -> bool: ...


class KeyRing(Keys, Roster, Protocol):
    """Both: what `Devices` is built on."""
