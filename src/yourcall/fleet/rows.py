"""What a host tells the hubs: the latest state of each of its prompts and sessions, kept by JetStream, one
message for each.

Rule: only the latest counts, so nothing is queued but the names of what changed; what was not acknowledged is
told again. After a start, and whenever the hubs change, all of it is told anew under another run, sealed for
those who are hubs then."""

from __future__ import annotations

import asyncio
import logging
import secrets
import time
from collections.abc import Callable

from msgspec import Struct

from yourcall.fleet import sealing
from yourcall.fleet.bus import Away, Bus, Unanswered
from yourcall.fleet.certificates import Roster, Signed
from yourcall.fleet.envelopes import LARGEST_ROW, Beat, Head, Row, encode, wrapped
from yourcall.fleet.keys import Keys
from yourcall.fleet.subjects import Subjects
from yourcall.system.tasks import Tasks

log = logging.getLogger(__name__)

# A host with more than this has a fault; the newest are told.
MOST_ROWS = 5_000
AT_ONCE = 32
ACK_S = 5.0
AGAIN_S = 1.0

# What is over is told, and forgotten by NATS after this: the host has the record of it.
OVER_S = 3_600
BEAT_S = 10.0
HEAD_S = 60.0

Place = tuple[str, str]  # kind (`p` or `s`) and id


class Told(Struct, frozen=True):
    """One row as it is now. `view`: JSON, as the host shows it."""

    id: str
    kind: str
    view: bytes
    over: bool = False
    small: Callable[[], bytes] | None = None  # the same without what is large


class RowPublisher:
    def __init__(
        self,
        bus: Bus,
        subjects: Subjects,
        keys: Keys,
        me: Callable[[], Signed],
        act_run: str,
        version: str,
        clock: Callable[[], float] = time.time,
    ) -> None:
        self._clock = clock
        self._bus, self._subjects, self._keys, self._me = bus, subjects, keys, me
        self._act_run, self._version = act_run, version
        self._id = keys.id
        self._hubs: dict[str, bytes] = {}
        self._run = ""
        self._number = 0
        self._latest: dict[Place, Told] = {}
        self._dirty: dict[Place, None] = {}
        self._flying: set[Place] = set()
        self._wake = asyncio.Event()
        self._tasks = Tasks()
        self._complete = False  # all of this run was acknowledged, and its head was told
        self.tells: Callable[[], bool] = lambda: False  # this machine has channels of its own
        self.refusals: Callable[[], tuple[int, str]] = lambda: (0, "")
        self.rejected = 0

    def for_hubs(self, roster: Roster) -> None:
        """Whom to seal for from now on."""
        hubs = {
            hub.id: sealing.shared_key(self._keys.seal, hub.seal, self._subjects.fleet)
            for hub in roster.hubs
            if hub.id != self._id and hub.id not in roster.revoked
        }
        if hubs != self._hubs or not self._run:
            self._hubs = hubs
            self.begin_anew()

    def begin_anew(self) -> None:
        """Another run: everything is told again, and hubs forget the rest."""
        self._run = secrets.token_hex(8)
        self._number = 0
        self._dirty = dict.fromkeys(self._latest)
        self._complete = False
        self._wake.set()

    def put(self, told: Told) -> None:
        place = (told.kind, told.id)
        if place not in self._latest and (told.over or len(self._latest) >= MOST_ROWS):
            if not told.over:
                self.rejected += 1
            return
        self._latest[place] = told
        self._dirty[place] = None
        self._wake.set()

    def forget_all(self) -> None:
        self._latest.clear()
        self._dirty.clear()

    # --- telling
    # ---------------------------------------------------------------------------------------------------

    async def run(self) -> None:
        """While there is a line; until cancelled."""
        for place in self._flying:  # whether they arrived is not known
            self._dirty.setdefault(place)
        self._flying.clear()
        beating = self._tasks.spawn(self._beat_on())
        try:
            while True:
                self._wake.clear()
                await self._tell()
                if not self._dirty and not self._flying and not self._complete and self._hubs:
                    await self.head()
                    self._complete = True
                await self._wake.wait()
        finally:
            beating.cancel()
            await self._tasks.close()

    async def _tell(self) -> None:
        if not self._hubs:
            self._dirty.clear()
            return
        for place in list(self._dirty):
            if place in self._flying:
                continue  # its end wakes us, and then the latest goes
            while len(self._flying) >= AT_ONCE:
                self._wake.clear()
                await self._wake.wait()
            self._dirty.pop(place, None)
            told = self._latest.get(place)
            if told is not None:
                self._flying.add(place)
                self._tasks.spawn(self._send(place, told, self._run))

    async def _send(self, place: Place, told: Told, run: str) -> None:
        again = False
        try:
            ack = await self._bus.request(*self._message(told, run), ACK_S, ttl=OVER_S if told.over else 0)
            again = b'"error"' in ack.data
            if again:
                log.warning("NATS did not keep a row: %s", ack.data[:200])
        except (Away, Unanswered):
            again = True
        finally:
            self._flying.discard(place)
        if again:
            self._dirty.setdefault(place)
            await asyncio.sleep(AGAIN_S)
        elif told.over and self._latest.get(place) is told:
            del self._latest[place]
        self._wake.set()

    def _message(self, told: Told, run: str) -> tuple[str, bytes]:
        self._number += 1
        view, whole = told.view, True
        if len(view) > LARGEST_ROW // 2:
            view, whole = (told.small() if told.small is not None else b""), False
            view = view if len(view) <= LARGEST_ROW else b""
        row = Row(self._number, time.time(), told.id[:200], view, whole, told.over)
        subject = self._subjects.row(self._id, run, told.kind, told.id)
        return subject, self._sealed(subject, row)

    def _sealed(self, subject: str, value: Struct) -> bytes:
        to, body = sealing.seal_for(self._hubs, encode(value), sealing.context("kept", subject))
        return wrapped(self._id, self._keys.seal_public, body, to)

    # --- who we are, and that we are
    # ---------------------------------------------------------------------------------

    async def head(self, gone_at: float = 0.0) -> None:
        head = Head(
            self._me(),
            self._run,
            self._act_run,
            self._version,
            time.time(),
            gone_at,
            self.tells(),
            len(self._latest),
        )
        subject = self._subjects.head(self._id)
        await self._bus.request(subject, self._sealed(subject, head), ACK_S)
        await self.beat()

    async def beat(self) -> None:
        subject = self._subjects.beat(self._id)
        refused, why = self.refusals()
        beat = Beat(self._run, self._act_run, self._clock(), refused, why[:500])
        if self._hubs:
            await self._bus.publish(subject, self._sealed(subject, beat))

    async def _beat_on(self) -> None:
        headed = time.monotonic()
        while True:
            await asyncio.sleep(BEAT_S)
            try:
                if self._complete and time.monotonic() - headed > HEAD_S:
                    await self.head()
                    headed = time.monotonic()
                else:
                    await self.beat()
            except (Away, Unanswered):
                continue
