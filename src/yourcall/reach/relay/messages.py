"""What a relay and a machine say to each other, and the invitation that a person carries from one to the other.

Rule: a machine is its key. It signs the relay's certificate and a fresh challenge, so a signature is of no use at
another relay, or twice.
"""

from __future__ import annotations

import base64
import binascii
import hashlib
import os
from pathlib import Path

import msgspec
from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey, Ed25519PublicKey

from yourcall.reach.relay.hello import is_name
from yourcall.system import private_files

# The protocols (ALPN) by which a relay knows a machine: one that registers, and one that fetches a phone.
REGISTER, FETCH = "yourcall-relay/1", "yourcall-relay-fetch/1"
ACME = b"acme-tls/1"  # a certificate authority that looks whether a name is ours (RFC 8737)
LONGEST_LINE = 4096
PING_S = 15.0  # a router forgets a connection that is silent for minutes
SILENT_S = 40.0  # after that, whoever says nothing is gone
DIAL_S = 10.0  # for a machine to fetch a phone's connection

_SIGNED = b"yourcall relay 1\0"
_PREFIX = "yourcall-relay-"


class Greeting(msgspec.Struct, frozen=True):
    challenge: bytes


class Register(msgspec.Struct, frozen=True):
    """`invitation` is the secret of one, if the relay doesn't know the key yet. `stay`: phones may come now.
    `leave`: give the name up."""

    name: str
    key: bytes
    signature: bytes
    invitation: bytes = b""
    stay: bool = True
    leave: bool = False


class Verdict(msgspec.Struct, frozen=True):
    """Empty: it may stay."""

    refused: str = ""


class Fetch(msgspec.Struct, frozen=True, tag="fetch"):
    """A phone is there. `acme`: it is a certificate authority that looks."""

    token: bytes
    acme: bool = False


class Ping(msgspec.Struct, frozen=True, tag="ping"):
    pass


class Taken(msgspec.Struct, frozen=True):
    """The first line on a connection that fetches."""

    token: bytes


class Invitation(msgspec.Struct, frozen=True, array_like=True):
    host: str
    port: int
    pin: bytes
    name: str
    secret: bytes

    def text(self) -> str:
        return _PREFIX + base64.urlsafe_b64encode(msgspec.msgpack.encode(self)).decode().rstrip("=")


def read_invitation(text: str) -> Invitation | None:
    """None if it is none, or was not copied whole."""
    plain = "".join(text.split())
    if not plain.startswith(_PREFIX) or len(plain) > 1000:
        return None
    packed = plain.removeprefix(_PREFIX)
    try:
        data = base64.b64decode(packed + "=" * (-len(packed) % 4), altchars=b"-_", validate=True)
        made = msgspec.msgpack.decode(data, type=Invitation)
    except (binascii.Error, ValueError, msgspec.MsgspecError):
        return None
    whole = is_name(made.name) and len(made.pin) == 32 and 0 < made.port < 65536 and made.secret
    return made if whole and 0 < len(made.host) <= 253 else None


def line(message: msgspec.Struct) -> bytes:
    return msgspec.json.encode(message) + b"\n"


def signature(key: Ed25519PrivateKey, pin: bytes, challenge: bytes, name: str, *, leave: bool) -> bytes:
    return key.sign(_signed(pin, challenge, name, leave))


def is_signed(register: Register, pin: bytes, challenge: bytes) -> bool:
    try:
        key = Ed25519PublicKey.from_public_bytes(register.key)
        key.verify(register.signature, _signed(pin, challenge, register.name, register.leave))
    except (ValueError, InvalidSignature):
        return False
    return True


def _signed(pin: bytes, challenge: bytes, name: str, leave: bool) -> bytes:
    return _SIGNED + pin + challenge + (b"leave " if leave else b"stay  ") + name.encode()


def pin_of(certificate: bytes) -> bytes:
    """`certificate` in DER."""
    return hashlib.sha256(certificate).digest()


def machine_key(file: Path) -> Ed25519PrivateKey:
    """The key by which relays know this machine; made when it is first needed."""
    if not file.exists():
        file.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        private_files.write(file, base64.b64encode(os.urandom(32)) + b"\n")
    return Ed25519PrivateKey.from_private_bytes(base64.b64decode(file.read_bytes()))
