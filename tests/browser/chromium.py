"""A real Chromium, driven over its own protocol: one browser for many tests, a fresh profile for each page.

The rule it keeps: what a test does, a thumb could do (touches and keys go in as input events, never as calls of
the page's own functions); and the browser talks to nobody but this machine.
"""

from __future__ import annotations

import base64
import itertools
import json
import os
import shutil
import signal
import subprocess
import threading
import time
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import urljoin

from websockets.exceptions import ConnectionClosed
from websockets.sync.client import connect

from kit.poll import PATIENCE_S, until

if TYPE_CHECKING:
    from collections.abc import Iterator

FLAGS = (
    "--headless",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--disable-extensions",
    "--disable-default-apps",
    "--disable-dev-shm-usage",
    "--hide-scrollbars",
    # Nothing but this machine has a name or an address.
    "--host-resolver-rules=MAP * ~NOTFOUND, EXCLUDE 127.0.0.1, EXCLUDE localhost",
    "--remote-debugging-port=0",
)

# How many times slower than this machine the pages run. A test that fails only here has a race in it.
SLOWED = float(os.environ.get("YOURCALL_SLOWED_PAGES", "1"))

# A press counts a second after its button came to rest, and after the tap before (web/src/lib/tapGuard.ts); this
# is a little more.
STEADY = 1.15


# What key.js of the app does when it is paired.
PAIR = """async (code, name) => {
    const kind = { name: "ECDSA", namedCurve: "P-256" };
    const made = await crypto.subtle.generateKey(kind, false, ["sign", "verify"]);
    const raw = new Uint8Array(await crypto.subtle.exportKey("raw", made.publicKey));
    const key = btoa(String.fromCharCode(...raw)).replaceAll("+", "-").replaceAll("/", "_").replace(/=+$/, "");
    const reply = await fetch("/api/pair", { method: "POST", body: JSON.stringify({ code, name, key }) });
    const { id, run, now } = await reply.json();
    await new Promise((resolve, reject) => {
        const asked = indexedDB.open("yourcall", 1);
        asked.onupgradeneeded = () => asked.result.createObjectStore("key");
        asked.onerror = reject;
        asked.onsuccess = () => {
            const all = asked.result.transaction("key", "readwrite");
            const own = { id, key: made.privateKey, run, ahead: now - Date.now(), point: key };
            all.objectStore("key").put(own, "own");
            all.oncomplete = () => (asked.result.close(), resolve());
        };
    });
    return reply.status;
}"""


def signed(script: str) -> str:
    """This expression, with the app's own `signedFetch` at hand: without a signature the daemon tells nothing."""
    key = Path(__file__).parents[2] / "src/yourcall/server/assets/key.js"
    return "(() => {" + key.read_text().replace("\nexport ", "\n") + f"\nreturn {script.strip()};\n}})()"


class Chromium:
    """`with Chromium(folder) as browser: page = browser.page(url)`."""

    def __init__(self, folder: Path, env: dict[str, str] | None = None) -> None:
        program = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
        assert program, "no Chromium here; see: tools/need.sh chromium"
        self._process = subprocess.Popen(
            [program, *FLAGS, f"--user-data-dir={folder}", "about:blank"],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            start_new_session=True,
            env={**os.environ, **(env or {})},
        )
        port = folder / "DevToolsActivePort"
        address = until(lambda: port.exists() and port.read_text().split(), what="Chromium")
        self._open = ExitStack()
        where = f"ws://127.0.0.1:{address[0]}{address[1]}"
        self._socket = self._open.enter_context(connect(where, max_size=None, compression=None))
        self._numbers = itertools.count(1)
        self._replies: dict[int, dict[str, Any]] = {}
        self._news = threading.Condition()
        self._pages: dict[str, Page] = {}
        threading.Thread(target=self._listen, daemon=True).start()

    def __enter__(self) -> Chromium:
        return self

    def __exit__(self, *_: object) -> None:
        self.call("Browser.close")
        try:
            self._process.wait(10)
        except subprocess.TimeoutExpired:
            self._process.send_signal(signal.SIGKILL)
            self._process.wait(10)
        self._open.close()

    def _listen(self) -> None:
        try:
            for text in self._socket:
                message = json.loads(text)
                with self._news:
                    if "id" in message:
                        self._replies[message["id"]] = message
                    elif page := self._pages.get(message.get("sessionId", "")):
                        page.heard(message["method"], message["params"])
                    self._news.notify_all()
        except (OSError, ConnectionClosed):
            pass  # the browser has closed

    def call(self, method: str, session: str = "", **params: Any) -> dict[str, Any]:
        number = next(self._numbers)
        message = {"id": number, "method": method, "params": params} | ({"sessionId": session} if session else {})
        self._socket.send(json.dumps(message))
        with self._news:
            assert self._news.wait_for(lambda: number in self._replies, PATIENCE_S), f"no reply to {method}"
            reply = self._replies.pop(number)
        assert "error" not in reply, f"{method}: {reply['error']}"
        return reply["result"]

    def page(
        self,
        url: str,
        *,
        width: int = 390,
        height: int = 844,
        dark: bool = False,
        pair: tuple[str, str] | None = None,
        at_once: bool = True,
    ) -> Page:
        """A phone of its own: keys, caches and workers are shared with no other page. `pair`: with this code, by
        this name, before the app is opened at `url`. `at_once`: its person has chosen that answers are sent at
        once and that no prompt comes by itself."""
        context = self.call("Target.createBrowserContext")["browserContextId"]
        return self._tab(context, url, width, height, dark, pair, at_once=at_once)

    def beside(self, page: Page, url: str) -> Page:
        """Another tab of the same phone: it shares what the phone keeps. It closes with the first one."""
        return self._tab(page._context, url, 390, 844, False, None)

    def _tab(
        self,
        context: str,
        url: str,
        width: int,
        height: int,
        dark: bool,
        pair: tuple[str, str] | None,
        *,
        at_once: bool = True,
    ) -> Page:
        target = self.call("Target.createTarget", url="about:blank", browserContextId=context)["targetId"]
        session = self.call("Target.attachToTarget", targetId=target, flatten=True)["sessionId"]
        page = Page(self, session, context)
        self._pages[session] = page
        for domain in ("Page", "Runtime", "Network", "Log"):
            page.call(f"{domain}.enable")
        page.resize(width, height)
        page.call("Emulation.setTouchEmulationEnabled", enabled=True, maxTouchPoints=1)
        page.theme(dark)
        if SLOWED > 1:
            page.call("Emulation.setCPUThrottlingRate", rate=SLOWED)
        if pair:
            page.pair(url, *pair)
            if at_once:
                page.js("""localStorage.setItem("yourcall.choices", '{"undo": false, "advance": false}')""")
        page.go(url)
        return page


class Page:
    """One tab. `errors` holds what the browser complained about, `asked` every address it asked for."""

    def __init__(self, browser: Chromium, session: str, context: str) -> None:
        self._browser = browser
        self._session = session
        self._context = context
        self.errors: list[str] = []
        self.asked: list[str] = []
        self.traced: list[dict[str, Any] | None] = []  # None at its end

    def close(self) -> None:
        self._browser.call("Target.disposeBrowserContext", browserContextId=self._context)

    def heard(self, method: str, params: dict[str, Any]) -> None:
        match method:
            case "Runtime.exceptionThrown":
                details = params["exceptionDetails"]
                self.errors.append(details.get("exception", {}).get("description") or json.dumps(details))
            case "Log.entryAdded" if params["entry"]["source"] in ("security", "violation", "javascript"):
                self.errors.append(params["entry"]["text"])
            case "Network.requestWillBeSent":
                self.asked.append(params["request"]["url"])
            case "Tracing.dataCollected":
                self.traced += params["value"]
            case "Tracing.tracingComplete":
                self.traced.append(None)
            case "Network.webSocketCreated":
                self.asked.append(params["url"])
            case _:
                pass

    def call(self, method: str, **params: Any) -> dict[str, Any]:
        return self._browser.call(method, self._session, **params)

    def pair(self, url: str, code: str, name: str) -> None:
        """As the app does it, from a picture of the same origin: no app is open that sees it unpaired."""
        picture = urljoin(url, "/icon.svg")
        self.go(picture)
        until(lambda: self.js("location.href + document.readyState") == f"{picture}complete", what="the picture")
        assert self.js(f"({PAIR})({json.dumps(code)}, {json.dumps(name)})") == 201
        self.asked.clear()

    def go(self, url: str) -> None:
        self.call("Page.navigate", url=url)

    def reload(self) -> None:
        self.call("Page.reload")

    def resize(self, width: int, height: int) -> None:
        self.call(
            "Emulation.setDeviceMetricsOverride", width=width, height=height, deviceScaleFactor=2, mobile=True
        )

    def theme(self, dark: bool) -> None:
        scheme = {"name": "prefers-color-scheme", "value": "dark" if dark else "light"}
        self.call("Emulation.setEmulatedMedia", features=[scheme])

    def line(self, up: bool) -> None:
        """Cut the phone's line, or give it back."""
        self.call(
            "Network.emulateNetworkConditions",
            offline=not up,
            latency=0,
            downloadThroughput=-1,
            uploadThroughput=-1,
        )

    def js(self, code: str) -> Any:
        reply = self.call("Runtime.evaluate", expression=code, returnByValue=True, awaitPromise=True)
        assert "exceptionDetails" not in reply, reply["exceptionDetails"]
        return reply["result"].get("value")

    def text(self) -> str:
        return self.js("document.body?.innerText ?? ''")

    def sees(self, words: str) -> str:
        """The page's text, once it holds these words."""
        return until(lambda: words in (now := self.text()) and now, what=repr(words), show=self.text)

    def loses(self, words: str) -> None:
        until(lambda: words not in self.text(), what=f"{words!r} to go", show=self.text)

    def becomes(self, expression: str, value: object) -> None:
        """Wait until the page says so; it draws some time after its events."""
        safe = f"(() => {{ try {{ return {expression} }} catch {{ return undefined }} }})()"
        until(lambda: self.js(safe) == value, what=f"{expression} to be {value!r}", show=self.text)

    def focus(self, selector: str) -> None:
        """Put the cursor into this field, once it is there."""
        quoted = json.dumps(selector)
        self.becomes(f"(document.querySelector({quoted}).focus(), document.activeElement.matches({quoted}))", True)

    def box(self, label: str, within: str = "body") -> dict[str, float] | None:
        """Where the first button or link lies whose name starts like this; None while there is none."""
        return self.js(f"""(() => {{
            const said = (e) => e.getAttribute("aria-label") ?? (e.querySelector(".label") ?? e).textContent;
            const all = [...document.querySelectorAll({json.dumps(within)})]
                .flatMap((part) => [...part.querySelectorAll("button, a, label, summary")])
                .filter((e) => e.getClientRects().length && !e.disabled);
            const found = all.find((e) => said(e).trim().startsWith({json.dumps(label)}));
            if (!found) return null;
            const r = found.getBoundingClientRect();
            const over = document.elementFromPoint(r.x + r.width / 2, r.y + r.height / 2);
            return {{ x: r.x, y: r.y, width: r.width, height: r.height, clear: found.contains(over),
                // These scroll by themselves: an open sheet, and the list of a wide page.
                scroller: ["dialog[open] .inner", "dialog[open]", ".list-side"].find((each) => {{
                    const part = found.closest(each);
                    return part && part.scrollHeight > part.clientHeight;
                }}) ?? "" }};
        }})()""")

    def find(self, label: str, within: str = "body") -> dict[str, float]:
        """The same, brought into view, and at rest for as long as a person looks before they press."""

        def still() -> dict[str, float] | None:
            nonlocal last, since
            now = self.box(label, within)
            if now and not now["clear"]:  # outside of what is seen, or behind a bar
                by = now["y"] - self.js("innerHeight") / 2
                self.js(
                    f"(document.querySelector({json.dumps(now['scroller'] or None)}) ?? window).scrollBy(0, {by})"
                )
            if now != last:
                last, since = now, time.monotonic()
            return now if now and now["clear"] and time.monotonic() - since > STEADY else None

        last: dict[str, float] | None = None
        since = 0.0
        return until(still, what=f"the button {label!r} at rest", show=self.text)

    def tap(self, label: str, within: str = "body") -> None:
        self.touch(self.find(label, within))
        # On a busy machine what we saw at rest may have moved for the page just now: it says so, and we try again.
        if self.js("document.querySelector('.nudged') !== null"):
            self.tap(label, within)

    def hold(self, label: str, seconds: float = 0.9, within: str = "body") -> None:
        self.touch(self.find(label, within), seconds)

    def touch(self, box: dict[str, float], seconds: float = 0.03) -> None:
        """A finger, at the middle of a box."""
        point = {"x": box["x"] + box["width"] / 2, "y": box["y"] + box["height"] / 2}
        self.call("Input.dispatchTouchEvent", type="touchStart", touchPoints=[point])
        time.sleep(seconds)  # how long the finger stays is what is tested
        self.call("Input.dispatchTouchEvent", type="touchEnd", touchPoints=[])

    def write(self, label: str, text: str) -> None:
        """Type into the field whose label starts like this, once it is there."""
        code = f"""(() => {{
            const typed = "input:not([type=radio], [type=checkbox]), textarea";
            const label = [...document.querySelectorAll("label, fieldset")]
                .find((e) => e.textContent.trim().startsWith({json.dumps(label)}) && e.querySelector(typed));
            const field = label?.querySelector(typed);
            field?.focus();
            field?.select();
            return Boolean(field);
        }})()"""
        until(lambda: self.js(code), what=f"a field {label!r}", show=self.text)
        self.call("Input.insertText", text=text)

    def key(self, name: str, code: int) -> None:
        self.press(name, code)
        self.release(name, code)

    def press(self, name: str, code: int) -> None:
        typed = {"text": "\r"} if name == "Enter" else {}
        self.call(
            "Input.dispatchKeyEvent", type="keyDown", key=name, code=name, windowsVirtualKeyCode=code, **typed
        )

    def release(self, name: str, code: int) -> None:
        self.call("Input.dispatchKeyEvent", type="keyUp", key=name, code=name, windowsVirtualKeyCode=code)

    def picture(self, path: Path) -> None:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(base64.b64decode(self.call("Page.captureScreenshot", format="png")["data"]))


# What a frame may take on a machine that does nothing else: counted in time of the page's own thread.
FRAME_MS = 100
TWO_FRAMES = "new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)))"


class Work:
    """How much work the page's thread has done, in milliseconds."""

    def __init__(self, page: Page) -> None:
        self.page = page
        page.call("Performance.enable", timeDomain="threadTicks")
        self.last = self._now()

    def _now(self) -> float:
        metrics = {one["name"]: one["value"] for one in self.page.call("Performance.getMetrics")["metrics"]}
        return 1000 * metrics["TaskDuration"]

    def since(self) -> float:
        before, self.last = self.last, self._now()
        return self.last - before


@contextmanager
def tasks(page: Page, slowed: int) -> Iterator[list[float]]:
    """How long each task of the page's thread takes, in milliseconds, on a phone that is this much slower: a list
    that is filled when the block is left."""
    took: list[float] = []
    page.call("Emulation.setCPUThrottlingRate", rate=slowed)
    page.traced = []
    config = {"includedCategories": ["disabled-by-default-devtools.timeline", "__metadata"]}
    page.call("Tracing.start", transferMode="ReportEvents", traceConfig=config)
    yield took
    page.call("Tracing.end")
    until(lambda: page.traced and page.traced[-1] is None, what="the trace")
    page.call("Emulation.setCPUThrottlingRate", rate=SLOWED)
    events = [event for event in page.traced if event]
    main = {
        (e["pid"], e["tid"])
        for e in events
        if e["name"] == "thread_name" and e["args"]["name"] == "CrRendererMain"
    }
    took += [e.get("tdur", 0) / 1000 for e in events if e["name"] == "RunTask" and (e["pid"], e["tid"]) in main]
