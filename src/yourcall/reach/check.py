"""Try an address as a phone would: its name, its certificate, the app, the door and the live feed.

Rule: a step that fails says what to do about it, and the steps behind it are not tried.
"""

from __future__ import annotations

import base64
import os
import socket
import ssl
from collections.abc import Iterator
from http.client import HTTPConnection, HTTPException, HTTPResponse, HTTPSConnection
from pathlib import Path
from typing import NamedTuple
from urllib.parse import urlsplit

PATIENCE_S = 15.0  # of a tunnel that was just told about us


class Step(NamedTuple):
    name: str
    ok: bool
    detail: str


def check(url: str, authority: Path | None = None) -> list[Step]:
    """From the outside in; the last step is the first that failed, or all are fine."""
    return list(_steps(url, authority))


def _steps(url: str, authority: Path | None) -> Iterator[Step]:
    parts = urlsplit(url)
    host, port = parts.hostname or "", parts.port or (443 if parts.scheme == "https" else 80)
    try:
        address = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)[0][4][0]
    except OSError as error:
        yield Step("name", False, f"{host} has no address here ({error.strerror or error}).")
        return
    yield Step("name", True, f"{host} is {address}")
    if parts.scheme != "https":
        yield Step("certificate", False, "A phone pairs by https:// only.")
        return
    try:
        trust = ssl.create_default_context(cafile=str(authority) if authority else None)
        with (
            socket.create_connection((host, port), PATIENCE_S) as raw,
            trust.wrap_socket(raw, server_hostname=host),
        ):
            pass
    except ssl.SSLCertVerificationError as error:
        yield Step("certificate", False, f"No browser accepts it: {error.verify_message}.")
        return
    except OSError as error:
        yield Step("certificate", False, f"Nothing answers at {host}:{port} ({error.strerror or error}).")
        return
    yield Step("certificate", True, "valid for this name")
    try:
        status, body = _get(host, port, trust, "/", {})
        if status == 421:
            yield Step(
                "app", False, "yourcall doesn't know this name: pass on the Host header as the browser sent it."
            )
            return
        if status != 200 or b"yourcall" not in body:
            yield Step("app", False, f"Something else answers there (status {status}).")
            return
        yield Step("app", True, "the phone app is served")
        status, _ = _get(host, port, trust, "/api/prompts", {})
        if status != 401:
            yield Step("door", False, f"A stranger gets status {status} instead of 401.")
            return
        yield Step("door", True, "closed to strangers")
        key = base64.b64encode(os.urandom(16)).decode()
        upgrade = {"Connection": "Upgrade", "Upgrade": "websocket", "Sec-WebSocket-Version": "13"}
        status, _ = _get(
            host, port, trust, "/api/live", {**upgrade, "Sec-WebSocket-Key": key, "Origin": url.rstrip("/")}
        )
    except (OSError, HTTPException) as error:
        yield Step("app", False, f"The connection broke ({error}).")
        return
    # Refused for want of a key, but by the feed: a proxy that drops the upgrade gets an ordinary 404 or 426.
    passed = status in (101, 401, 403)
    detail = (
        "passes WebSockets" if passed else f"WebSockets don't pass (status {status}): forward Upgrade headers."
    )
    yield Step("live feed", passed, detail)


def _get(host: str, port: int, trust: ssl.SSLContext, path: str, headers: dict[str, str]) -> tuple[int, bytes]:
    connection: HTTPConnection = HTTPSConnection(host, port, timeout=PATIENCE_S, context=trust)
    try:
        connection.request("GET", path, headers=headers)
        reply: HTTPResponse = connection.getresponse()
        return reply.status, b"" if reply.status == 101 else reply.read(200_000)
    finally:
        connection.close()
