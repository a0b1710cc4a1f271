"""What channels need from the rest of the program, said by the side that calls; `daemon` fills it.

Rule: a channel that listens may do what a paired device may do, and nothing that is for the desk alone.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from pathlib import Path
from types import TracebackType
from typing import Literal, Protocol, Self

from msgspec import Struct

from yourcall.agents.session_spec import Speaking, StartOptions
from yourcall.model.conversation import Page
from yourcall.model.orders import OrderQueue
from yourcall.model.prompts import Answer, Prompt, Receipt, Refused, Tap, Verdict
from yourcall.model.reviews import Review
from yourcall.model.sessions import Session


class Rows(Protocol):
    def live(self) -> tuple[list[Prompt], list[Session]]: ...
    def prompt(self, id: str, /) -> Prompt | None: ...
    def session(self, id: str, /) -> Session | None: ...
    def ended(self, limit: int, /) -> list[Session]: ...
    def body(self, id: str, /) -> bytes | None: ...


class Change(Protocol):
    @property
    def prompt(self) -> Prompt | None: ...
    @property
    def session(self) -> Session | None: ...


class Feed(Protocol):
    """Changes as they happen; it ends by itself when the reader was too slow: then everything is read anew."""

    async def __aenter__(self) -> Self: ...
    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None: ...
    def __aiter__(self) -> AsyncIterator[Change]: ...


class Sender(Protocol):
    """To speak to a session."""

    async def send(self, session: Session, text: str, as_command: bool, /) -> Verdict: ...
    async def interrupt(self, session: Session, /) -> Verdict: ...
    async def stop(self, session: Session, /) -> Verdict: ...


class Starting(Protocol):
    """To start sessions and steer them; `remote` is always true from a channel."""

    async def offers(self) -> list[str]: ...
    async def start(self, agent: str, wish: StartOptions, /, *, remote: bool) -> str | Refused: ...
    async def change(
        self, session: Session, what: Literal["mode", "model"], value: str, /, *, remote: bool
    ) -> Verdict: ...
    def speaking(self, session: Session, /) -> Speaking | None: ...


class Loop(Protocol):
    @property
    def store(self) -> Rows: ...
    def prompt(self, id: str, /) -> Prompt | None: ...
    async def answer(self, prompt_id: str, answer: Answer, wait: float, /) -> tuple[Verdict, Prompt | None]: ...
    def subscribe(self, after: int | None, /) -> Feed: ...


class Brake(Protocol):
    """To let nothing be decided by rule for a while."""

    def pause(self, by: str, /) -> None: ...
    def resume(self, by: str, /) -> None: ...


class Rules(Protocol):
    @property
    def paused(self) -> bool: ...
    def desk(self) -> Brake: ...


class Records(Protocol):
    """What was said and done in a session, from the agent's own record."""

    async def page(
        self, session: Session, subagent: str, /, *, before: int | None, after: int | None, file: str, limit: int
    ) -> Page | Refused: ...


class Uploads(Protocol):
    """Where files of people's are kept for an agent to read: the path, and how many bytes."""

    async def keep(self, name: str, chunks: AsyncIterator[bytes], /) -> tuple[Path, int] | Refused: ...


class ChannelContext(Struct, frozen=True):
    """Everything a two-way channel may do. In an answer, `by` is the person's name there, `via` the channel's.

    `wake`: somebody new can be told. `tried`: the button of this test was pressed.
    """

    loop: Loop
    voice: Sender
    starting: Starting
    rules: Rules | None = None
    records: Records | None = None
    uploads: Uploads | None = None
    orders: Orders | None = None
    reviews: Reviews | None = None
    wake: Callable[[], None] = lambda: None
    tried: Callable[[str], None] = lambda _: None


class Orders(Protocol):
    """Instructions that wait for their session."""

    def queue(self, session_id: str, /) -> OrderQueue: ...
    async def add(
        self, session: Session, text: str, by: str, via: str, /, *, certainty: str
    ) -> OrderQueue | Refused: ...
    async def remove(self, session_id: str, order_id: str, /) -> OrderQueue | Refused: ...
    async def resume(self, session_id: str, /) -> OrderQueue | Refused: ...


class Reviews(Protocol):
    """Another agent's opinion of a session's work."""

    async def reviewers(self) -> list[str]: ...
    def of(self, session_id: str, /) -> list[Review]: ...
    async def start(
        self, session: Session, reviewer: str, by: str, via: str, /, *, question: str, remote: bool
    ) -> Review | Refused: ...
    async def text_of(self, review: Review, /) -> str: ...
    async def send_back(
        self, review: Review, text: str, by: str, via: str, device: str, certainty: str, /
    ) -> Review | Refused: ...


class Receipts(Protocol):
    """Where receipts are kept; each write is on disk when it returns."""

    def receipts(self) -> Sequence[Receipt]: ...
    async def put_receipts(self, rows: Sequence[Receipt], /) -> None: ...
    async def drop_receipts(self, keys: Sequence[tuple[str, str, str]], /) -> None: ...


class Taps(Protocol):
    """Single-use answers, each by the hash of its token."""

    async def put_taps(self, taps: Sequence[tuple[str, Tap]], /) -> None: ...
    async def drop_taps(self, prompt_id: str, /) -> None: ...


class Ledger(Receipts, Taps, Protocol):
    """Both: what the runner writes down."""


class Memory(Protocol):
    """The channels' own small facts, by channel and key."""

    def remembered(self, channel: str, /) -> Mapping[str, bytes]: ...
    async def remember(self, channel: str, key: str, value: bytes | None, /) -> None: ...
