"""A machine in a fleet, as the server sees it: the node, the other machines, and what is done at a desk.

Rule: decides nothing about an answer; it signs with this home's own key only what came by the user's own
socket."""

from __future__ import annotations

import asyncio
import hashlib
import json
import logging
import re
import secrets
import time
from collections.abc import AsyncIterator, Sequence
from pathlib import Path
from typing import Any, cast
from urllib.parse import quote

import msgspec
from msgspec import Raw
from msgspec.structs import replace

from yourcall import __version__
from yourcall.daemon.fleet.notices import FleetNotices
from yourcall.daemon.fleet.others import OtherHosts, host_view, ref_of
from yourcall.daemon.fleet.this_host import Needs, Rows, ThisHost
from yourcall.fleet.acts import Act, digest_of, statement
from yourcall.fleet.bus import Away, Unanswered
from yourcall.fleet.certificates import Member, Signed, device_id, fingerprint
from yourcall.fleet.copies import HostCopy
from yourcall.fleet.envelopes import Told
from yourcall.fleet.membership import Membership
from yourcall.fleet.node import Node
from yourcall.fleet.shown import shown_digest
from yourcall.model.prompts import Refused
from yourcall.server import scopes
from yourcall.server.fleet.forward import NOT_LET_IN
from yourcall.server.fleet.port import Found, Kind, Listed, Remote
from yourcall.server.fleet.wire import FleetDevice, FleetView, HostRef, HostView, InvitationView, Role
from yourcall.server.project import Here
from yourcall.server.signatures import steady_clock
from yourcall.system.p256 import sign, unb64

log = logging.getLogger(__name__)

# A clock that is further off is set wrong by hand: nothing is signed for it.
MOST_OFFSET_S = 3_900.0
# From here on people are told that a clock is off.
TOLD_OFFSET_S = 60.0

LOOKS_AT_ONCE = 64
IS_THERE_S = 1.0

_ACT = re.compile(
    r"device=(?P<device>[a-z2-7]{16}), host=(?P<host>[a-z2-7]{16}), id=(?P<id>[A-Za-z0-9_-]{12,64}), "
    r"run=(?P<run>[A-Za-z0-9_-]{12,64}), time=(?P<time>[0-9]{1,15}), digest=(?P<digest>[A-Za-z0-9_-]{43}), "
    r"shown=(?P<shown>[A-Za-z0-9_-]{43})?, signature=(?P<signature>[A-Za-z0-9_-]{86})",
    re.ASCII,
)

NO_DESK = (
    "This machine shows the others, but may not act on them. Let it in again with a desk: yourcall fleet invite,"
    " on the machine with the authority."
)


class FleetParts:
    def __init__(self, home: Path, membership: Membership, needs: Needs) -> None:
        self._home, self._needs = home, needs
        self._clock = steady_clock()
        self.node = Node(home, membership, ThisHost(needs), Rows(needs), __version__, self._clock)
        self._others = OtherHosts(self.node, needs.store)
        self.node.rows.tells = needs.telling.tells
        is_hub = self.node.is_a("hub")
        self._notices = FleetNotices(self.node, self._others, needs.telling) if is_hub else None
        self.node.renamed = self._name
        self._name()

    def _name(self) -> None:
        me = self.node.me
        Here.host = HostRef(me.id, me.name, "online", 0.0, self.node.acts.run, 0.0)

    async def run(self) -> None:
        telling = asyncio.create_task(self._notices.run()) if self._notices is not None else None
        try:
            await self.node.run()
        finally:
            if telling is not None:
                telling.cancel()
                await asyncio.gather(telling, return_exceptions=True)

    def may(self, device: str) -> tuple[str, ...] | None:
        return self.node.host.may(device)

    async def leave(self) -> bool:
        return await self.node.leave()

    async def close(self, *, stop_server: bool) -> None:
        if self._notices is not None:
            await self._notices.close()
        await self._others.close()
        await self.node.close(stop_server=stop_server)

    def ended(self) -> None:
        Here.host = None

    # --- the other machines
    # --------------------------------------------------------------------------------------------

    @property
    def me(self) -> HostRef:
        assert Here.host is not None
        return Here.host

    async def listed(self, kind: Kind) -> Sequence[Listed]:
        return await self._others.listed(kind)

    def find(self, kind: Kind, name: str) -> Sequence[Found]:
        return self._others.find(kind, name)

    def ref(self, host: str) -> HostRef | None:
        found = self.node.copies.hosts.get(host)
        return ref_of(found) if found is not None else None

    def host(self, name: str) -> str | Refused:
        """The id of the machine of this name or id."""
        known = [self.node.me, *(each.member for each in self.node.copies.hosts.values()), *self._unheard()]
        exact = [each.id for each in known if each.id == name]
        alike = exact or [each.id for each in known if each.name.casefold() == name.casefold()]
        if len(set(alike)) == 1:
            return alike[0]
        if alike:
            return Refused(f"Several machines are called {name!r}; give the id: {', '.join(alike)}.")
        return Refused(f"There is no machine {name[:60]!r} in the fleet. See: yourcall hosts")

    async def last_known(self, kind: Kind, host: str, id: str) -> Raw | None:
        return await self._others.last_known(kind, host, id)

    def floor(self) -> int:
        return self._others.floor()

    def news(self, after: int | None) -> AsyncIterator[bytes]:
        return self._others.news(after)

    # --- asking
    # --------------------------------------------------------------------------------------------------------

    async def look(self, host: str, target: str, method: str, body: bytes) -> Remote:
        return await self._ask(host, method, target, body, None, None)

    async def signed(
        self, host: str, target: str, method: str, body: bytes, header: str, key: str
    ) -> Remote | Refused:
        """As a browser has signed it; its certificate goes with it."""
        found = _ACT.fullmatch(header) if len(header) < 600 else None
        point = unb64(key)
        signed = self.node.membership.devices.get(device_id(point)) if point is not None else None
        if signed is None:
            return Refused(NOT_LET_IN)
        if found is None:
            return Refused("What this device has signed cannot be read.")
        words = {name: value or "" for name, value in found.groupdict().items()}
        act = Act(
            words["host"], words["device"], words["id"], words["run"], int(words["time"]), words["digest"],
            words["shown"], words["signature"],
        )  # fmt: skip
        return await self._ask(host, method, target, body, act, signed)

    async def desk(self, host: str, target: str, method: str, body: bytes, prompt_id: str) -> Remote | Refused:
        """Signed with this home's own key: a person at this machine wants it."""
        desk, there = self.node.membership.desk, self.node.copies.hosts.get(host)
        if desk is None:
            return Refused(NO_DESK)
        if there is None:
            return Refused("There is no such machine in the fleet. See: yourcall hosts")
        if abs(there.offset or 0.0) > MOST_OFFSET_S:
            hours = abs(there.offset or 0.0) / 3600
            return Refused(f"The clock of {there.member.name} is {hours:.1f} hours off. Set it right first.")
        if not there.online:
            return _away(there)
        shown = ""
        if prompt_id and target.partition("?")[0].endswith("/answer"):
            view = self._others.known_view(host, prompt_id) or await self._fresh(there, prompt_id)
            if isinstance(view, Remote):
                return view
            shown = shown_digest(view, host, there.member.name)
            body = _saying(body, "seen", view.get("version"))
        run, now = there.act_run, int((self._clock() + (there.offset or 0.0)) * 1000)
        told = await self._as_desk(there, desk, (method, target, body, shown), secrets.token_hex(12), run, now)
        if told.stale is not None:
            run, now = told.stale
            if abs(now / 1000 - self._clock()) > MOST_OFFSET_S:
                return Refused(f"The clock of {there.member.name} is hours off. Set it right first.")
            told = await self._as_desk(there, desk, (method, target, body, shown), secrets.token_hex(12), run, now)
        return told

    async def _as_desk(
        self, host: HostCopy, desk: Signed, what: tuple[str, str, bytes, str], id: str, run: str, now: int
    ) -> Remote:
        method, target, body, shown = what
        device = self.node.membership.device(desk)
        act = Act(host.member.id, device.id, id, run or "unknown-run-yet", now, digest_of(body), shown)
        text = statement(self.node.membership.fleet, act, method, target)
        act = replace(act, signature=sign(self.node.keys.desk, text))
        return await self._ask(host.member.id, method, target, body, act, desk)

    async def _fresh(self, host: HostCopy, prompt_id: str) -> dict[str, Any] | Remote:
        told = await self.look(host.member.id, f"/api/prompts/{quote(prompt_id, safe='')}", "GET", b"")
        if told.away or told.doubt or told.status != 200:
            return replace(told, away=told.away or told.doubt, doubt="") if told.away or told.doubt else told
        return msgspec.json.decode(told.body, type=dict[str, Any])

    async def _ask(
        self, host: str, method: str, target: str, body: bytes, act: Act | None, device: Signed | None
    ) -> Remote:
        there = self.node.copies.hosts.get(host)
        if there is None:
            return Remote(404, b'{"error":"There is no such machine in the fleet. See: yourcall hosts"}')
        if not self.node.bus.up:
            why = self.node.bus.problem or "there is no line to NATS"
            return Remote(503, b"", away=f"{there.member.name} cannot be reached: {why}. Nothing was sent.")
        try:
            told: Told = await self.node.hub.ask(there, method, target, body, act, device, wait=_wait_of(body))
        except Away:
            return _away(there)
        except Unanswered as error:
            if act is None:
                return Remote(504, b"", away=f"{there.member.name} does not answer: {error}.")
            words = f"{there.member.name} was asked and did not answer: {error}. It may have been done."
            return Remote(504, b"", doubt=words)
        stale = (told.stale_run, told.now) if told.stale_run else None
        return Remote(told.status, told.body, stale=stale)

    # --- at a desk
    # -----------------------------------------------------------------------------------------------------

    async def hosts(self) -> Sequence[HostView]:
        """Each that seems to be there is asked: a machine that fell over says nothing."""
        room = asyncio.Semaphore(LOOKS_AT_ONCE)

        async def is_there(host: HostCopy) -> None:
            async with room:
                try:
                    async with asyncio.timeout(IS_THERE_S):
                        await self.node.hub.ask(host, "GET", "/api/status")
                except (Away, Unanswered, TimeoutError):
                    self.node.copies.absent(host.member.id)

        await asyncio.gather(*(is_there(each) for each in self.node.copies.hosts.values() if each.online))
        return self._views()

    def _views(self) -> list[HostView]:
        me, host = self.node.me, self.node.host
        states, sessions = self._needs.store.counts()
        prompts = sum(states.values())
        own = HostView(
            me.id, me.name, "online", time.time(), __version__, True, me.roles, prompts, sessions, 0.0,
            host.refused, host.why,
        )  # fmt: skip
        others = sorted(
            self.node.copies.hosts.values(), key=lambda each: (each.member.name.casefold(), each.member.id)
        )
        unheard = [
            HostView(each.id, each.name, "offline", 0.0, "", roles=each.roles)
            for each in sorted(self._unheard(), key=lambda each: each.name.casefold())
        ]
        return [own, *(host_view(each) for each in others), *unheard]

    def _unheard(self) -> list[Member]:
        """Members that were let in and never spoke as a host: hubs, and machines that went away at once."""
        heard = {self.node.me.id, *self.node.copies.hosts}
        members = self.node.authority.members() if self.node.authority.here else []
        return [each for each in members if each.id not in heard]

    async def view(self, key: str) -> FleetView:
        node, point = self.node, unb64(key) if key else None
        mine = device_id(point) if point is not None and device_id(point) in node.membership.devices else ""
        return FleetView(
            fleet=node.membership.fleet,
            name=node.membership.name,
            fingerprint=fingerprint(node.membership.authority),
            me=self.me,
            roles=node.me.roles,
            addresses=node.membership.addresses,
            line=node.bus.up,
            problem=node.bus.problem,
            authority=node.authority.here,
            device="" if mine in node.roster.revoked else mine,
            leader=self._notices is not None and self._notices.lease.held,
            hosts=tuple(self._views()),
            warnings=tuple(self._warnings()),
        )

    def _warnings(self) -> list[str]:
        said: list[str] = []
        for host in self.node.copies.hosts.values():
            if host.offset is not None and abs(host.offset) > TOLD_OFFSET_S:
                minutes = abs(host.offset) / 60
                way = "ahead of" if host.offset > 0 else "behind"
                said.append(f"The clock of {host.member.name} is {minutes:.0f} minutes {way} this machine's.")
            if host.refused:
                said.append(f"{host.member.name} has refused {host.refused} requests; the last: {host.why}")
        return said

    def invite(self, roles: tuple[Role, ...]) -> InvitationView | Refused:
        code = self.node.invite(roles)
        return code if isinstance(code, Refused) else InvitationView(code.text(), float(code.ends_at))

    async def rename(self, host: str, name: str) -> Refused | None:
        found = self.host(host)
        return found if isinstance(found, Refused) else await self.node.rename(found, name)

    async def remove(self, host: str) -> Refused | None:
        found = self.host(host)
        if isinstance(found, Refused):
            return found
        if found == self.node.me.id:
            return Refused("This is the machine you are at: yourcall fleet leave")
        return await self.node.remove((found,))

    def devices(self) -> Sequence[FleetDevice]:
        allowed = {each.id: each for each in self.node.authority.devices()} if self.node.authority.here else {}
        for signed in self.node.membership.devices.values():
            each = self.node.membership.device(signed)
            if each.id not in self.node.roster.revoked:
                allowed[each.id] = each
        made = [
            FleetDevice(each.id, each.name, True, _check(each.key), each.home, each.scopes)
            for each in allowed.values()
        ]
        here = [each for each in self._needs.devices.all() if each.public_key and each.revoked_at is None]
        for each in here:
            point = unb64(each.public_key)
            if point is not None and device_id(point) not in allowed:
                made.append(
                    FleetDevice(each.id, each.name, False, _check(point), "", tuple(each.scopes.split(",")))
                )
        return made

    async def allow(self, device: str) -> FleetDevice | Refused:
        here = [each for each in self._needs.devices.all() if each.public_key and each.revoked_at is None]
        found = [each for each in here if device in (each.id, each.name)]
        point = unb64(found[0].public_key) if len(found) == 1 else None
        if point is None:
            return Refused(f"There is no paired phone or browser {device!r} here. See: yourcall fleet devices")
        may = tuple(each for each in scopes.in_order(found[0].scopes.split(",")) if each != "admin")
        signed = await self.node.allow(found[0].name, point, may)
        if isinstance(signed, Refused):
            return signed
        made = self.node.membership.device(signed)
        return FleetDevice(made.id, made.name, True, _check(point), "", made.scopes)

    async def disallow(self, device: str) -> Refused | None:
        found = [each for each in self.devices() if each.allowed and device in (each.id, each.name)]
        if len(found) != 1:
            return Refused(f"There is no device {device!r} in the fleet. See: yourcall fleet devices")
        return await self.node.remove((found[0].id,))

    def metrics(self) -> str:
        return ""


def _away(host: HostCopy) -> Remote:
    since = f" since {time.strftime('%H:%M', time.localtime(host.seen_at))}" if host.seen_at else ""
    return Remote(
        503, b"", away=f"{host.member.name} is away{since}. Nothing was sent, and nothing will be later."
    )


def _wait_of(body: bytes) -> float:
    """How long the request itself is willing to wait for an answer's proof."""
    if b'"wait"' not in body:
        return 0.0
    try:
        found: object = cast("dict[str, object]", json.loads(body)).get("wait", 0)
    except (ValueError, AttributeError, RecursionError):
        return 0.0
    return min(max(float(found), 0.0), 60.0) if isinstance(found, int | float) else 0.0


def _saying(body: bytes, name: str, value: object) -> bytes:
    """The same JSON object with this field, unless it has it; the rest letter by letter as it came."""
    try:
        known: object = json.loads(body)
    except (ValueError, RecursionError):
        return body
    if not isinstance(known, dict) or cast("dict[str, object]", known).get(name):
        return body
    rest = body.strip()[1:]
    comma = b"" if rest.strip() == b"}" else b","
    return b"{" + json.dumps(name).encode() + b":" + json.dumps(value).encode() + comma + rest


def _check(point: bytes) -> str:
    """For people to compare with what the device shows."""
    return hashlib.sha256(point).hexdigest()[:8]
