"""The keys of one home: what it seals with, what it shows to NATS, and what its desk signs with.

Rule: a private key is made here, stays in the home, and is readable by its owner alone.
"""

from __future__ import annotations

import base64
import binascii
import hashlib
from pathlib import Path
from typing import Self

from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from cryptography.hazmat.primitives.asymmetric.x25519 import X25519PrivateKey
from msgspec import Struct

from yourcall.system import private_files

_RAW = serialization.Encoding.Raw
_PUBLIC, _PRIVATE = serialization.PublicFormat.Raw, serialization.PrivateFormat.Raw
_PLAIN = serialization.NoEncryption()

# What NATS puts before a user's public key, so that its text begins with U.
_USER = 20 << 3


class Keys(Struct, frozen=True):
    """`seal` (X25519): to talk to others in the fleet. `nats` (Ed25519): to come into NATS. `desk` (P-256):
    what the command line of this home signs answers with."""

    seal: X25519PrivateKey
    nats: Ed25519PrivateKey
    desk: ec.EllipticCurvePrivateKey

    @classmethod
    def made(cls) -> Self:
        return cls(
            X25519PrivateKey.generate(), Ed25519PrivateKey.generate(), ec.generate_private_key(ec.SECP256R1())
        )

    @property
    def seal_public(self) -> bytes:
        return self.seal.public_key().public_bytes(_RAW, _PUBLIC)

    @property
    def nats_public(self) -> str:
        return nkey(self.nats)

    @property
    def desk_public(self) -> bytes:
        return point(self.desk)

    @property
    def id(self) -> str:
        return id_of(self.seal_public)

    def save(self, folder: Path) -> None:
        number = self.desk.private_numbers().private_value.to_bytes(32, "big")
        raw = self.seal.private_bytes(_RAW, _PRIVATE, _PLAIN) + self.nats.private_bytes(_RAW, _PRIVATE, _PLAIN)
        private_files.write(folder / "keys", raw + number)

    @classmethod
    def load(cls, folder: Path) -> Self:
        data = (folder / "keys").read_bytes()
        if len(data) != 96:
            raise ValueError(f"{folder / 'keys'} is damaged: it has {len(data)} bytes instead of 96")
        desk = ec.derive_private_key(int.from_bytes(data[64:], "big"), ec.SECP256R1())
        return cls(
            X25519PrivateKey.from_private_bytes(data[:32]), Ed25519PrivateKey.from_private_bytes(data[32:64]), desk
        )


def id_of(public: bytes) -> str:
    """The id of whoever has this key: nobody can have another's id without its key."""
    return base64.b32encode(hashlib.sha256(b"yourcall fleet id 1\n" + public).digest())[:16].decode().lower()


def point(key: ec.EllipticCurvePrivateKey) -> bytes:
    form = serialization.PublicFormat.UncompressedPoint
    return key.public_key().public_bytes(serialization.Encoding.X962, form)


def nkey(key: Ed25519PrivateKey) -> str:
    """The public half as NATS writes it: a kind, the key and a checksum, in base32."""
    data = bytes([_USER]) + key.public_key().public_bytes(_RAW, _PUBLIC)
    checksum = binascii.crc_hqx(data, 0).to_bytes(2, "little")
    return base64.b32encode(data + checksum).decode().rstrip("=")


def nkey_from_seed(text: str) -> Ed25519PrivateKey:
    """The key behind a seed as NATS writes it (`SU…`), such as stands in a creds file."""
    data = base64.b32decode(text.strip() + "=" * (-len(text.strip()) % 8))
    if len(data) != 36 or binascii.crc_hqx(data[:-2], 0).to_bytes(2, "little") != data[-2:]:
        raise ValueError("this is no NATS seed")
    return Ed25519PrivateKey.from_private_bytes(data[2:34])
