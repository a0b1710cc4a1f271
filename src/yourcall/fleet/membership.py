"""That this home is in a fleet: which one, as what, and how NATS is reached. One file, `fleet/member.json`.

Rule: what the file says of others was signed by the authority, and is verified again each time it is read.
"""

from __future__ import annotations

import shutil
from pathlib import Path

import msgspec
from msgspec import Struct

from yourcall.fleet.certificates import Device, Member, MemberRole, NotSigned, Roster, Signed, verify
from yourcall.model.prompts import Refused
from yourcall.system import private_files

NAME = "member.json"


class Embedded(Struct, frozen=True):
    """The NATS server that yourcall runs here. `websocket`, `leaf`: further ports, 0 for none."""

    port: int
    listen: str = "0.0.0.0"  # noqa: S104 - other machines come in here, with TLS and a key of their own
    websocket: int = 0
    leaf: int = 0


class Membership(Struct, frozen=True):
    """`authority`: its public key, learnt at the join. `tls`: the certificate that the server's is signed by,
    "" where the machine's own authorities count. `creds`: a file of the user's own NATS."""

    fleet: str
    name: str
    authority: bytes
    member: Signed
    roster: Signed
    addresses: tuple[str, ...]
    desk: Signed | None = None
    tls: str = ""
    creds: str = ""
    embedded: Embedded | None = None
    # The machine with the authority.
    authority_member: str = ""
    # Certificates of phones that are paired here, by their key; the authority has let them in.
    devices: dict[str, Signed] = {}

    @property
    def me(self) -> Member:
        return verify(self.authority, self.member, Member, self.fleet)

    @property
    def roles(self) -> tuple[MemberRole, ...]:
        return self.me.roles

    @property
    def known_roster(self) -> Roster:
        return verify(self.authority, self.roster, Roster, self.fleet)

    def device(self, signed: Signed) -> Device:
        return verify(self.authority, signed, Device, self.fleet)


def folder_of(home: Path) -> Path:
    return home / "fleet"


def is_member(home: Path) -> bool:
    """Asked at every start; looks at one name."""
    return (home / "fleet" / NAME).is_file()


def read(home: Path) -> Membership | Refused | None:
    """None: this home is in no fleet."""
    path = folder_of(home) / NAME
    try:
        found = msgspec.json.decode(path.read_bytes(), type=Membership)
        _ = (found.me, found.known_roster)
    except FileNotFoundError:
        return None
    except (OSError, msgspec.MsgspecError, NotSigned) as error:
        return Refused(f"{path} cannot be used: {error}. Join the fleet again, or leave it: yourcall fleet leave")
    return found


def write(home: Path, membership: Membership) -> None:
    folder_of(home).mkdir(mode=0o700, exist_ok=True)
    private_files.write(folder_of(home) / NAME, msgspec.json.encode(membership))


def forget(home: Path) -> None:
    """Keys and all: whoever comes back joins anew."""
    shutil.rmtree(folder_of(home), ignore_errors=True)
