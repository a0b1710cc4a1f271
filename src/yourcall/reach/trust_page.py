"""A page on which a phone gets this machine's certificate authority, served while a person looks on.

Rule: it gives away the authority's certificate, which is public, and nothing else. It has no other route and stops
by itself. It speaks plain HTTP, because the phone trusts nothing of ours yet; the person compares the fingerprint.
"""

from __future__ import annotations

import html
import plistlib
import ssl
import time
import uuid
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path
from types import TracebackType
from typing import Any
from urllib.parse import urlsplit

from yourcall.reach import certificates
from yourcall.reach.way import Way

SERVED_S = 1800.0
_NAMESPACE = uuid.UUID("6f1d4a52-2c5e-4b3e-9a57-3f4f0c1b7a10")  # so that a profile replaces its older self

_PAGE = """<!doctype html><html lang="en"><meta charset="utf-8"><meta name="viewport" content="width=device-width">
<title>Trust {host}</title>
<style>body{{font:1.05rem/1.5 system-ui,sans-serif;max-width:34rem;margin:2rem auto;padding:0 1rem;
background:Canvas;color:CanvasText;color-scheme:light dark}}code{{overflow-wrap:anywhere;font-size:.9em}}
a.get{{display:block;margin:1rem 0;padding:.9rem 1rem;border-radius:.7rem;background:#1f6feb;color:#fff;
text-align:center;text-decoration:none;font-weight:600}}</style>
<h1>Trust this machine</h1>
<p>Your phone gets a certificate that vouches for <b>{host}</b> and for nothing else.
First compare the fingerprint with the one in your terminal:</p><p><code>{fingerprint}</code></p>
<h2>iPhone, iPad</h2>
<a class="get" href="/yourcall.mobileconfig">Download the profile</a>
<ol><li>Settings › General › VPN &amp; Device Management: install the profile.</li>
<li>Settings › General › About › Certificate Trust Settings: turn it on.</li></ol>
<h2>Android</h2>
<a class="get" href="/yourcall.crt">Download the certificate</a>
<ol><li>Settings › Security › More › Install from storage › CA certificate.</li></ol>
<h2>Then</h2><p>Open <a href="{url}">{url}</a> and pair this phone.</p></html>
"""


class TrustPage:
    """`with TrustPage(home, way) as page: page.serve()`"""

    def __init__(self, home: Path, way: Way) -> None:
        paths = certificates.files(home)
        der = ssl.PEM_cert_to_DER_cert(paths.authority.read_text())
        host = urlsplit(way.url).hostname or ""
        self.fingerprint = certificates.fingerprint(paths.authority)
        page = _PAGE.format(
            host=html.escape(host), url=html.escape(way.url, quote=True), fingerprint=self.fingerprint
        )
        self._files = {
            "/": ("text/html; charset=utf-8", page.encode()),
            "/yourcall.crt": ("application/x-x509-ca-cert", der),
            "/yourcall.mobileconfig": ("application/x-apple-aspen-config", _profile(host, der)),
        }
        self._server = HTTPServer((way.listen_on, 0), self._handler())
        self._server.timeout = 1.0
        self.url = f"http://{f'[{host}]' if ':' in host else host}:{self._server.server_port}/"

    def __enter__(self) -> TrustPage:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._server.server_close()

    def serve(self) -> None:
        ends = time.monotonic() + SERVED_S
        while time.monotonic() < ends:
            self._server.handle_request()

    def _handler(self) -> type[BaseHTTPRequestHandler]:
        files = self._files

        class Handler(BaseHTTPRequestHandler):
            timeout = 10  # a phone that says nothing holds the page up no longer

            def do_GET(self) -> None:
                kind, data = files.get(self.path, ("text/plain", b"Not found\n"))
                self.send_response(200 if self.path in files else 404)
                self.send_header("Content-Type", kind)
                self.send_header("Content-Length", str(len(data)))
                self.send_header("Cache-Control", "no-store")
                self.end_headers()
                self.wfile.write(data)

            def log_message(self, format: str, *args: Any) -> None:
                pass

        return Handler


def _profile(host: str, der: bytes) -> bytes:
    """An Apple configuration profile with one root certificate."""
    inner, outer = uuid.uuid5(_NAMESPACE, f"{host} certificate"), uuid.uuid5(_NAMESPACE, host)
    certificate = {
        "PayloadType": "com.apple.security.root",
        "PayloadVersion": 1,
        "PayloadIdentifier": f"yourcall.{inner}",
        "PayloadUUID": str(inner),
        "PayloadDisplayName": f"yourcall on {host}",
        "PayloadContent": der,
    }
    profile = {
        "PayloadType": "Configuration",
        "PayloadVersion": 1,
        "PayloadIdentifier": f"yourcall.{outer}",
        "PayloadUUID": str(outer),
        "PayloadDisplayName": f"yourcall on {host}",
        "PayloadDescription": f"Lets this device trust {host}, and no other machine, for yourcall.",
        "PayloadContent": [certificate],
    }
    return plistlib.dumps(profile)
