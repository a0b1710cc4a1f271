"""A passkey in a test's hand: what a browser and an authenticator would send, and what an attacker would.

The rule it keeps: everything is signed with a real P-256 key over the real bytes; nothing of yourcall is used.
"""

from __future__ import annotations

import base64
import json
import os
from hashlib import sha256
from typing import Any

import cbor2
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.hashes import SHA256

PRESENT, VERIFIED, ATTESTED = 0x01, 0x04, 0x40


def b64(data: bytes) -> str:
    return base64.urlsafe_b64encode(data).rstrip(b"=").decode()


class Authenticator:
    """One passkey. `count`: what its counter says next; 0 for one that has none, as synced passkeys."""

    def __init__(self, count: int = 0) -> None:
        self._key = ec.generate_private_key(ec.SECP256R1())
        self.id = os.urandom(16)
        self.count = count

    def copy(self) -> Authenticator:
        """The same key in another hand."""
        twin = Authenticator(self.count)
        twin._key, twin.id = self._key, self.id
        return twin

    def made(self, challenge: str, origin: str, rp_id: str, flags: int = PRESENT | VERIFIED) -> dict[str, Any]:
        """What `navigator.credentials.create` gives."""
        numbers = self._key.public_key().public_numbers()
        cose = {1: 2, 3: -7, -1: 1, -2: numbers.x.to_bytes(32), -3: numbers.y.to_bytes(32)}
        data = self._data(rp_id, flags | ATTESTED)
        data += bytes(16) + len(self.id).to_bytes(2) + self.id + cbor2.dumps(cose)
        attestation = cbor2.dumps({"fmt": "none", "attStmt": {}, "authData": data})
        client = self._client("webauthn.create", challenge, origin)
        return self._credential({"clientDataJSON": b64(client), "attestationObject": b64(attestation)})

    def signs(
        self,
        challenge: str,
        origin: str,
        rp_id: str,
        flags: int = PRESENT | VERIFIED,
        kind: str = "webauthn.get",
        **more: Any,
    ) -> dict[str, Any]:
        """What `navigator.credentials.get` gives."""
        data = self._data(rp_id, flags)
        client = self._client(kind, challenge, origin, **more)
        signature = self._key.sign(data + sha256(client).digest(), ec.ECDSA(SHA256()))
        return self._credential(
            {"clientDataJSON": b64(client), "authenticatorData": b64(data), "signature": b64(signature)}
        )

    def _data(self, rp_id: str, flags: int) -> bytes:
        counted = self.count
        if self.count:
            self.count += 1
        return sha256(rp_id.encode()).digest() + bytes([flags]) + counted.to_bytes(4)

    def _client(self, kind: str, challenge: str, origin: str, **more: Any) -> bytes:
        told = {"type": kind, "challenge": challenge, "origin": origin, "crossOrigin": False, **more}
        return json.dumps(told).encode()

    def _credential(self, response: dict[str, Any]) -> dict[str, Any]:
        return {"id": b64(self.id), "rawId": b64(self.id), "type": "public-key", "response": response}


def header(name: str, credential: dict[str, Any]) -> str:
    """The value of `Yourcall-Step-Up`."""
    return f"{name}.{b64(json.dumps(credential).encode())}"
