"""Try an address as a phone would: its name, its certificate, the app, the door, the live feed, notifications.

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
# As in server/, which this layer does not import.
LIVE, SERVICE_WORKER, ASKED_AS = "/api/live", "/sw.js", "Yourcall-Asked-As"


class Step(NamedTuple):
    name: str
    ok: bool
    detail: str


def check(
    url: str, authority: Path | None = None, *, push_key: bool = True, shown: bytes | None = None
) -> list[Step]:
    """From the outside in; the last step is the first that failed, or all are fine. `push_key`: has the daemon a
    key for notifications? That is asked of the daemon itself, for strangers are not told. `shown`: the certificate
    that must be shown there (DER), if TLS ends on this machine."""
    return list(_steps(url, authority, push_key, shown))


def _steps(url: str, authority: Path | None, push_key: bool, shown: bytes | None) -> Iterator[Step]:
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
            trust.wrap_socket(raw, server_hostname=host) as tls,
        ):
            is_ours = shown is None or tls.getpeercert(binary_form=True) == shown
    except ssl.SSLCertVerificationError as error:
        yield Step("certificate", False, f"No browser accepts it: {error.verify_message}.")
        return
    except OSError as error:
        yield Step("certificate", False, f"Nothing answers at {host}:{port} ({error.strerror or error}).")
        return
    if not is_ours:
        yield Step(
            "certificate", False, "It is not this machine's: somebody on the way ends the TLS and can read."
        )
        return
    yield Step("certificate", True, "valid for this name" if shown is None else "valid, and this machine's own")
    try:
        yield from _through(url, host, port, trust, push_key)
    except (OSError, HTTPException) as error:
        yield Step("app", False, f"The connection broke ({error}).")


def _through(url: str, host: str, port: int, trust: ssl.SSLContext, push_key: bool) -> Iterator[Step]:
    """What yourcall itself answers over this address."""
    app = _get(host, port, trust, "/", {})
    if app.status == 421:
        yield Step(
            "host", False, "yourcall doesn't know this name: pass on the Host header as the browser sent it."
        )
        return
    if app.status != 200 or b"yourcall" not in app.body:
        yield Step("app", False, f"Something else answers there (status {app.status}).")
        return
    yield Step("app", True, "the phone app is served")
    # The feed without an upgrade: the daemon says so, and by which name it was asked.
    plain = _get(host, port, trust, LIVE, {})
    if plain.status != 426:
        yield Step("host", False, f"Something on the way answers for yourcall (status {plain.status}).")
        return
    name = plain.headers.get(ASKED_AS.lower(), "")
    if name != urlsplit(url).netloc.lower():
        yield Step(
            "host", False, f"yourcall is asked as {name!r}: pass on the Host header as the browser sent it."
        )
        return
    yield Step("host", True, "the name arrives as the browser sent it")
    stranger = _get(host, port, trust, "/api/prompts", {})
    if stranger.status != 401:
        yield Step("door", False, f"A stranger gets status {stranger.status} instead of 401.")
        return
    yield Step("door", True, "closed to strangers")
    key = base64.b64encode(os.urandom(16)).decode()
    upgrade = {"Connection": "Upgrade", "Upgrade": "websocket", "Sec-WebSocket-Version": "13"}
    feed = _get(host, port, trust, LIVE, {**upgrade, "Sec-WebSocket-Key": key, "Origin": url.rstrip("/")})
    if feed.status != 401:  # the feed itself, which wants a key; without the upgrade it said 426
        yield Step("live feed", False, f"WebSockets don't pass (status {feed.status}): forward Upgrade headers.")
        return
    yield Step("live feed", True, "passes WebSockets")
    worker = _get(host, port, trust, SERVICE_WORKER, {})
    if worker.status != 200 or "javascript" not in worker.headers.get("content-type", ""):
        detail = f"The app's service worker is not served (status {worker.status}): was the app built?"
        yield Step("notifications", False, detail)
    elif not push_key:
        yield Step("notifications", False, "yourcall has no key to sign them with; run: yourcall doctor")
    else:
        yield Step("notifications", True, "the service worker and the key for them are there")


class Reply(NamedTuple):
    status: int
    headers: dict[str, str]
    body: bytes


def _get(host: str, port: int, trust: ssl.SSLContext, path: str, headers: dict[str, str]) -> Reply:
    connection: HTTPConnection = HTTPSConnection(host, port, timeout=PATIENCE_S, context=trust)
    try:
        connection.request("GET", path, headers=headers)
        reply: HTTPResponse = connection.getresponse()
        body = b"" if reply.status == 101 else reply.read(200_000)
        return Reply(reply.status, {name.lower(): value for name, value in reply.getheaders()}, body)
    finally:
        connection.close()
