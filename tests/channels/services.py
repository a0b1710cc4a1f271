"""Stand-ins for the services that carry notices, on loopback. They speak the real wire format and check it
strictly.

The rule it keeps: whatever a real service would refuse is refused here with the same status, and `wrong`
remembers it; a test that leaves something there fails.
"""

from __future__ import annotations

import base64
import hashlib
import hmac
import json
import re
import struct
import threading
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.asymmetric.utils import encode_dss_signature
from cryptography.hazmat.primitives.ciphers.aead import AESGCM
from cryptography.hazmat.primitives.kdf.hkdf import HKDF

from kit.poll import until


class Request:
    def __init__(self, method: str, path: str, headers: dict[str, str], body: bytes) -> None:
        self.method, self.path, self.headers, self.body = method, path, headers, body
        self.at = time.time()


class Service:
    """`faults`: what happens to the next requests instead: a status, or `drop` (the line is cut after reading)."""

    def __init__(self) -> None:
        self.seen: list[Request] = []
        self.wrong: list[str] = []
        self.faults: list[int | str] = []
        self.retry_after = ""
        self._lock = threading.Lock()
        service = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def any(self) -> None:
                length = int(self.headers.get("content-length") or 0)
                headers = {name.lower(): value for name, value in self.headers.items()}
                request = Request(self.command, self.path, headers, self.rfile.read(length))
                with service._lock:
                    service.seen.append(request)
                    fault = service.faults.pop(0) if service.faults else None
                    status, data = (fault, b"") if isinstance(fault, int) else service.answer(request)
                if fault == "drop":
                    self.close_connection = True
                    return
                self.send_response(status)
                if service.retry_after and status == 429:
                    self.send_header("Retry-After", service.retry_after)
                self.send_header("Content-Length", str(len(data)))
                self.end_headers()
                self.wfile.write(data)

            do_GET = do_POST = do_PUT = do_DELETE = any

            def log_message(self, format: str, *args: object) -> None:
                pass

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self._server.daemon_threads = True
        self._thread = threading.Thread(target=self._server.serve_forever, args=(0.02,))
        self._thread.start()
        self.url = f"http://127.0.0.1:{self._server.server_address[1]}"

    def __enter__(self) -> Any:
        return self

    def hang_up(self) -> None:
        self._server.shutdown()
        self._server.server_close()
        self._thread.join()

    def __exit__(self, *_: object) -> None:
        self.hang_up()
        assert not self.wrong, self.wrong

    def answer(self, request: Request) -> tuple[int, bytes]:
        raise NotImplementedError

    def expect(self, truth: object, why: str) -> bool:
        if not truth:
            self.wrong.append(why)
        return bool(truth)

    def wait(self, count: int, timeout: float = 30) -> list[Request]:
        return until(lambda: len(self.seen) >= count and list(self.seen), timeout, what=f"{count} requests",
                     show=lambda: [(one.method, one.path) for one in self.seen])  # fmt: skip


class NtfyService(Service):
    """What ntfy 2.16 does: publishing as JSON, a sequence id replaces and deletes, and its own limits."""

    TOPIC = re.compile(r"[-_A-Za-z0-9]{1,64}")
    FIELDS = frozenset({"topic", "message", "title", "tags", "priority", "actions", "click", "sequence_id"})

    def __init__(self, token: str = "", old: bool = False) -> None:
        self.shown: dict[str, dict[str, Any]] = {}
        self.alerts: list[dict[str, Any]] = []
        self.token, self.old = token, old
        super().__init__()

    def answer(self, request: Request) -> tuple[int, bytes]:
        if self.token and request.headers.get("authorization") != f"Bearer {self.token}":
            return 401, b'{"code":40101,"http":401,"error":"unauthorized"}'
        if request.method == "DELETE":
            return self._delete(request)
        self.expect(request.method == "POST" and request.path == "/", f"{request.method} {request.path}")
        told = json.loads(request.body)
        self.expect(set(told) <= self.FIELDS, f"unknown fields: {set(told) - self.FIELDS}")
        self.expect(self.TOPIC.fullmatch(told["topic"]), "topic")
        self.expect(self.TOPIC.fullmatch(told["sequence_id"]), "sequence id")
        self.expect(1 <= len(told["message"].encode()) <= 4096, "message becomes an attachment")
        self.expect(told["priority"] in range(1, 6), "priority")
        self.expect(isinstance(told["tags"], list), "tags")
        for action in told.get("actions", []):
            if action["action"] == "view":
                self.expect(set(action) == {"action", "label", "url"} and action["url"].startswith("http"), "view")
                continue
            self.expect(set(action) <= {"action", "label", "url", "method", "headers", "body", "clear"}, "action")
            self.expect(
                action["action"] == "http" and action["label"] and action["url"].startswith("http"), "action"
            )
            self.expect(action["method"] == "POST" and isinstance(action["body"], str), "action")
        if not self.expect(len(told.get("actions", [])) <= 3, "more than three actions"):
            return 400, b'{"code":40018,"http":400,"error":"invalid request: actions invalid"}'
        reply: dict[str, Any] = {
            "id": "m" + str(len(self.seen)),
            "time": 1,
            "event": "message",
            "topic": told["topic"],
        }
        if not self.old:
            reply["sequence_id"] = told["sequence_id"]
        self.shown[reply["id"] if self.old else told["sequence_id"]] = told
        self.alerts.append(told)
        return 200, json.dumps(reply).encode()

    def _delete(self, request: Request) -> tuple[int, bytes]:
        if self.old:
            return 404, b'{"code":40401,"http":404,"error":"page not found"}'
        _, topic, sequence = request.path.split("/")
        self.expect(self.TOPIC.fullmatch(topic) and self.TOPIC.fullmatch(sequence), "delete")
        self.shown.pop(sequence, None)
        return 200, json.dumps({"id": "d1", "event": "message_delete", "sequence_id": sequence}).encode()


class WebhookService(Service):
    """A receiver that believes only what is signed, as the Standard Webhooks specification says, and only once."""

    def __init__(self, secret: str) -> None:
        self.key = base64.b64decode(secret.removeprefix("whsec_"))
        self.told: list[dict[str, Any]] = []
        self.repeated = 0
        self._ids: set[str] = set()
        super().__init__()

    def answer(self, request: Request) -> tuple[int, bytes]:
        name, stamp = request.headers["webhook-id"], request.headers["webhook-timestamp"]
        signed = hmac.new(self.key, f"{name}.{stamp}.".encode() + request.body, hashlib.sha256).digest()
        right = request.headers.get("webhook-signature") == "v1," + base64.b64encode(signed).decode()
        if not self.expect(right and abs(time.time() - int(stamp)) < 300, "the signature is wrong"):
            return 401, b""
        if name in self._ids:
            self.repeated += 1
        else:
            self._ids.add(name)
            self.told.append(json.loads(request.body))
        return 204, b""


class Browser:
    """A browser that subscribed: its own keys, and what it can read with them."""

    def __init__(self) -> None:
        self._key = ec.generate_private_key(ec.SECP256R1())
        self.public = self._key.public_key().public_bytes(
            serialization.Encoding.X962, serialization.PublicFormat.UncompressedPoint
        )
        self.auth = hashlib.sha256(self.public).digest()[:16]

    def keys(self) -> dict[str, str]:
        return {"p256dh": b64(self.public), "auth": b64(self.auth)}

    def read(self, body: bytes) -> bytes:
        """RFC 8188 and 8291, from the browser's side; written from the RFCs, not from our code."""
        salt, size, length = body[:16], struct.unpack(">I", body[16:20])[0], body[20]
        sender, cipher = body[21 : 21 + length], body[21 + length :]
        assert length == 65, "the key of the sender"
        assert len(cipher) <= size == 4096, "one record"
        shared = self._key.exchange(
            ec.ECDH(), ec.EllipticCurvePublicKey.from_encoded_point(ec.SECP256R1(), sender)
        )
        info = b"WebPush: info\x00" + self.public + sender
        secret = HKDF(hashes.SHA256(), 32, self.auth, info).derive(shared)
        key = HKDF(hashes.SHA256(), 16, salt, b"Content-Encoding: aes128gcm\x00").derive(secret)
        nonce = HKDF(hashes.SHA256(), 12, salt, b"Content-Encoding: nonce\x00").derive(secret)
        text = AESGCM(key).decrypt(nonce, cipher, None).rstrip(b"\x00")
        assert text[-1:] == b"\x02", "the last record"
        return text[:-1]


class PushService(Service):
    """A push service with browsers behind it, which checks who sends (RFC 8292) and what (RFC 8030)."""

    def __init__(self) -> None:
        self.browsers: dict[str, Browser] = {}
        self.gone: set[str] = set()
        self.pushed: list[tuple[str, dict[str, Any]]] = []
        self.sender = ""
        super().__init__()

    def subscribe(self, name: str) -> dict[str, Any]:
        self.browsers[name] = Browser()
        return {"endpoint": f"{self.url}/push/{name}", "keys": self.browsers[name].keys()}

    def answer(self, request: Request) -> tuple[int, bytes]:
        name = request.path.removeprefix("/push/")
        if name in self.gone or name not in self.browsers:
            return 410, b""
        head = request.headers
        self.expect(head.get("content-encoding") == "aes128gcm", "encoding")
        self.expect(head.get("ttl", "").isdecimal(), "TTL")
        self.expect(head.get("urgency") in ("very-low", "low", "normal", "high"), "urgency")
        self.expect(re.fullmatch(r"[A-Za-z0-9_-]{1,32}", head.get("topic", "")), "topic")
        self.expect(len(request.body) <= 4096, "too large")
        if not self.expect(self._sent_by(head.get("authorization", "")), "the proof of the sender is wrong"):
            return 403, b""
        self.pushed.append((name, json.loads(self.browsers[name].read(request.body))))
        return 201, b""

    def _sent_by(self, header: str) -> bool:
        found = re.fullmatch(r"vapid t=([\w-]+\.[\w-]+)\.([\w-]+), k=([\w-]+)", header)
        if found is None:
            return False
        said, signature, key = found[1], unb64(found[2]), unb64(found[3])
        self.sender = self.sender or found[3]
        public = ec.EllipticCurvePublicKey.from_encoded_point(ec.SECP256R1(), key)
        der = encode_dss_signature(int.from_bytes(signature[:32], "big"), int.from_bytes(signature[32:], "big"))
        public.verify(der, said.encode(), ec.ECDSA(hashes.SHA256()))
        head, claims = (json.loads(unb64(part)) for part in said.split("."))
        in_time = time.time() < claims["exp"] <= time.time() + 24 * 3600
        known = head == {"typ": "JWT", "alg": "ES256"} and claims["aud"] == self.url and found[3] == self.sender
        return known and in_time and claims["sub"].startswith(("mailto:", "https://"))


def b64(data: bytes) -> str:
    return base64.urlsafe_b64encode(data).rstrip(b"=").decode()


def unb64(text: str) -> bytes:
    return base64.urlsafe_b64decode(text + "=" * (-len(text) % 4))
