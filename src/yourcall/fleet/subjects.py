"""The subjects of a fleet, and who may use which: the permissions that NATS itself enforces.

    yc.FLEET.row.HOST.RUN.KIND.TOKEN   the latest state of one prompt or session (host → hubs, kept)
    yc.FLEET.head.HOST                 which run of the host counts, and who it is (host → hubs, kept)
    yc.FLEET.beat.HOST                 it is alive (host → hubs)
    yc.FLEET.roll                      everybody, beat now (hub → hosts)
    yc.FLEET.ask.HOST                  a request to one host (hub → host; the reply goes to the hub's inbox)
    yc.FLEET.roster                    who are the hubs, who was removed (authority → all, kept)
    yc.FLEET.lease                     which hub tells people (hubs, kept)
    yc.FLEET.told.NOTICE               what was told to whom (hubs, kept)
    yc.FLEET.authority                 a request to the authority (members → authority)
    yc.FLEET.join.INVITATION           whoever has an invitation → authority
    _yc.ID.>                           the inbox of one member, and of nobody else

Rule: a permission names what is allowed; all else is refused. Names and titles are in no subject.
"""

from __future__ import annotations

import base64
import hashlib
from collections.abc import Sequence
from typing import Any, Literal

from msgspec import Struct

Role = Literal["host", "hub", "authority"]


class Subjects(Struct, frozen=True):
    fleet: str

    @property
    def root(self) -> str:
        return f"yc.{self.fleet}"

    @property
    def roster(self) -> str:
        return f"{self.root}.roster"

    @property
    def roll(self) -> str:
        return f"{self.root}.roll"

    @property
    def lease(self) -> str:
        return f"{self.root}.lease"

    @property
    def authority(self) -> str:
        return f"{self.root}.authority"

    @property
    def state_stream(self) -> str:
        """Rows and heads: what hubs hold copies of."""
        return f"yc_{self.fleet}_state"

    @property
    def control_stream(self) -> str:
        return f"yc_{self.fleet}_control"

    def ask(self, host: str) -> str:
        return f"{self.root}.ask.{host}"

    def head(self, host: str) -> str:
        return f"{self.root}.head.{host}"

    def beat(self, host: str) -> str:
        return f"{self.root}.beat.{host}"

    def row(self, host: str, run: str, kind: str, id: str) -> str:
        return f"{self.root}.row.{host}.{run}.{kind}.{token(id)}"

    def rows_of(self, host: str, run: str = "") -> str:
        return f"{self.root}.row.{host}.{run + '.' if run else ''}>"

    def join(self, invitation: str) -> str:
        return f"{self.root}.join.{invitation}"

    def told(self, key: str) -> str:
        return f"{self.root}.told.{token(key)}"

    def place(self, subject: str) -> tuple[str, str, str] | None:
        """Of a row: its host, its run and the rest."""
        parts = subject.split(".")
        if len(parts) != 7 or not subject.startswith(f"{self.root}.row."):
            return None
        return parts[3], parts[4], f"{parts[5]}.{parts[6]}"


def token(id: str) -> str:
    """An id as a part of a subject: agents choose ids, and some tell a path or hold a dot."""
    return base64.b32encode(hashlib.sha256(id.encode("utf-8", "surrogatepass")).digest())[:26].decode().lower()


def inbox(member: str) -> str:
    return f"_yc.{member}"


def permissions(subjects: Subjects, member: str, roles: tuple[Role, ...], hubs: Sequence[str]) -> dict[str, Any]:
    """As NATS reads them, for one member. `hubs`: whose requests it replies to.

    Not by `allow_responses`: the server forgets to whom somebody may reply as soon as it reads its
    configuration anew, and a reply that is under way then would be lost."""
    publish: list[str] = [subjects.authority, f"$JS.API.DIRECT.GET.{subjects.control_stream}.{subjects.roster}"]
    subscribe: list[str] = [subjects.roster, f"{inbox(member)}.>"]
    if "host" in roles:
        publish += [f"{subjects.root}.row.{member}.>", subjects.head(member), subjects.beat(member)]
        publish += [f"{inbox(hub)}.>" for hub in hubs if hub != member]
        subscribe += [subjects.ask(member), subjects.roll]
    if "hub" in roles:
        state, control = subjects.state_stream, subjects.control_stream
        publish += [
            subjects.ask("*"),
            subjects.roll,
            subjects.lease,
            f"{subjects.root}.told.*",
            f"$JS.API.CONSUMER.CREATE.{state}.>",
            f"$JS.API.CONSUMER.DELETE.{state}.>",
            f"$JS.API.CONSUMER.CREATE.{control}.*.{subjects.root}.told.*",
            f"$JS.API.CONSUMER.DELETE.{control}.>",
            f"$JS.API.DIRECT.GET.{control}.{subjects.lease}",
        ]
        subscribe += [
            f"{subjects.root}.row.>",
            subjects.head("*"),
            subjects.beat("*"),
            subjects.lease,
            f"{subjects.root}.told.*",
        ]
    if "authority" in roles:
        publish += [subjects.roster, "$JS.API.>", f"{inbox('*')}.>"]
        subscribe += [subjects.authority, subjects.join("*")]
    return {"publish": {"allow": publish}, "subscribe": {"allow": subscribe}}


def invited(subjects: Subjects, invitation: str) -> dict[str, Any]:
    """What whoever holds an invitation may do: use it."""
    return {
        "publish": {"allow": [subjects.join(invitation)]},
        "subscribe": {"allow": [f"{inbox(invitation)}.>"]},
    }
