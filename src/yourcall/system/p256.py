"""Signatures of browsers and desks: ECDSA over P-256 with SHA-256, as Web Crypto writes them (r and s, base64url).

Rule: what cannot be read is no signature; nothing here raises. Cryptography is loaded by the first that needs it.
"""

from __future__ import annotations

import base64
import binascii
from functools import lru_cache
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from cryptography.hazmat.primitives.asymmetric.ec import EllipticCurvePrivateKey, EllipticCurvePublicKey


@lru_cache(512)
def public_key(point: bytes) -> EllipticCurvePublicKey | None:
    """A point of P-256, uncompressed."""
    from cryptography.hazmat.primitives.asymmetric import ec

    if len(point) != 65:
        return None
    try:
        return ec.EllipticCurvePublicKey.from_encoded_point(ec.SECP256R1(), point)
    except ValueError:
        return None


def sign(key: EllipticCurvePrivateKey, text: bytes) -> str:
    from cryptography.hazmat.primitives.asymmetric import ec
    from cryptography.hazmat.primitives.asymmetric.utils import decode_dss_signature
    from cryptography.hazmat.primitives.hashes import SHA256

    r, s = decode_dss_signature(key.sign(text, ec.ECDSA(SHA256())))
    return b64(r.to_bytes(32, "big") + s.to_bytes(32, "big"))


def signed_by(point: bytes, text: bytes, signature: str) -> bool:
    from cryptography.exceptions import InvalidSignature
    from cryptography.hazmat.primitives.asymmetric import ec
    from cryptography.hazmat.primitives.asymmetric.utils import encode_dss_signature
    from cryptography.hazmat.primitives.hashes import SHA256

    key, raw = public_key(point), unb64(signature)
    if key is None or raw is None or len(raw) != 64:
        return False
    r, s = int.from_bytes(raw[:32], "big"), int.from_bytes(raw[32:], "big")
    try:
        key.verify(encode_dss_signature(r, s), text, ec.ECDSA(SHA256()))
    except (InvalidSignature, ValueError):
        return False
    return True


def b64(data: bytes) -> str:
    return base64.urlsafe_b64encode(data).rstrip(b"=").decode()


def unb64(text: str) -> bytes | None:
    """None unless this is just what `b64` writes."""
    try:
        data = base64.b64decode(text + "=" * (-len(text) % 4), altchars=b"-_", validate=True)
    except (binascii.Error, ValueError):
        return None
    return data if b64(data) == text else None
