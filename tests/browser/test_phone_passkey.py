"""Passkeys with Chromium's own virtual authenticator: register, use, two keys, a lost, a revoked and a copied one,
and a page that is not ours."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import pytest
from chromium import Chromium, Page, signed
from phone_scene import Agent, answered, enter

from kit.poll import until

if TYPE_CHECKING:
    from kit.yourcall import Yourcall

pytestmark = pytest.mark.browser


class Finger:
    """A virtual authenticator in this page. `verified`: the person's finger is the right one."""

    def __init__(self, page: Page, *, verified: bool = True) -> None:
        self.page = page
        page.call("WebAuthn.enable")
        options = {
            "protocol": "ctap2",
            "transport": "internal",
            "hasResidentKey": True,
            "hasUserVerification": True,
            "isUserVerified": verified,
            "automaticPresenceSimulation": True,
        }
        self.id = page.call("WebAuthn.addVirtualAuthenticator", options=options)["authenticatorId"]

    def is_right(self, right: bool) -> None:
        self.page.call("WebAuthn.setUserVerified", authenticatorId=self.id, isUserVerified=right)

    def keys(self) -> list[dict[str, Any]]:
        return self.page.call("WebAuthn.getCredentials", authenticatorId=self.id)["credentials"]

    def takes(self, key: dict[str, Any]) -> None:
        self.page.call("WebAuthn.addCredential", authenticatorId=self.id, credential=key)

    def loses(self) -> None:
        self.page.call("WebAuthn.clearCredentials", authenticatorId=self.id)


@pytest.fixture
def phone(chromium: Chromium, yc: Yourcall) -> Iterator[Page]:
    page = named(chromium, yc, "phone")
    yield page
    page.close()


def named(chromium: Chromium, yc: Yourcall, name: str) -> Page:
    """A paired phone on a page with a name: a passkey is made for none without."""
    pairing = yc.http("POST", "/api/pairing")
    assert pairing[0] == 201, pairing
    address = yc.url.replace("127.0.0.1", "localhost")
    page = chromium.page(f"{address}/", pair=(pairing[1]["code"], name))
    page.sees("Live")
    return page


def register(page: Page) -> None:
    page.tap("Settings", "nav")
    page.sees("Passkeys")
    page.tap("Add a passkey")
    page.sees("for this page")


def opened(page: Page, yc: Yourcall) -> dict[str, Any]:
    prompt = yc.wait_prompt()
    page.js(f"location.hash = '#/p/{prompt['id']}'")
    page.sees("rm -rf build")
    return prompt


def test_register_then_a_dangerous_yes_is_one_tap_and_a_gesture(yc: Yourcall, agent: Agent, phone: Page) -> None:
    finger = Finger(phone)
    register(phone)
    (key,) = finger.keys()
    assert key["rpId"] == "localhost"
    line = agent.bash("passkeyaa1", "rm -rf build")
    prompt = opened(phone, yc)
    # By nobody else: the command line is told where to confirm it; a script has no way.
    refused = yc.http("POST", f"/api/prompts/{prompt['id']}/answer", {"option": "allow", "sure": True})
    assert refused[0] == 428
    phone.tap("Allow")
    assert answered(line)["decision"]["behavior"] == "allow"
    used = yc.http("GET", "/api/passkeys")[1]
    assert used[0]["used_at"] > 0
    phone.errors.clear()  # 428 is told on the console


def test_a_wrong_finger_says_no_yes_and_a_no_takes_none(yc: Yourcall, agent: Agent, phone: Page) -> None:
    finger = Finger(phone)
    register(phone)
    finger.is_right(False)
    line = agent.bash("passkeyaa2", "rm -rf build")
    opened(phone, yc)
    phone.tap("Allow")
    phone.sees("It was not confirmed with a passkey")
    phone.tap("Deny", ".bar")
    phone.tap("Deny", ".sheet")
    assert answered(line)["decision"]["behavior"] == "deny"
    phone.errors.clear()


def test_a_lost_key_two_keys_and_a_revoked_one(
    yc: Yourcall, agent: Agent, phone: Page, chromium: Chromium
) -> None:
    finger = Finger(phone)
    register(phone)
    first = finger.keys()[0]
    # Another authenticator, with a link from the machine: the word of the first would do as well.
    link = yc.run("passkeys", "add", "--json").json["url"]
    phone.call("WebAuthn.removeVirtualAuthenticator", authenticatorId=finger.id)
    finger = Finger(phone)
    phone.go(link)
    phone.sees("Passkeys")
    phone.tap("Add another passkey")
    until(lambda: len(yc.http("GET", "/api/passkeys")[1]) == 2, what="a second key", show=phone.text)
    assert "passkey=" not in phone.js("location.href")
    line = agent.bash("passkeyaa3", "rm -rf build")
    opened(phone, yc)
    phone.tap("Allow")
    assert answered(line)["decision"]["behavior"] == "allow"
    # All of them are lost: it is refused, and the machine itself is the way out.
    finger.loses()
    line = agent.bash("passkeyaa4", "rm -rf build/two")
    prompt = until(lambda: next((p for p in yc.prompts() if p["title"].endswith("two")), None))
    phone.js(f"location.hash = '#/p/{prompt['id']}'")
    phone.tap("Allow")
    phone.sees("It was not confirmed with a passkey")
    for key in yc.http("GET", "/api/passkeys")[1]:
        assert yc.run("passkeys", "revoke", key["id"]).code == 0
    # A revoked key that turns up again opens nothing, and nothing takes a passkey any more.
    finger.takes(first)
    assert yc.http("GET", "/api/passkeys")[1] == []
    phone.reload()
    phone.sees("rm -rf build/two")
    phone.hold("Hold to allow")
    assert answered(line)["decision"]["behavior"] == "allow"
    del chromium
    phone.errors.clear()


def test_a_copied_key_is_found_by_its_counter(yc: Yourcall, agent: Agent, phone: Page) -> None:
    finger = Finger(phone)
    register(phone)
    copy = finger.keys()[0]
    line = agent.bash("passkeyaa5", "rm -rf build")
    opened(phone, yc)
    phone.tap("Allow")
    assert answered(line)["decision"]["behavior"] == "allow"
    finger.loses()
    finger.takes({**copy, "signCount": 0})
    agent.bash("passkeyaa6", "rm -rf build")
    prompt = until(lambda: next((p for p in yc.prompts() if p["state"] == "open"), None))
    phone.js(f"location.hash = '#/p/{prompt['id']}'")
    phone.tap("Allow")
    phone.sees("there may be a copy of it")
    assert yc.show(prompt["id"])["state"] == "open"
    assert yc.http("GET", "/api/passkeys")[1] == []
    assert any("went back" in line["detail"] for line in yc.run("log", "settings", "--json").json)
    phone.errors.clear()


def test_a_page_of_another_origin_gets_no_gesture_of_ours(yc: Yourcall, phone: Page, chromium: Chromium) -> None:
    """Another server on the same host: it has the same name for passkeys, and another port."""
    from http.server import HTTPServer, SimpleHTTPRequestHandler
    from threading import Thread

    finger = Finger(phone)
    register(phone)
    (key,) = yc.http("GET", "/api/passkeys")[1]
    told = phone.js(signed('signedFetch("/api/resume", { method: "POST" }).then((r) => r.json())'))
    step = told["step_up"]
    with HTTPServer(("127.0.0.1", 0), SimpleHTTPRequestHandler) as server:
        Thread(target=server.serve_forever, daemon=True).start()
        elsewhere = chromium.beside(phone, f"http://localhost:{server.server_address[1]}/")
        other = Finger(elsewhere)
        other.takes(finger.keys()[0])
        made = elsewhere.js(GET % (repr(step["challenge"]), repr(step["credentials"][0])))
        server.shutdown()
    reply = phone.js(
        signed(f"""signedFetch("/api/resume", {{ method: "POST",
            headers: {{ "Yourcall-Step-Up": {step["id"]!r} + "." + {made!r} }} }})
            .then((r) => r.json().then((told) => [r.status, told.error]))""")
    )
    assert reply[0] == 403, reply
    assert "origin" in reply[1]
    assert key["id"] == yc.http("GET", "/api/passkeys")[1][0]["id"]
    phone.errors.clear()


GET = """(async () => {
    const plain = (t) => atob(t.replaceAll("-", "+").replaceAll("_", "/"));
    const bytes = (t) => Uint8Array.from(plain(t), (c) => c.charCodeAt(0));
    const coded = (b) => btoa(String.fromCharCode(...new Uint8Array(b)));
    const text = (b) => coded(b).replaceAll("+", "-").replaceAll("/", "_").replace(/=+$/, "");
    const made = await navigator.credentials.get({ publicKey: { challenge: bytes(%s), rpId: "localhost",
        allowCredentials: [{ type: "public-key", id: bytes(%s) }], userVerification: "required" } });
    const { clientDataJSON, authenticatorData, signature } = made.response;
    const response = { clientDataJSON: text(clientDataJSON), authenticatorData: text(authenticatorData),
        signature: text(signature) };
    const all = { id: made.id, rawId: text(made.rawId), type: made.type, response };
    return text(new TextEncoder().encode(JSON.stringify(all)));
})()"""


def test_what_the_command_line_asks_is_confirmed_on_the_phone(yc: Yourcall, phone: Page) -> None:
    import subprocess

    from kit.yourcall import COMMAND

    Finger(phone)
    register(phone)
    waiting = subprocess.Popen(
        [str(COMMAND), "devices", "add", "ci"],
        env=yc.env,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    assert waiting.stderr is not None
    assert "takes your passkey" in waiting.stderr.readline()
    link = waiting.stderr.readline().strip()
    phone.go(link)
    phone.sees('Add a device: {"name": "ci"')
    phone.tap("Confirm with passkey")
    phone.sees("It goes on at the machine.")
    out, _ = waiting.communicate(timeout=60)
    assert out.startswith("yc_")
    assert [each["name"] for each in yc.http("GET", "/api/devices")[1]] == ["phone", "ci"]


def test_paired_by_number_the_app_says_how_to_get_a_name(yc: Yourcall, chromium: Chromium) -> None:
    page = enter(chromium, yc)
    page.tap("Settings", "nav")
    page.tap("Add a passkey")
    page.sees("http://localhost")
    page.errors.clear()
    page.close()
