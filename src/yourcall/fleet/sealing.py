"""Sealing: what two members say to each other, and what a host tells all hubs at once.

Two members share one key, made from their X25519 keys; each message has a key of its own, made from that one
and a random salt. A message for several is sealed once, with a fresh key, and that key once for each of them;
so each of them also knows whom it is from, and none of them can pretend to another. (X25519, HKDF and HMAC
with SHA-256, ChaCha20-Poly1305.)

Rule: `context` says what a message is, from whom and to whom; opened in another context it is not opened at
all."""

from __future__ import annotations

import hashlib
import hmac
import secrets
from collections.abc import Mapping

from cryptography.exceptions import InvalidTag
from cryptography.hazmat.primitives.asymmetric.x25519 import X25519PrivateKey, X25519PublicKey
from cryptography.hazmat.primitives.ciphers.aead import ChaCha20Poly1305
from cryptography.hazmat.primitives.hashes import SHA256
from cryptography.hazmat.primitives.kdf.hkdf import HKDF

_SALT = 16
_KEY = 32
_ONCE = bytes(12)  # a key seals one message, so it needs no nonce


class Unsealed(Exception):
    """It was not sealed for us, by whom it says, as what it says, or it was altered."""


def context(*parts: str) -> bytes:
    """What stands beside a sealed message; no part may run into the next."""
    return b"".join(len(part.encode()).to_bytes(4, "big") + part.encode() for part in parts)


def shared_key(mine: X25519PrivateKey, theirs: bytes, fleet: str) -> bytes:
    """The same for both of them, and for nobody else."""
    own = mine.public_key().public_bytes_raw()
    if len(theirs) != _KEY:
        raise Unsealed("the other side's key is no key")
    try:
        shared = mine.exchange(X25519PublicKey.from_public_bytes(theirs))
    except ValueError as error:  # a point of small order: anybody would know the key
        raise Unsealed("the other side's key is no key") from error
    info = context("yourcall fleet pair 1", fleet) + b"".join(sorted((own, theirs)))
    return HKDF(SHA256(), _KEY, b"yourcall", info).derive(shared)


def secret_key(secret: bytes, what: str) -> bytes:
    """A key from a secret that two sides were given."""
    return HKDF(SHA256(), _KEY, b"yourcall", context("yourcall fleet secret 1", what)).derive(secret)


def seal(key: bytes, data: bytes, about: bytes) -> bytes:
    salt = secrets.token_bytes(_SALT)
    return salt + ChaCha20Poly1305(_derived(key, salt)).encrypt(_ONCE, data, about)


def unseal(key: bytes, sealed: bytes, about: bytes) -> bytes:
    if len(sealed) < _SALT + 16:
        raise Unsealed("too short")
    salt = sealed[:_SALT]
    try:
        return ChaCha20Poly1305(_derived(key, salt)).decrypt(_ONCE, sealed[_SALT:], about)
    except InvalidTag as error:
        raise Unsealed("not sealed by whom it says, or altered") from error


def seal_for(keys: Mapping[str, bytes], data: bytes, about: bytes) -> tuple[dict[str, bytes], bytes]:
    """For several: the message's key, sealed for each, and the message."""
    key = secrets.token_bytes(_KEY)
    body = ChaCha20Poly1305(key).encrypt(_ONCE, data, about)
    which = about + hashlib.sha256(body).digest()  # a key is good for this very message
    return {name: seal(each, key, which) for name, each in keys.items()}, body


def unseal_one(key: bytes, wrapped: bytes, body: bytes, about: bytes) -> bytes:
    """What was sealed for several, with the wrapped key that is for us."""
    inner = unseal(key, wrapped, about + hashlib.sha256(body).digest())
    try:
        return ChaCha20Poly1305(inner).decrypt(_ONCE, body, about)
    except (InvalidTag, ValueError) as error:
        raise Unsealed("altered") from error


def _derived(key: bytes, salt: bytes) -> bytes:
    return hmac.digest(key, salt, "sha256")
