"""A browser sends its cookies to every port of a host: none of them may read, answer or change anything here.

A server on another port of 127.0.0.1 (an agent's own dev server, say) records all that a paired Chromium sends to
it, and then tries everything with that.
"""

from __future__ import annotations

import json
import threading
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import TYPE_CHECKING, Any

import httpx
import pytest
from websockets.exceptions import InvalidStatus
from websockets.sync.client import connect

from kit.poll import until

if TYPE_CHECKING:
    from collections.abc import Iterator

    from chromium import Chromium, Page
    from phone_scene import Agent, Daemon

    from kit.yourcall import Yourcall

pytestmark = pytest.mark.browser

RULE = 'name = "anything"\ndo = "allow"\ncommand = "*"\n'


class Spy(ThreadingHTTPServer):
    """Somebody else's server. Its page sends whatever a page there can send, to itself and to yourcall."""

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.headers: list[dict[str, str]] = []
        self.url = f"http://127.0.0.1:{self.server_address[1]}"


class _Handler(BaseHTTPRequestHandler):
    server: Spy

    def do_GET(self) -> None:
        self.server.headers.append(dict(self.headers.items()))
        body = b"<!doctype html><title>dev server</title><p>dev server</p>"
        self.send_response(200)
        self.send_header("Content-Type", "text/html")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, format: str, *args: object) -> None:
        """Say nothing."""


@contextmanager
def spying() -> Iterator[Spy]:
    with Spy() as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        try:
            yield server
        finally:
            server.shutdown()
            thread.join()


def pair(chromium: Chromium, yc: Yourcall, name: str = "phone") -> Page:
    """Through the page, as a person does it."""
    code = yc.http("POST", "/api/pairing")[1]["code"]
    page = chromium.page(f"{yc.url}/#pair={code}")
    page.write("Name of this device", name)
    page.tap("Pair", "form")
    page.sees("Turn on notifications")
    page.js("location.hash = '#/'")
    page.sees("Live")
    return page


def every_use(headers: dict[str, str], origin: str) -> Iterator[dict[str, str]]:
    """All that can be made of what a browser sent: as it came, from our own page, and each cookie as a token."""
    sent = {name: value for name, value in headers.items() if name.lower() not in ("host", "connection")}
    cookies = [part.strip() for part in sent.get("Cookie", "").split(";") if part.strip()]
    yield sent
    yield {**sent, "Origin": origin, "Sec-Fetch-Site": "same-origin"}
    for cookie in cookies:
        yield {"Authorization": f"Bearer {cookie.partition('=')[2]}"}


def test_what_a_browser_sends_to_another_port_opens_nothing(
    yc: Yourcall, agent: Agent, chromium: Chromium
) -> None:
    page = pair(chromium, yc)
    agent.bash("cookieaaa2", "npm test")
    page.sees("npm test")
    with spying() as spy:
        other = chromium.beside(page, spy.url)
        other.sees("dev server")
        # What a page there can make the browser send to us, with everything the browser has for us.
        said = other.js(f"""Promise.all([
            fetch({json.dumps(yc.url)} + "/api/prompts", {{ credentials: "include" }})
                .then((r) => r.text(), () => ""),
            fetch({json.dumps(yc.url)} + "/api/prompts/cookieaaa2/answer",
                {{ method: "POST", mode: "no-cors", credentials: "include", body: '{{"option": "allow"}}' }})
                .then((r) => r.text(), () => ""),
            new Promise((resolve) => {{
                const line = new WebSocket({json.dumps(yc.url.replace("http", "ws"))} + "/api/live");
                line.onmessage = ({{ data }}) => resolve(data);
                line.onclose = () => resolve("");
            }}),
            indexedDB.databases().then((all) => all.map((one) => one.name).join()),
        ])""")
        assert said == ["", "", "", ""]
        assert spy.headers
        attempts = [use for sent in spy.headers for use in every_use(sent, yc.url)]
    opened = {path: reads(yc, path, attempts) for path in ("/api/prompts", "/api/log", "/api/devices")}
    assert opened == {"/api/prompts": [], "/api/log": [], "/api/devices": []}
    changed = [
        (method, path)
        for method, path, body in (
            ("POST", "/api/rules", {"text": RULE}),
            ("POST", "/api/pause", None),
            ("DELETE", "/api/devices/" + yc.http("GET", "/api/devices")[1][0]["id"], None),
            ("POST", "/api/prompts/cookieaaa2/answer", {"option": "allow"}),
        )
        for use in attempts
        if httpx.request(method, yc.url + path, headers=use, json=body, trust_env=False).status_code
        not in (401, 403)
    ]
    assert changed == []
    for path in ("/api/live", "/api/rpc", "/ws", "/api/interactive"):
        for use in attempts:
            said = {
                name: value for name, value in use.items() if not name.lower().startswith(("sec-web", "upgrade"))
            }
            with pytest.raises(InvalidStatus):
                connect(yc.url.replace("http", "ws") + path, additional_headers=said, proxy=None).close()
    assert yc.show("cookieaaa2")["state"] == "open"
    assert yc.http("GET", "/api/rules")[1]["rules"] == []
    page.call("Page.bringToFront")
    page.tap("Allow")
    until(lambda: yc.show("cookieaaa2")["state"] != "open", what="the phone's own answer")
    assert yc.show("cookieaaa2")["answered_by"] == "phone"
    page.close()


def reads(yc: Yourcall, path: str, attempts: list[dict[str, str]]) -> list[int]:
    found = [httpx.get(yc.url + path, headers=use, trust_env=False).status_code for use in attempts]
    return [status for status in found if status not in (401, 403)]


WATCHED = """
    window.sent = [];
    const before = window.fetch;
    window.fetch = (input, init) => {
        const request = new Request(input, init);
        const { method, url } = request;
        window.sent.push({ method, url, headers: [...request.headers], body: init?.body ?? null });
        return before(input, init);
    };
"""


def test_a_request_of_the_phone_is_good_once_and_only_as_it_was_sent(
    yc: Yourcall, agent: Agent, chromium: Chromium
) -> None:
    page = pair(chromium, yc)
    page.js(WATCHED)
    agent.bash("replayaaa2", "first command")
    agent.bash("replaybbb2", "second command")
    page.sees("second command")
    page.js("location.hash = '#/p/replayaaa2'")
    page.tap("Deny", ".bar")
    page.tap("Deny", ".sheet")
    sent = until(lambda: [one for one in page.js("window.sent") if "/answer" in one["url"]], what="the answer")[0]
    until(lambda: yc.show("replayaaa2")["state"] != "open", what="the answer to arrive")
    headers = dict(sent["headers"])
    assert "yourcall-signature" in headers, "the browser signs what it asks for"

    def again(**other: Any) -> int:
        now = {**sent, "headers": headers, **other}
        return httpx.request(
            now["method"], now["url"], headers=now["headers"], content=now["body"], trust_env=False
        ).status_code

    assert again() == 403, "the very same request, a second time"
    assert again(url=sent["url"].replace("replayaaa2", "replaybbb2")) == 403
    assert again(body='{"option": "allow"}') == 403
    assert again(url=sent["url"] + "?wait=1") == 403
    assert again(method="PUT") == 403
    assert yc.show("replaybbb2")["state"] == "open"
    reading = next(one for one in page.js("window.sent") if one["method"] == "GET")
    assert httpx.get(reading["url"], headers=dict(reading["headers"]), trust_env=False).status_code == 403
    page.close()


def test_the_key_cannot_leave_the_browser(yc: Yourcall, chromium: Chromium) -> None:
    page = pair(chromium, yc)
    found = page.js("""new Promise((resolve) => {
        const asked = indexedDB.open("yourcall");
        asked.onsuccess = () => {
            const store = asked.result.transaction("key").objectStore("key").get("own");
            store.onsuccess = async () => {
                const { key } = store.result;
                const formats = ["pkcs8", "jwk", "raw", "spki"];
                const out = await Promise.all(
                    formats.map((as) => crypto.subtle.exportKey(as, key).then(() => as, () => "")));
                resolve([key.type, key.extractable, out.join("")]);
            };
        };
    })""")
    assert found == ["private", False, ""]
    assert page.js("document.cookie") == ""
    cookies = page.call("Network.getCookies", urls=[yc.url])["cookies"]
    assert cookies == []
    page.close()


def test_a_browser_that_was_paired_by_a_cookie_is_told_to_pair_again(
    yc: Yourcall, agent: Agent, chromium: Chromium
) -> None:
    old = yc.http("POST", "/api/devices", {"name": "old phone", "scopes": ["read", "answer", "rules"]})[1]["token"]
    agent.bash("againaaaa2", "npm test")
    page = chromium.page("about:blank")
    page.call("Network.setCookie", name="yourcall", value=old, url=yc.url, httpOnly=True, sameSite="Strict")
    page.go(f"{yc.url}/")
    text = page.sees("Pair this browser again")
    assert "npm test" not in text
    page.write("Code", yc.http("POST", "/api/pairing")[1]["code"])
    page.tap("Pair", "form")
    page.sees("npm test")
    assert page.call("Network.getCookies", urls=[yc.url])["cookies"] == []
    alive = [device for device in yc.http("GET", "/api/devices")[1] if device["revoked_at"] is None]
    assert [device["key"] for device in alive] == ["browser"]
    assert httpx.get(f"{yc.url}/api/prompts", headers={"Authorization": f"Bearer {old}"}).status_code == 401
    page.close()


def test_a_page_that_is_not_secure_says_what_it_needs_and_does_not_pair(yc: Yourcall, chromium: Chromium) -> None:
    page = chromium.page("about:blank")
    hidden = 'Object.defineProperty(window, "isSecureContext", { value: false });'
    page.call("Page.addScriptToEvaluateOnNewDocument", source=hidden)
    page.go(f"{yc.url}/#pair={yc.http('POST', '/api/pairing')[1]['code']}")
    page.sees("This address is not secure")
    assert "https://" in page.text()
    assert page.box("Pair", "form") is None
    assert yc.http("GET", "/api/devices")[1] == []
    page.close()


def test_a_phone_goes_on_when_yourcall_was_restarted_and_its_own_clock_is_wrong(
    yc: Daemon, agent: Agent, chromium: Chromium
) -> None:
    page = pair(chromium, yc)
    port = int(yc.url.rpartition(":")[2])
    yc.stop()
    page.sees("No connection")
    page.js("const right = Date.now; Date.now = () => right() + 7 * 86_400_000")
    yc.start_on(port)
    page.sees("Live")
    agent.bash("wrongaaaa2", "npm test")
    page.tap("Deny")
    until(lambda: yc.show("wrongaaaa2")["state"] != "open", what="the answer")
    assert yc.show("wrongaaaa2")["answered_by"] == "phone"
    page.close()
