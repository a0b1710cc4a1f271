"""The authority: the one key that says who belongs, on the machine where the fleet was made.

What it has signed is listed beside it, for NATS must be told who may come in, and people who is there.

Rule: the key is used at a desk only, for one thing at a time, and never leaves this machine but under a
passphrase."""

from __future__ import annotations

import secrets
import time
from pathlib import Path

import msgspec
from cryptography.exceptions import InvalidTag
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from cryptography.hazmat.primitives.ciphers.aead import ChaCha20Poly1305
from cryptography.hazmat.primitives.kdf.scrypt import Scrypt
from msgspec import Struct
from msgspec.structs import replace

from yourcall.fleet.certificates import (
    Device,
    HubKey,
    Member,
    MemberRole,
    Roster,
    Signed,
    device_id,
    fleet_id,
    sign,
    verify,
)
from yourcall.fleet.keys import id_of
from yourcall.model.prompts import Refused
from yourcall.system import private_files

KEY, LIST = "authority.key", "authority.list"
_EXPORTED = b"yourcall authority 1\n"
MOST_MEMBERS = 100_000


class Listed(Struct, frozen=True):
    """All that the authority has signed. `members` and `devices` by id; those that were removed are in the
    roster."""

    serial: int = 0
    members: dict[str, Signed] = {}
    devices: dict[str, Signed] = {}
    revoked: tuple[str, ...] = ()


class Authority:
    def __init__(self, folder: Path) -> None:
        self._folder = folder

    @property
    def here(self) -> bool:
        return (self._folder / KEY).is_file()

    def make(self) -> bytes:
        """A new one; its public key."""
        key = Ed25519PrivateKey.generate()
        private_files.write(self._folder / KEY, key.private_bytes_raw())
        self._write(Listed())
        return key.public_key().public_bytes_raw()

    @property
    def public(self) -> bytes:
        return self._read().public_key().public_bytes_raw()

    @property
    def fleet(self) -> str:
        return fleet_id(self.public)

    @property
    def key(self) -> Ed25519PrivateKey:
        return self._read()

    def _read(self) -> Ed25519PrivateKey:
        return Ed25519PrivateKey.from_private_bytes((self._folder / KEY).read_bytes())

    # --- what it has signed
    # ----------------------------------------------------------------------------------------

    def listed(self) -> Listed:
        try:
            return msgspec.msgpack.decode((self._folder / LIST).read_bytes(), type=Listed)
        except FileNotFoundError:
            return Listed()

    def _write(self, listed: Listed) -> None:
        private_files.write(self._folder / LIST, msgspec.msgpack.encode(listed))

    def members(self) -> list[Member]:
        """Those that belong now."""
        listed, public, fleet = self.listed(), self.public, self.fleet
        return [
            verify(public, signed, Member, fleet)
            for id, signed in listed.members.items()
            if id not in listed.revoked
        ]

    def devices(self) -> list[Device]:
        listed, public, fleet = self.listed(), self.public, self.fleet
        return [
            verify(public, signed, Device, fleet)
            for id, signed in listed.devices.items()
            if id not in listed.revoked
        ]

    def admit(self, name: str, seal: bytes, nats: str, roles: tuple[MemberRole, ...]) -> Signed | Refused:
        """A machine with these keys; if it was let in before, it is let in anew, under another name if need
        be."""
        member, listed = id_of(seal), self.listed()
        if member in listed.revoked:
            return Refused("This machine was removed from the fleet; it joins again with new keys.")
        if len(listed.members) >= MOST_MEMBERS:
            return Refused(f"A fleet has at most {MOST_MEMBERS:,} machines.")
        free = self.free_name(name, member)
        made = sign(self._read(), Member(self.fleet, member, free, roles, seal, nats, time.time()))
        self._write(replace(listed, members={**listed.members, member: made}))
        return made

    def free_name(self, name: str, besides: str = "") -> str:
        taken = {each.name.casefold() for each in self.members() if each.id != besides}
        tries = (name if n == 1 else f"{name[:54]} {n}" for n in range(1, len(taken) + 2))
        return next(each for each in tries if each.casefold() not in taken)

    def rename(self, member: str, name: str) -> Signed | Refused:
        found = next((each for each in self.members() if each.id == member), None)
        if found is None:
            return Refused("There is no such machine in the fleet.")
        if self.free_name(name, member) != name:
            return Refused(f"Another machine is called {name!r}.")
        made, listed = sign(self._read(), replace(found, name=name, issued_at=time.time())), self.listed()
        self._write(replace(listed, members={**listed.members, member: made}))
        return made

    def allow(self, name: str, key: bytes, scopes: tuple[str, ...], home: str = "") -> Signed | Refused:
        """A device with this key may sign for the fleet."""
        device, listed = device_id(key), self.listed()
        if device in listed.revoked:
            return Refused("This device was removed from the fleet; pair it again, and it has a new key.")
        made = sign(self._read(), Device(self.fleet, device, name, key, scopes, time.time(), home))
        self._write(replace(listed, devices={**listed.devices, device: made}))
        return made

    def remove(self, ids: tuple[str, ...]) -> None:
        """Members or devices; a member's own desk goes with it."""
        listed = self.listed()
        desks = tuple(each.id for each in self.devices() if each.home in ids)
        gone = tuple(id for id in (*ids, *desks) if id not in listed.revoked)
        self._write(replace(listed, revoked=(*listed.revoked, *gone)))

    def roster(self) -> Signed:
        """As it is now, with a serial that is higher than any before."""
        listed = replace(self.listed(), serial=max(self.listed().serial + 1, int(time.time())))
        self._write(listed)
        hubs = tuple(HubKey(each.id, each.seal) for each in self.members() if "hub" in each.roles)
        return sign(self._read(), Roster(self.fleet, listed.serial, time.time(), hubs, listed.revoked))

    # --- elsewhere
    # -------------------------------------------------------------------------------------------------

    def exported(self, passphrase: str) -> bytes:
        """Key and list, for another place: worth nothing without the passphrase."""
        salt = secrets.token_bytes(16)
        data = msgspec.msgpack.encode((self._read().private_bytes_raw(), self.listed()))
        return (
            _EXPORTED + salt + ChaCha20Poly1305(_stretched(passphrase, salt)).encrypt(bytes(12), data, _EXPORTED)
        )

    def take(self, exported: bytes, passphrase: str, fleet: str) -> Refused | None:
        """Put an exported authority here."""
        if not exported.startswith(_EXPORTED):
            return Refused("This file is no exported authority.")
        salt, sealed = exported[len(_EXPORTED) :][:16], exported[len(_EXPORTED) + 16 :]
        try:
            data = ChaCha20Poly1305(_stretched(passphrase, salt)).decrypt(bytes(12), sealed, _EXPORTED)
            raw, listed = msgspec.msgpack.decode(data, type=tuple[bytes, Listed])
        except (InvalidTag, ValueError):
            return Refused("The passphrase is wrong, or the file is damaged.")
        key = Ed25519PrivateKey.from_private_bytes(raw)
        if fleet_id(key.public_key().public_bytes_raw()) != fleet:
            return Refused("This is the authority of another fleet.")
        private_files.write(self._folder / KEY, raw)
        self._write(listed)
        return None

    def forget(self) -> None:
        """It is kept elsewhere from now on."""
        for name in (KEY, LIST):
            (self._folder / name).unlink(missing_ok=True)


def _stretched(passphrase: str, salt: bytes) -> bytes:
    """About a quarter of a second and 128 MB for each guess."""
    return Scrypt(salt, 32, 2**17, 8, 1).derive(passphrase.encode())
