"""What a hub knows of the hosts: copies of their rows, and when each host was last heard.

A host's rows count under the run that its head names. Rows of a run whose head has not come yet wait; rows of
an earlier run are dropped when the next one's head comes.

Rule: a copy says only what its host said, sealed by that host; every host has a limit of its own, so one that
floods crowds out nobody else."""

from __future__ import annotations

import logging
import time
from collections import OrderedDict
from collections.abc import Callable, Iterator
from itertools import islice
from typing import Literal

import msgspec
from msgspec import Struct

from yourcall.fleet import sealing
from yourcall.fleet.certificates import Member, NotSigned, verify
from yourcall.fleet.envelopes import Beat, Envelope, Head, Row, Unread, decode, envelope
from yourcall.fleet.keys import Keys, id_of
from yourcall.fleet.sealing import Unsealed
from yourcall.fleet.subjects import Subjects

log = logging.getLogger(__name__)

MOST_ROWS = 5_000
MOST_BYTES = 16 << 20
MOST_HOSTS = 20_000
MOST_OVER = 5_000

# A host beats every ten seconds; two lost beats are a bad line, three are an absence.
AWAY_S = 32.0

Kind = Literal["p", "s"]


class Copy(Struct):
    """One row of a host's. `view`: its JSON. `whole`: False if the host left out what is large."""

    host: str
    kind: Kind
    id: str
    view: bytes
    whole: bool
    over: bool
    number: int
    at: float


class HostCopy(Struct):
    """`offset`: how far its clock is ahead of ours, in seconds; known once it has beaten."""

    member: Member
    key: bytes
    run: str = ""
    act_run: str = ""
    version: str = ""
    tells: bool = False
    gone_at: float = 0.0
    seen_at: float = 0.0
    heard: float = float("-inf")  # on our steady clock
    offset: float | None = None
    refused: int = 0
    why: str = ""
    rows: dict[str, Copy] = msgspec.field(default_factory=dict)
    held: int = 0  # bytes

    @property
    def online(self) -> bool:
        return time.monotonic() - self.heard < AWAY_S


class Changed(Struct, frozen=True):
    """Something to show anew: a row (`copy`), or that a host came, went, or is called otherwise."""

    host: str
    copy: Copy | None = None
    gone: bool = False


class Copies:
    def __init__(
        self, subjects: Subjects, keys: Keys, authority: bytes, revoked: Callable[[], frozenset[str]]
    ) -> None:
        self._subjects, self._keys, self._authority, self._revoked = subjects, keys, authority, revoked
        self.hosts: dict[str, HostCopy] = {}
        self._early: dict[str, dict[str, tuple[str, bytes]]] = {}  # rows whose head has not come: by host and run
        self.listeners: list[Callable[[Changed], None]] = []
        self.stale_runs: Callable[[str, str], None] = lambda _host, _run: None
        self.unread = 0
        self._online: set[str] = set()
        self._over: OrderedDict[tuple[str, Kind, str], Copy] = OrderedDict()  # who asks for one finds its host

    # --- what comes in
    # ----------------------------------------------------------------------------------------------

    def take_head(self, subject: str, data: bytes, kept_at: float = 0.0, *, live: bool = True) -> None:
        """`kept_at`: when NATS kept it, for one from before we listened."""
        id = subject.rsplit(".", 1)[-1]
        if id == self._keys.id:
            return
        try:
            said = envelope(data)
            head, member, key = self._head(subject, id, said)
        except (Unread, Unsealed, NotSigned) as error:
            self._not_read(subject, error)
            return
        known = self.hosts.get(id)
        if known is None:
            if len(self.hosts) >= MOST_HOSTS:
                return
            known = self.hosts[id] = HostCopy(member, key)
        if live and head.at < known.gone_at and head.run == known.run:
            return
        known.member, known.key = member, key
        known.version, known.act_run, known.tells = head.version, head.act_run, head.tells
        known.gone_at = head.gone_at
        known.seen_at = max(known.seen_at, kept_at or time.time())
        if head.run != known.run:
            self._begin_run(known, head.run)
        if live and not head.gone_at:
            known.heard = time.monotonic()
        elif head.gone_at:
            known.heard = float("-inf")
        self._standing(known)

    def _head(self, subject: str, id: str, said: Envelope) -> tuple[Head, Member, bytes]:
        if said.by != id or id_of(said.key) != id:
            raise Unsealed("by somebody else")
        if id in self._revoked():
            raise NotSigned("it was removed from the fleet")
        known = self.hosts.get(id)
        key = (
            known.key if known is not None else sealing.shared_key(self._keys.seal, said.key, self._subjects.fleet)
        )
        head = decode(self._opened(subject, said, key), Head)
        member = verify(self._authority, head.certificate, Member, self._subjects.fleet)
        if member.id != id or member.seal != said.key or "host" not in member.roles:
            raise NotSigned("its certificate is another's")
        if known is not None and member.issued_at < known.member.issued_at:
            member = known.member
        return head, member, key

    def _begin_run(self, host: HostCopy, run: str) -> None:
        id = host.member.id
        before = list(host.rows.values())
        if host.run:
            self.stale_runs(id, host.run)
        host.run, host.rows, host.held = run, {}, 0
        early = self._early.pop(id, {})
        for subject, data in early.values():
            place = self._subjects.place(subject)
            if place is not None and place[1] == run:
                self._take(host, subject, place[2], data)
            elif place is not None:
                self.stale_runs(id, place[1])
        for copy in before:
            if f"{copy.kind}.{copy.id}" not in {f"{c.kind}.{c.id}" for c in host.rows.values()}:
                self._tell(Changed(id, copy, gone=True))

    def take_row(self, subject: str, data: bytes) -> None:
        place = self._subjects.place(subject)
        if place is None or place[0] == self._keys.id or place[0] in self._revoked():
            return
        id, run, rest = place
        host = self.hosts.get(id)
        if host is not None and run == host.run:
            self._take(host, subject, rest, data)
            return
        early = self._early.setdefault(id, {})
        if len(early) < MOST_ROWS and len(self._early) <= MOST_HOSTS:
            early[f"{run}.{rest}"] = (subject, data)

    def _take(self, host: HostCopy, subject: str, rest: str, data: bytes) -> None:
        kind = rest.partition(".")[0]
        try:
            said = envelope(data)
            if said.by != host.member.id or said.key != host.member.seal or kind not in ("p", "s"):
                raise Unsealed("by somebody else")
            row = decode(self._opened(subject, said, host.key), Row)
            if subject != self._subjects.row(host.member.id, host.run, kind, row.id):
                raise Unread("about something else")
        except (Unread, Unsealed) as error:
            self._not_read(subject, error)
            return
        known = host.rows.get(rest)
        if known is not None and known.number >= row.number:
            return  # an older one that comes late
        held = host.held + len(row.view) - (len(known.view) if known is not None else 0)
        if (known is None and len(host.rows) >= MOST_ROWS) or held > MOST_BYTES:
            return
        host.held = held
        word: Kind = "p" if kind == "p" else "s"
        copy = Copy(host.member.id, word, row.id, row.view, row.whole, row.over, row.number, row.at)
        if row.over:
            host.rows.pop(rest, None)
            host.held -= len(row.view)
            self._over[(copy.host, word, copy.id)] = copy
            if len(self._over) > MOST_OVER:
                self._over.popitem(last=False)
        else:
            host.rows[rest] = copy
        self._tell(Changed(host.member.id, copy, gone=row.over))

    def take_beat(self, subject: str, data: bytes) -> None:
        id = subject.rsplit(".", 1)[-1]
        host = self.hosts.get(id)
        if host is None or id in self._revoked():
            return
        try:
            said = envelope(data)
            if said.by != id or said.key != host.member.seal:
                raise Unsealed("by somebody else")
            beat = decode(self._opened(subject, said, host.key), Beat)
        except (Unread, Unsealed) as error:
            self._not_read(subject, error)
            return
        host.heard, host.seen_at, host.gone_at = time.monotonic(), time.time(), 0.0
        host.act_run, host.offset = beat.act_run, beat.now - time.time()
        host.refused, host.why = beat.refused, beat.why
        self._standing(host)

    def _opened(self, subject: str, said: Envelope, key: bytes) -> bytes:
        wrapped = said.to.get(self._keys.id)
        if wrapped is None:
            raise Unsealed("not for this hub")
        return sealing.unseal_one(key, wrapped, said.body, sealing.context("kept", subject))

    def _not_read(self, subject: str, error: Exception) -> None:
        self.unread += 1
        if self.unread < 100 or self.unread % 1000 == 0:  # a stranger's flood is not ours to log
            log.warning("not read: %s: %s", subject, error)

    # --- hosts come and go
    # -------------------------------------------------------------------------------------------

    def absent(self, id: str) -> None:
        """Nobody took what we asked it."""
        host = self.hosts.get(id)
        if host is not None:
            host.heard = float("-inf")
            self._standing(host)

    def line_ended(self) -> None:
        """Nobody is heard any more."""
        for host in self.hosts.values():
            host.heard = float("-inf")
            self._standing(host)

    def look(self) -> None:
        """Who has fallen silent?"""
        for host in self.hosts.values():
            self._standing(host)

    def _standing(self, host: HostCopy) -> None:
        id, online = host.member.id, host.online
        if online != (id in self._online):
            (self._online.add if online else self._online.discard)(id)
            self._tell(Changed(id))

    def remove(self, ids: frozenset[str]) -> None:
        for id in ids & self.hosts.keys():
            host = self.hosts.pop(id)
            self._online.discard(id)
            for copy in host.rows.values():
                self._tell(Changed(id, copy, gone=True))
            self._tell(Changed(id, gone=True))
        for id in ids & self._early.keys():
            del self._early[id]

    def _tell(self, changed: Changed) -> None:
        for listener in list(self.listeners):
            listener(changed)

    # --- to be shown
    # -------------------------------------------------------------------------------------------------

    def all(self, kind: Kind) -> Iterator[Copy]:
        for host in self.hosts.values():
            for copy in host.rows.values():
                if copy.kind == kind:
                    yield copy

    def find(self, kind: Kind, name: str, most: int = 6) -> list[Copy]:
        """Those of this id, also one that is over; else those whose id begins like this."""
        exact = [copy for copy in self.all(kind) if copy.id == name]
        if exact or not name:
            return exact
        over = [copy for copy in self._over.values() if copy.kind == kind and copy.host in self.hosts]
        alike = (copy for copies in (self.all(kind), over) for copy in copies if copy.id.startswith(name))
        found = [copy for copy in over if copy.id == name] or list(islice(alike, most))
        return list({(copy.host, copy.id): copy for copy in found}.values())
