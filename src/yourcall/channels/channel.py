"""The seam: what a channel can do, what it is handed, and what it says became of it.

A channel is one module of this folder, named in `registry.py`. It has
  * `Settings`, a frozen msgspec struct: its section of `config.toml` (`[channels.NAME]` with `type = "…"`),
  * `SECRETS`, the names of the values that come from `secrets.toml` or the environment and never from there,
  * `make(name, settings, world) -> Channel`.

Rule: a channel only carries. Whom to tell when, how often to try again, what to mask and when to take a notice
back is decided elsewhere (`core/notify_policy.py`, `core/redact.py`, `runner.py`); what a channel is handed is
already masked.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Collection, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Literal, Protocol, runtime_checkable

from msgspec import Struct

from yourcall.model.prompts import Effect, Kind, Prompt, Risk
from yourcall.rules.fully_shown import Needed

if TYPE_CHECKING:
    import httpx

    from yourcall.channels.context import ChannelContext

# Where a channel stands on the ladder: at the desk, on a device in the pocket, in a chat.
Rung = Literal["desk", "push", "chat"]

# How the matter stands: it waits · an answer is on its way · nobody needs to do anything any more.
Standing = Literal["open", "moving", "over"]


class Abilities(Struct, frozen=True):
    """What a channel can do; the runner asks for nothing else.

    `buttons`: how many ways to answer fit under one notice. `edit`: a notice that was sent can be changed, so it
    stays and is brought to its outcome. `withdraw`: it can be taken back, so it goes as soon as somebody answers.
    `replaces`: sending the same notice again shows one, not two; only then is a send whose end nobody saw
    repeated. `knows_who`: whoever taps a button is known there (a paired device, a paired chat), so buttons need
    no token. `twice`: a yes to what is dangerous is asked for a second time there.
    """

    rung: Rung
    buttons: int = 0
    free_text: bool = False
    edit: bool = False
    withdraw: bool = False
    replaces: bool = False
    knows_who: bool = False
    twice: bool = False


class Button(Struct, frozen=True):
    """One option of the prompt's one question. `token` answers with it, once, as long as the prompt is open.

    It is empty where the channel knows who taps (`Abilities.knows_who`).
    """

    label: str
    effect: Effect
    question: str
    option: str
    token: str = ""


class Notice(Struct, frozen=True):
    """What a person is told, masked and ready to be shown; the same for every channel.

    `id` names the notice for good, in letters, digits, `-` and `_`: at most 40 of them. `title` and `text` are
    plain text of others' making: whoever renders markup escapes it. `prompts` are the rows behind it, masked as
    well, for channels that show more: one, or several in a digest. `input`: the tool's input, masked, as JSON
    text. `reminder` counts how often this was told before; `version` grows whenever something happens to its
    prompts. `risk`: how risky a yes to what is open is, and why. `back`: how many answers to it came back.
    `seen`: which version of the one prompt this tells, for the answer to carry.
    `offer`: a hash of all that is asked. `needed`: what must be seen before a yes; None if no notice can show it.
    `partly`: a yes was left out, because not all of it is shown. `passkey`: a yes takes one, so it is left out.
    """

    id: str
    kind: Kind
    title: str
    text: str
    standing: Standing = "open"
    outcome: str = ""
    agent: str = ""
    project: str = ""
    url: str = ""
    answer_url: str = ""
    buttons: tuple[Button, ...] = ()
    prompts: tuple[Prompt, ...] = ()
    input: str = ""
    reminder: int = 0
    version: int = 0
    risk: Risk | None = None
    back: int = 0
    seen: str = ""
    offer: str = ""
    needed: Needed | None = None
    partly: bool = False
    passkey: bool = False

    @property
    def warning(self) -> str:
        """Why a yes is risky, in our own words; empty if nothing speaks for it."""
        return self.risk.reason if self.risk is not None and self.risk.level != "low" else ""


class Sent(Struct, frozen=True):
    """It is there. `receipt` is kept on disk and handed back, so that even another run can edit or withdraw it."""

    receipt: str = ""


class Later(Struct, frozen=True):
    """It is surely not there, and may work another time; not before `after_s`, if the other side said so."""

    why: str
    after_s: float = 0.0


class Unclear(Struct, frozen=True):
    """The line broke after everything was said: it may be there or not."""

    why: str


class Failed(Struct, frozen=True):
    """It will not work until a person changes something; `why` says what."""

    why: str


class Gone(Struct, frozen=True):
    """This target is no more (a phone that unsubscribed, a chat that was left); nobody is told there again."""

    why: str


Carried = Sent | Later | Unclear | Failed | Gone


class Channel(Protocol):
    """A target is one device or place: told once. A channel without several has one, called `""`."""

    @property
    def name(self) -> str: ...
    @property
    def abilities(self) -> Abilities: ...
    def targets(self) -> Sequence[str]: ...
    def rendered(self, notice: Notice) -> str:
        """All words of a notice as they will stand on the device: cut where the channel cuts, labels included."""
        ...

    async def send(self, target: str, notice: Notice) -> Carried: ...
    async def update(self, target: str, receipt: str, notice: Notice) -> Carried:
        """Only with `edit`: show the notice as it is now. With `standing` over it is the last word on it."""
        ...

    async def withdraw(self, target: str, receipt: str, notice: Notice) -> Carried:
        """Only with `withdraw`: take it off the device."""
        ...


@runtime_checkable
class TwoWay(Protocol):
    """People speak here, too. `listen` runs as long as the daemon; after an error it is called again.

    `deaf`: why nobody is heard there now; empty if all is well.
    """

    @property
    def deaf(self) -> str: ...
    async def listen(self, desk: ChannelContext) -> None: ...


@runtime_checkable
class Paired(Protocol):
    """People are known here by a pairing of their own, each by an id that no other has."""

    def people(self) -> Mapping[str, str]: ...
    async def unpair(self, person: str, /) -> None: ...


class Keep(Protocol):
    """What one channel remembers over restarts: its pairings, where it stopped reading."""

    def get(self, key: str, /) -> bytes | None: ...
    def all(self) -> Mapping[str, bytes]: ...
    async def put(self, key: str, value: bytes | None, /) -> None: ...


class World(Struct, frozen=True):
    """What a channel is made with. `url` is where people reach us; empty if only this machine can. `devices`: the
    ids of those that are paired now. `titles_only`: no word of an agent's may leave the house.

    `http()` is a shared client, made at its first use: importing it costs more than starting without channels.
    """

    secrets: Mapping[str, str]
    keep: Keep
    http: Callable[[], httpx.AsyncClient]
    clock: Callable[[], float]
    sleep: Callable[[float], Awaitable[None]]
    home: Path
    devices: Callable[[], Collection[str]]
    url: str = ""
    titles_only: bool = False
