"""One machine in a fleet: its line to NATS, and what it is there (host, hub, authority), set up anew on each
line.

Rule: the roster comes first. Whoever comes back learns who was removed before it takes any request.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import logging
import secrets
import time
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any, Protocol

from msgspec.structs import replace

from yourcall.fleet import membership as memberships
from yourcall.fleet import nats_server, sealing
from yourcall.fleet.acts import Acts
from yourcall.fleet.admission import DESK_SCOPES, Code, Invitation, Invitations
from yourcall.fleet.authority import Authority
from yourcall.fleet.bus import Away, Bus, Credentials, Message, Unanswered, tls_context
from yourcall.fleet.certificates import Member, MemberRole, NotSigned, Roster, Signed, device_id, verify
from yourcall.fleet.copies import Copies
from yourcall.fleet.envelopes import Joined, JoinRequest, Leaving, Unread, decode, encode, envelope, wrapped
from yourcall.fleet.host import CERTIFICATE, Here, Host
from yourcall.fleet.hub import Hub
from yourcall.fleet.keys import Keys
from yourcall.fleet.membership import Membership
from yourcall.fleet.rows import RowPublisher
from yourcall.fleet.sealing import Unsealed
from yourcall.fleet.subjects import Subjects, inbox
from yourcall.model.prompts import Refused
from yourcall.system.tasks import Tasks

log = logging.getLogger(__name__)

STATE_BYTES, CONTROL_BYTES = 2 << 30, 256 << 20
EXPIRE_S = 5.0


class Source(Protocol):
    """Where a host's rows come from."""

    async def follow(self, rows: RowPublisher, /) -> None: ...


class Node:
    def __init__(
        self,
        home: Path,
        membership: Membership,
        here: Here,
        source: Source,
        version: str,
        clock: Callable[[], float] = time.time,
    ) -> None:
        self.home, self.membership, self._version, self._source = home, membership, version, source
        self.folder = memberships.folder_of(home)
        self.keys = Keys.load(self.folder)
        self.subjects = Subjects(membership.fleet)
        self.me: Member = membership.me
        self.roster: Roster = membership.known_roster
        self.removed = self.me.id in self.roster.revoked
        self.authority = Authority(self.folder)
        self.invitations = Invitations(self.authority)
        self.server = (
            nats_server.NatsServer(self.folder, membership.embedded, membership.fleet)
            if membership.embedded
            else None
        )
        creds = Path(membership.creds) if membership.creds else None
        tls = (
            tls_context(membership.tls)
            if any(a.startswith(("tls:", "wss:")) for a in membership.addresses)
            else None
        )
        self.bus = Bus(self._addresses(), Credentials(self.keys.nats, creds), inbox(self.me.id), tls, self.me.id)
        self.acts = Acts(secrets.token_urlsafe(12), clock)
        self.rows = RowPublisher(
            self.bus, self.subjects, self.keys, lambda: self.membership.member, self.acts.run, version, clock
        )
        self.host = Host(
            self.bus,
            self.subjects,
            self.keys,
            membership.authority,
            lambda: self.me,
            lambda: self.roster,
            self.newer,
            here,
            self.acts,
            self.take_certificate,
        )
        self.rows.refusals = lambda: (self.host.refused, self.host.why)
        self.copies = Copies(
            self.subjects, self.keys, membership.authority, lambda: frozenset(self.roster.revoked)
        )
        self.copies.stale_runs = self._stale_run
        self.hub = Hub(self.bus, self.subjects, self.keys, self.copies, lambda: self.roster.serial)
        self._tasks = Tasks()
        self._line = Tasks()  # ends with the line
        self._asked_newer = 0.0
        self.renamed: Callable[[], None] = lambda: None
        self.extras: list[Callable[[], Awaitable[None]]] = []  # what else begins with each line

    def _addresses(self) -> list[str]:
        embedded = self.membership.embedded
        own = [f"tls://127.0.0.1:{embedded.port}"] if embedded is not None else []
        return [*own, *(each for each in self.membership.addresses if each not in own)]

    def is_a(self, role: MemberRole) -> bool:
        return role in self.me.roles

    # --- the line
    # ----------------------------------------------------------------------------------------------------

    async def run(self) -> None:
        """Until cancelled."""
        if self.server is not None:
            self._configure()
            await self.server.start()
            self._tasks.spawn(self.server.keep_up())
        if self.authority.here:
            self._tasks.spawn(self._expire())
        self._tasks.spawn(self._source.follow(self.rows))
        if self.is_a("hub"):
            self._tasks.spawn(self.hub.look())
        try:
            await self.bus.run(self._begin, self._ended)
        finally:
            await self._line.close()
            await self._tasks.close()
            await self.host.close()

    async def close(self, *, stop_server: bool) -> None:
        """Say goodbye; then the server that we run may stop, too."""
        if self.bus.up and self.is_a("host") and not self.removed:
            try:
                async with asyncio.timeout(2):
                    await self.rows.head(gone_at=time.time())
            except (Away, Unanswered, TimeoutError):
                pass
        if stop_server and self.server is not None:
            await self.server.stop()

    async def _begin(self) -> None:
        if self.authority.here:
            await self._keep_streams()
            await self._publish_roster()
        await self._fetch_roster()
        await self.bus.subscribe(self.subjects.roster, self._roster_heard)
        if self.removed:
            self.bus.problem = "this machine was removed from the fleet"
            return
        if self.authority.here:
            await self.bus.subscribe(self.subjects.join("*"), self._join_heard)
            await self.bus.subscribe(self.subjects.authority, self._leaving_heard)
        if self.is_a("host"):
            await self.host.begin()
            await self.bus.subscribe(self.subjects.roll, self._roll_heard)
            self.rows.for_hubs(self.roster)
            self._line.spawn(self._guarded(self.rows.run()))
        if self.is_a("hub"):
            await self.hub.begin()
            for extra in self.extras:
                await extra()

    async def _ended(self) -> None:
        await self._line.close()
        self.copies.line_ended()

    async def _guarded(self, work: Awaitable[None]) -> None:
        """What fails here is said, and the next line begins it again."""
        try:
            await work
        except (Away, Unanswered) as error:
            log.info("the line to NATS ended: %s", error)
        except Exception:
            log.exception("telling the hubs failed")

    async def _roll_heard(self, _message: Message) -> None:
        await asyncio.sleep(secrets.randbelow(300) / 1000)  # a thousand hosts are asked at once
        with contextlib.suppress(Away):
            await self.rows.beat()

    # --- the roster
    # ----------------------------------------------------------------------------------------------------

    async def _fetch_roster(self) -> None:
        stream, subject = self.subjects.control_stream, self.subjects.roster
        message = await self.bus.request(f"$JS.API.DIRECT.GET.{stream}.{subject}", b"", 5)
        if message.headers and message.headers.get("Status"):
            raise Away("NATS has no roster of this fleet")
        self._take_roster(message.data)

    async def _roster_heard(self, message: Message) -> None:
        self._take_roster(message.data)

    def _take_roster(self, data: bytes) -> None:
        try:
            signed = decode(data, Signed, 2 << 20)
            roster = verify(self.membership.authority, signed, Roster, self.membership.fleet)
        except (Unread, NotSigned) as error:
            log.warning("a roster was not taken: %s", error)
            return
        if roster.serial <= self.roster.serial:
            return
        gone = frozenset(roster.revoked) - frozenset(self.roster.revoked)
        self.roster = roster
        self.removed = self.me.id in roster.revoked
        self._keep(replace(self.membership, roster=signed))
        self.copies.remove(gone)
        if self.removed:
            log.warning("this machine was removed from the fleet %s", self.membership.name)
            self._tasks.spawn(self.host.close())
        elif self.is_a("host"):
            self.rows.for_hubs(roster)

    async def newer(self, serial: int) -> None:
        """Somebody knows a newer roster, or we do not know somebody."""
        now = time.monotonic()
        if serial <= self.roster.serial or now - self._asked_newer < 1.0:
            return
        self._asked_newer = now
        try:
            await self._fetch_roster()
        except (Away, Unanswered):
            log.warning("the roster could not be fetched")

    def _keep(self, membership: Membership) -> None:
        self.membership = membership
        memberships.write(self.home, membership)

    # --- at the authority's desk
    # ---------------------------------------------------------------------------------------

    async def _keep_streams(self) -> None:
        """Both streams, as they should be; those that are there are left as they are unless they differ."""
        subjects = self.subjects
        for name, under, most in (
            (subjects.state_stream, [f"{subjects.root}.row.>", subjects.head("*")], STATE_BYTES),
            (
                subjects.control_stream,
                [subjects.roster, subjects.lease, f"{subjects.root}.told.*"],
                CONTROL_BYTES,
            ),
        ):
            config: dict[str, Any] = {
                "name": name, "subjects": under, "max_bytes": most, "discard": "new", "storage": "file",
                "max_msgs_per_subject": 1, "allow_direct": True, "allow_msg_ttl": True, "max_msg_size": 1 << 20,
            }  # fmt: skip
            found = await self._stream("INFO", name, b"")
            there: dict[str, Any] = found.get("config", {})
            if "error" in found:
                told = await self._stream("CREATE", name, json.dumps(config).encode())
            elif any(there.get(key) != value for key, value in config.items()):
                told = await self._stream("UPDATE", name, json.dumps({**there, **config}).encode())
            else:
                continue
            if "error" in told:
                raise Away(f"NATS does not keep a stream for the fleet: {told['error'].get('description', '')}")

    async def _stream(self, verb: str, name: str, wish: bytes) -> dict[str, Any]:
        return json.loads((await self.bus.request(f"$JS.API.STREAM.{verb}.{name}", wish, 5)).data)

    async def _publish_roster(self) -> None:
        await self.bus.request(self.subjects.roster, encode(self.membership.roster), 5)

    async def _new_roster(self) -> None:
        """Who belongs has changed: say so to NATS, and to everybody."""
        signed = self.authority.roster()
        self._configure()
        self._take_roster(encode(signed))
        if self.bus.up:
            await self._publish_roster()

    def _configure(self) -> None:
        if self.server is not None and self.authority.here:
            keys = self.invitations.keys()
            people = nats_server.users(self.subjects, self.authority.members(), self.me.id, keys)
            self.server.configure(people)

    async def _expire(self) -> None:
        while True:
            await asyncio.sleep(EXPIRE_S)
            if self.invitations.expire():
                self._configure()

    def invite(self, roles: tuple[MemberRole, ...]) -> Code | Refused:
        if not self.authority.here:
            return Refused(
                "The authority is not on this machine. Invite from the machine where it is, or bring it here: "
                "yourcall fleet authority import FILE"
            )
        code = self.invitations.new(self.membership.addresses, roles)
        if isinstance(code, Code):
            self._configure()
        return code

    async def _join_heard(self, message: Message) -> None:
        before = self.roster.serial
        reply = self.invitations.take(message.subject.rsplit(".", 1)[-1], message.data, self._admit)
        if reply is not None and message.reply:
            await self.bus.publish(message.reply, reply)
            await self.bus.flush()
        self._configure()
        if self.roster.serial != before and self.bus.up:
            await self._publish_roster()

    def _admit(self, wish: JoinRequest, invitation: Invitation) -> Joined:
        roles = invitation.roles
        member = self.authority.admit(wish.name, wish.seal, wish.nats, tuple(r for r in roles))
        if isinstance(member, Refused):
            return Joined(refused=member.reason)
        made = verify(self.membership.authority, member, Member, self.membership.fleet)
        desk = None
        if "desk" in roles:
            allowed = self.authority.allow(f"{made.name} (desk)"[:60], wish.desk, DESK_SCOPES, made.id)
            desk = allowed if isinstance(allowed, Signed) else None
        if "hub" in roles:
            self._take_roster(encode(self.authority.roster()))
        return Joined(
            member=member,
            desk=desk,
            roster=self.membership.roster,
            fleet=self.membership.fleet,
            fleet_name=self.membership.name,
            tls=self.membership.tls,
            addresses=self.membership.addresses,
            authority_member=self.me.id,
        )

    async def rename(self, id: str, name: str) -> Refused | None:
        """A certificate with another name; the machine itself must be there to take it."""
        if not self.authority.here:
            return Refused("The authority is not on this machine, and names are its to give.")
        there = self.copies.hosts.get(id)
        if id != self.me.id and (there is None or not there.online):
            return Refused("This machine is away. Rename it when it is back.")
        made = self.authority.rename(id, name)
        if isinstance(made, Refused):
            return made
        if there is None:
            return self.take_certificate(made)
        try:
            told = await self.hub.ask(there, "POST", CERTIFICATE, encode(made))
        except (Away, Unanswered) as error:
            return Refused(f"The new name did not reach it: {error}. Try again.")
        return None if told.status == 200 else Refused("The machine did not take its new name.")

    def take_certificate(self, signed: Signed) -> Refused | None:
        """The authority says anew who we are."""
        try:
            member = verify(self.membership.authority, signed, Member, self.membership.fleet)
        except NotSigned as error:
            return Refused(f"The certificate is {error}.")
        if member.id != self.me.id or member.seal != self.me.seal or member.issued_at < self.me.issued_at:
            return Refused("The certificate is another's, or an older one.")
        self.me = member
        self._keep(replace(self.membership, member=signed))
        self.renamed()
        if self.bus.up:
            self._tasks.spawn(self._guarded(self.rows.head()))
        return None

    async def allow(self, name: str, key: bytes, may: tuple[str, ...]) -> Signed | Refused:
        """Let a phone that is paired here sign for the fleet."""
        if not self.authority.here:
            return Refused("The authority is not on this machine, and only it can let a device in.")
        made = self.authority.allow(name, key, may)
        if isinstance(made, Signed):
            self._keep(replace(self.membership, devices={**self.membership.devices, device_id(key): made}))
        return made

    async def remove(self, ids: tuple[str, ...]) -> Refused | None:
        """Members or devices: out at once, everywhere."""
        if not self.authority.here:
            return Refused("The authority is not on this machine, and only it can remove somebody.")
        self.authority.remove(ids)
        await self._new_roster()
        for id in ids:
            self._tasks.spawn(self._purge(f"{self.subjects.root}.row.{id}.>"))
            self._tasks.spawn(self._purge(self.subjects.head(id)))
        return None

    def _stale_run(self, host: str, run: str) -> None:
        if self.authority.here and self.bus.up:
            self._tasks.spawn(self._purge(self.subjects.rows_of(host, run)))

    async def _purge(self, subject: str) -> None:
        try:
            wish = json.dumps({"filter": subject}).encode()
            await self.bus.request(f"$JS.API.STREAM.PURGE.{self.subjects.state_stream}", wish, 5)
        except (Away, Unanswered):
            log.info("NATS still keeps %s", subject)

    async def _leaving_heard(self, message: Message) -> None:
        """A member goes of its own accord: only it can say so, for it has its key."""
        try:
            said = envelope(message.data)
            member = next((each for each in self.authority.members() if each.id == said.by), None)
            if member is None or member.seal != said.key or member.id == self.me.id:
                return
            key = sealing.shared_key(self.keys.seal, said.key, self.subjects.fleet)
            decode(sealing.unseal(key, said.body, sealing.context("leave", said.by)), Leaving)
        except (Unread, Unsealed) as error:
            log.warning("somebody's goodbye was not read: %s", error)
            return
        if message.reply:
            await self.bus.publish(message.reply, b"")
        await self.remove((member.id,))

    async def leave(self) -> bool:
        """Tell the authority that we go; False if it could not be told."""
        hub = next((hub for hub in self.roster.hubs if hub.id == self.membership.authority_member), None)
        if hub is None or self.authority.here:
            return self.authority.here
        key = sealing.shared_key(self.keys.seal, hub.seal, self.subjects.fleet)
        sealed = sealing.seal(key, encode(Leaving(time.time())), sealing.context("leave", self.me.id))
        try:
            await self.bus.request(self.subjects.authority, wrapped(self.me.id, self.keys.seal_public, sealed), 3)
        except (Away, Unanswered):
            return False
        return True
