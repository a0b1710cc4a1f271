"""The letters of Web Push: a message only one browser can read (RFC 8291), and proof of who sends it (RFC 8292).

Rule: nothing but the two RFCs, over `cryptography`; imported when the first message is sent.
"""

from __future__ import annotations

import base64
import os
from pathlib import Path

import msgspec
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.asymmetric.utils import decode_dss_signature
from cryptography.hazmat.primitives.ciphers.aead import AESGCM
from cryptography.hazmat.primitives.kdf.hkdf import HKDF

from yourcall.system import private_files

# Every push service takes a body of 4,096 bytes: 86 of header, 16 of tag, 1 of padding, the rest is ours.
RECORD = 4096
LONGEST_TEXT = RECORD - 86 - 16 - 1

# A day is the most the RFC allows; half of it leaves room for clocks that are wrong.
LIFETIME_S = 12 * 3600


def encrypted(
    text: bytes, browser: bytes, auth: bytes, ours: ec.EllipticCurvePrivateKey | None = None, salt: bytes = b""
) -> bytes:
    """`text` for the browser with this public key (65 bytes) and secret (16); ValueError if they are none."""
    assert len(text) <= LONGEST_TEXT, "the message is too long for one record"
    ours, salt = ours or ec.generate_private_key(ec.SECP256R1()), salt or os.urandom(16)
    theirs = ec.EllipticCurvePublicKey.from_encoded_point(ec.SECP256R1(), browser)
    public = point(ours.public_key())
    shared = ours.exchange(ec.ECDH(), theirs)
    secret = _derived(shared, auth, b"WebPush: info\0" + browser + public, 32)
    key = _derived(secret, salt, b"Content-Encoding: aes128gcm\0", 16)
    nonce = _derived(secret, salt, b"Content-Encoding: nonce\0", 12)
    header = salt + RECORD.to_bytes(4, "big") + len(public).to_bytes(1, "big") + public
    return header + AESGCM(key).encrypt(nonce, text + b"\x02", None)


def vapid(key: ec.EllipticCurvePrivateKey, audience: str, contact: str, now: float) -> str:
    """The Authorization header for one push service."""
    claims = {"aud": audience, "exp": int(now + LIFETIME_S), "sub": contact}
    head = b'{"typ":"JWT","alg":"ES256"}'
    text = f"{b64(head)}.{b64(msgspec.json.encode(claims))}"
    r, s = decode_dss_signature(key.sign(text.encode(), ec.ECDSA(hashes.SHA256())))
    token = f"{text}.{b64(r.to_bytes(32, 'big') + s.to_bytes(32, 'big'))}"
    return f"vapid t={token}, k={b64(point(key.public_key()))}"


def own_key(path: Path) -> ec.EllipticCurvePrivateKey:
    """The key of this instance, made at the first need. Browsers are bound to it: with another, all subscribe
    anew.
    """
    try:
        data = path.read_bytes()
    except FileNotFoundError:
        made = ec.generate_private_key(ec.SECP256R1())
        data = made.private_bytes(
            serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
        )
        private_files.write(path, data)
    key = serialization.load_pem_private_key(data, None)
    if not isinstance(key, ec.EllipticCurvePrivateKey):
        raise ValueError(f"{path} holds another kind of key; move it away, and let the phones subscribe again")
    return key


def point(key: ec.EllipticCurvePublicKey) -> bytes:
    return key.public_bytes(serialization.Encoding.X962, serialization.PublicFormat.UncompressedPoint)


def b64(data: bytes) -> str:
    return base64.urlsafe_b64encode(data).rstrip(b"=").decode()


def unb64(text: str) -> bytes:
    """ValueError if it is none."""
    return base64.b64decode(text + "=" * (-len(text) % 4), altchars=b"-_", validate=True)


def _derived(secret: bytes, salt: bytes, info: bytes, length: int) -> bytes:
    return HKDF(hashes.SHA256(), length, salt, info).derive(secret)
