"""What goes over HTTP about the fleet.

Rule: as in `server/wire.py`: a field is added, never renamed or taken away.
"""

from __future__ import annotations

from typing import Annotated, Literal

from msgspec import Meta, Struct

Role = Literal["host", "hub", "desk"]
Standing = Literal["online", "offline"]


class HostRef(Struct, frozen=True):
    """The machine that a prompt or a session is of. `run` and `offset`: what a device signs for it with: the
    run of its daemon, and how far its clock is ahead of this one, in seconds."""

    id: str
    name: str
    state: Standing = "online"
    seen_at: float = 0.0
    run: str = ""
    offset: float = 0.0


class HostView(Struct, frozen=True):
    """A machine of the fleet. `offset`: how far its clock is ahead, in seconds; null until it was heard.
    `refused`: how many requests it has refused since it started, and `problem` the last of them. `here`: it
    is this one."""

    id: str
    name: str
    state: Standing
    seen_at: float
    version: str
    here: bool = False
    roles: tuple[Role, ...] = ()
    prompts: int = 0
    sessions: int = 0
    offset: float | None = None
    refused: int = 0
    problem: str = ""


class FleetDevice(Struct, frozen=True):
    """A device that may sign for the fleet, or (`allowed` false) one that is paired here and may not yet.
    `check`: the beginning of its key's digest, to be compared with what the device shows."""

    id: str
    name: str
    allowed: bool
    check: str
    home: str = ""
    scopes: tuple[str, ...] = ()


class FleetView(Struct, frozen=True):
    """The fleet that this machine is in; `fleet` is empty where it is in none. `line`: NATS is reached, else
    `problem` says why not. `authority`: the key that says who belongs is on this machine. `device`: the id
    under which the device that asks may sign for other machines, "" if it may not. `leader`: this hub tells
    people."""

    fleet: str
    name: str = ""
    fingerprint: str = ""
    me: HostRef | None = None
    roles: tuple[Role, ...] = ()
    addresses: tuple[str, ...] = ()
    line: bool = False
    problem: str = ""
    authority: bool = False
    device: str = ""
    leader: bool = False
    hosts: tuple[HostView, ...] = ()
    warnings: tuple[str, ...] = ()


class LeftView(Struct, frozen=True):
    """`told`: the authority knows that this machine went; else it lists it until somebody removes it there."""

    told: bool


class InviteRequest(Struct, frozen=True, forbid_unknown_fields=True):
    """What the machine that joins may do: `host` it may be answered, `hub` it shows the others, `desk` its
    command line may answer for them."""

    roles: Annotated[tuple[Role, ...], Meta(min_length=1, max_length=3)] = ("host", "hub", "desk")


class InvitationView(Struct, frozen=True):
    code: str
    ends_at: float


class AllowRequest(Struct, frozen=True, forbid_unknown_fields=True):
    """A device that is paired here, by its id or name."""

    device: Annotated[str, Meta(min_length=1, max_length=64)]


class HostNews(Struct, frozen=True, tag_field="type", tag="host"):
    """A machine came, went, or is called otherwise now; null: it is not in the fleet any more."""

    id: str
    host: HostView | None


class GoneNews(Struct, frozen=True, tag_field="type", tag="gone"):
    """A prompt or a session of another machine is not there any more, and nobody says how it ended."""

    kind: Literal["prompt", "session"]
    id: str
