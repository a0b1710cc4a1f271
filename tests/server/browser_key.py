"""A browser's key, as key.js of the page uses it: it signs requests, and can be told to sign wrong ones."""

from __future__ import annotations

import base64
import hashlib
import secrets
from typing import TYPE_CHECKING, Any

from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.asymmetric.utils import decode_dss_signature
from cryptography.hazmat.primitives.hashes import SHA256
from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat

if TYPE_CHECKING:
    import httpx
    from server_house import House


def b64(data: bytes) -> str:
    return base64.urlsafe_b64encode(data).rstrip(b"=").decode()


class BrowserKey:
    def __init__(self) -> None:
        self._key = ec.generate_private_key(ec.SECP256R1())
        point = self._key.public_key().public_bytes(Encoding.X962, PublicFormat.UncompressedPoint)
        self.point = b64(point)
        self.told: dict[str, Any] = {}

    def pair(self, house: House, name: str = "phone", **headers: str) -> httpx.Response:
        with house.http(Origin=house.origin, **headers) as page:
            code = house.devices.pairing.new().text
            reply = page.post("/api/pair", json={"code": code, "name": name, "key": self.point})
        if reply.status_code == 201:
            self.told = reply.json()
        return reply

    @property
    def id(self) -> str:
        return self.told["id"]

    def header(self, method: str, target: str, body: bytes = b"", **other: Any) -> str:
        said = {
            "device": self.id,
            "run": self.told["run"],
            "time": self.told["now"],
            "nonce": secrets.token_urlsafe(18),
            "digest": b64(hashlib.sha256(body).digest()),
            **other,
        }
        order = ("digest", "device", "run", "time", "nonce")
        text = "\n".join(["yourcall 1", method, target, *(str(said[name]) for name in order)])
        r, s = decode_dss_signature(self._key.sign(text.encode(), ec.ECDSA(SHA256())))
        return ", ".join(
            [*(f"{k}={v}" for k, v in said.items()), f"signature={b64(r.to_bytes(32) + s.to_bytes(32))}"]
        )

    def send(
        self, house: House, method: str, target: str, body: bytes = b"", header: str | None = None, **more: str
    ) -> httpx.Response:
        """`more`: further headers; passkeys want a page with a name."""
        signed = self.header(method, target, body) if header is None else header
        with house.http(**{"Origin": house.origin, **more}) as page:
            return page.request(method, target, content=body, headers={"Yourcall-Signature": signed})
