"""The bench's ends of the wires: a hook's greeting, a WebSocket that is read, a POST; with plain blocking sockets.

The rule it keeps: the same few lines speak to both sides, so what they cost is in both numbers.
"""

from __future__ import annotations

import base64
import json
import os
import socket
from contextlib import suppress
from pathlib import Path
from typing import Any, Self

PATIENCE = 60.0


def unix(path: Path) -> socket.socket:
    sock = socket.socket(socket.AF_UNIX)
    sock.settimeout(PATIENCE)
    where = os.open(path.parent, os.O_RDONLY | os.O_DIRECTORY)
    try:
        sock.connect(f"/proc/self/fd/{where}/{path.name}" if Path("/proc/self/fd").exists() else str(path))
    finally:
        os.close(where)
    return sock


def greeting(event: str, request_id: str, payload: bytes, env: dict[str, str]) -> bytes:
    """What the hook program sends first (src/yourcall/hook/hook.py)."""
    block = "\0".join(f"{name}={value}" for name, value in env.items()).encode()
    return (
        f"yourcall/1 claude {event} {request_id or '-'} {len(block)} {len(payload)}\n".encode() + block + payload
    )


class Live:
    """A WebSocket that only listens."""

    def __init__(self, port: int, path: str, token: str = "") -> None:
        self._sock = socket.create_connection(("127.0.0.1", port), PATIENCE)
        self._sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        key = base64.b64encode(os.urandom(16)).decode()
        asked = [
            f"GET {path} HTTP/1.1", f"Host: 127.0.0.1:{port}", "Connection: Upgrade", "Upgrade: websocket",
            f"Sec-WebSocket-Key: {key}", "Sec-WebSocket-Version: 13",
        ]  # fmt: skip
        asked += [f"Authorization: Bearer {token}"] if token else []
        self._sock.sendall("\r\n".join([*asked, "", ""]).encode())
        self._rest = b""
        while b"\r\n\r\n" not in self._rest:
            self._rest += self._more()
        head, _, self._rest = self._rest.partition(b"\r\n\r\n")
        if b" 101 " not in head.partition(b"\r\n")[0]:
            raise RuntimeError(f"no WebSocket: {head.decode()}")

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._sock.close()

    def next(self) -> dict[str, Any]:
        """The next message, once it is here whole."""
        while True:
            opcode = self._take(1)[0] & 0x0F
            size = self._take(1)[0] & 0x7F
            if size >= 126:
                size = int.from_bytes(self._take(2 if size == 126 else 8), "big")
            data = self._take(size)
            if opcode == 1:
                return json.loads(data)
            if opcode == 9:  # a ping: a pong with nothing in it, masked with zeros
                self._sock.sendall(b"\x8a\x80\0\0\0\0")
            elif opcode == 8:
                raise RuntimeError(f"the WebSocket was closed: {data!r}")

    def prompt(self, prompt_id: str, *states: str) -> dict[str, Any]:
        """The news that this prompt came to one of these states."""
        while True:
            prompt = self.next().get("prompt")
            if prompt and prompt["id"] == prompt_id and prompt["state"] in states:
                return prompt

    def raised_in(self, session_id: str) -> dict[str, Any]:
        """The next prompt that opens in this session."""
        while True:
            prompt = self.next().get("prompt")
            if prompt and prompt["session_id"] == session_id and prompt["state"] == "open":
                return prompt

    def _take(self, size: int) -> bytes:
        while len(self._rest) < size:
            self._rest += self._more()
        taken, self._rest = self._rest[:size], self._rest[size:]
        return taken

    def _more(self) -> bytes:
        data = self._sock.recv(1 << 16)
        if not data:
            raise RuntimeError("the server closed the connection")
        return data


class Poster:
    """One kept connection; `send` returns before the reply is there, `reply` waits for it."""

    def __init__(self, port: int, token: str = "") -> None:
        self._port, self._token = port, token
        self._sock = socket.create_connection(("127.0.0.1", port), PATIENCE)
        self._sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._sock.close()

    def send(self, path: str, body: bytes) -> None:
        head = [
            f"POST {path} HTTP/1.1", f"Host: 127.0.0.1:{self._port}", "Content-Type: application/json",
            f"Content-Length: {len(body)}",
        ]  # fmt: skip
        head += [f"Authorization: Bearer {self._token}"] if self._token else []
        self._sock.sendall("\r\n".join([*head, "", ""]).encode() + body)

    def reply(self) -> int:
        """The status; the body is read and dropped."""
        data = b""
        while b"\r\n\r\n" not in data:
            data += self._sock.recv(1 << 16)
        head, _, body = data.partition(b"\r\n\r\n")
        length = 0
        for line in head.split(b"\r\n")[1:]:
            name, _, value = line.partition(b":")
            if name.lower() == b"content-length":
                with suppress(ValueError):
                    length = int(value)
        while len(body) < length:
            body += self._sock.recv(1 << 16)
        return int(head.split(b" ")[1])
