"""A dangerous yes takes a passkey: for this act, on this host, for this device, once; no way leads around it."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable
from typing import Any

import httpx
import pytest
from browser_key import BrowserKey
from msgspec.structs import replace
from server_house import House

from kit.authenticator import PRESENT, VERIFIED, Authenticator, header
from yourcall.model.people import AnswerPolicy, StepUp
from yourcall.model.prompts import Answer
from yourcall.server.step_up import ASKED_S, PROVEN_S

RM = json.dumps({"tool_input": {"command": "rm -rf build"}}).encode()


class Phone:
    """A paired browser on a page with a name, and its passkey."""

    def __init__(self, house: House, name: str = "phone", passkey: Authenticator | None = None) -> None:
        self.house = house
        self.key = BrowserKey()
        assert self.key.pair(house, name).status_code == 201
        self.passkey = passkey or Authenticator()
        self.host = f"localhost:{house.port}"
        self.origin = f"http://{self.host}"

    def send(self, method: str, path: str, body: Any = None, **more: str) -> httpx.Response:
        data = b"" if body is None else json.dumps(body).encode()
        return self.key.send(self.house, method, path, data, Host=self.host, **{"Origin": self.origin, **more})

    def register(self, code: str = "", **brings: str) -> httpx.Response:
        begun = self.send("POST", "/api/passkeys/new", {"code": code}, **brings)
        if begun.status_code != 201:
            return begun
        told = begun.json()
        made = self.passkey.made(told["challenge"], self.origin, told["rp_id"])
        return self.send("POST", "/api/passkeys", {"id": told["id"], "name": "thumb", "credential": made})

    def asks(self, prompt: str, option: str = "allow", **more: Any) -> tuple[dict[str, Any], httpx.Response]:
        """Try to answer; the body that was sent, and what was said."""
        seen = self.send("GET", f"/api/prompts/{prompt}").json()["version"]
        body = {"option": option, "sure": True, "seen": seen, **more}
        return body, self.send("POST", f"/api/prompts/{prompt}/answer", body)

    def signs(self, told: httpx.Response, **wrong: Any) -> str:
        step = told.json()["step_up"]
        said = {"challenge": step["challenge"], "origin": self.origin, "rp_id": step["rp_id"], **wrong}
        return header(step["id"], self.passkey.signs(**said))

    def answers(self, prompt: str, option: str = "allow", **more: Any) -> httpx.Response:
        body, told = self.asks(prompt, option, **more)
        assert told.status_code == 428, told.text
        return self.again(prompt, body, self.signs(told))

    def again(self, prompt: str, body: dict[str, Any], gesture: str) -> httpx.Response:
        return self.send("POST", f"/api/prompts/{prompt}/answer", body, **{"Yourcall-Step-Up": gesture})


@pytest.fixture
def phone(house: House) -> Phone:
    found = Phone(house)
    house.session("s1")
    assert found.register().status_code == 201
    return found


def state(house: House, prompt: str) -> str:
    found = house.store.prompt(prompt)
    assert found is not None
    return found.state


def test_nothing_changes_until_somebody_has_a_passkey(house: House) -> None:
    phone = Phone(house)
    house.ask("rm", RM)
    _, told = phone.asks("rm")
    assert told.status_code == 202


def test_a_dangerous_yes_takes_one_gesture_and_an_everyday_one_none(house: House, phone: Phone) -> None:
    house.ask("ls")
    house.ask("rm", RM)
    house.ask("no", RM)
    assert phone.asks("ls")[1].status_code == 202
    assert phone.asks("no", "deny")[1].status_code == 202
    _, told = phone.asks("rm")
    assert told.status_code == 428
    assert (told.json()["result"], state(house, "rm")) == ("refused", "open")
    assert "It deletes files" in told.json()["detail"]
    assert told.json()["step_up"]["words"] == "Yes: Bash (/home/user/project)"
    assert phone.answers("rm").status_code == 202
    answer = house.loop.state.prompts["rm"].answer
    assert answer is not None
    assert [each.id for each in house.step_up.passkeys()] == [answer.proof]


def test_what_lasts_takes_one_also_where_it_is_harmless(house: House, phone: Phone) -> None:
    house.ask("ls")
    assert phone.asks("ls", "always")[1].status_code == 428
    assert phone.answers("ls", "always").status_code == 202


def test_a_gesture_is_good_once_for_one_act(house: House, phone: Phone) -> None:
    for name in ("rm", "rm2", "rm3"):
        house.ask(name, RM)
    body, told = phone.asks("rm")
    gesture = phone.signs(told)
    # For another prompt, another option, another text: it was not signed for that. And it is used up by the try.
    assert phone.again("rm2", body | {"seen": phone.asks("rm2")[0]["seen"]}, gesture).status_code == 428
    assert phone.again("rm", body, gesture).status_code == 403
    for change in ({"option": "always"}, {"text": "and more"}, {"input": {"command": "rm -rf /"}}):
        body, told = phone.asks("rm")
        assert phone.again("rm", body | change, phone.signs(told)).status_code == 428, change
    assert state(house, "rm") == "open"
    body, told = phone.asks("rm")
    gesture = phone.signs(told)
    assert phone.again("rm", body, gesture).status_code == 202
    assert phone.again("rm3", body, gesture).status_code == 403
    assert (state(house, "rm2"), state(house, "rm3")) == ("open", "open")


def test_what_is_shown_is_bound_and_has_to_be_said(house: House, phone: Phone) -> None:
    prompt = house.ask("rm", RM)
    body, told = phone.asks("rm")
    gesture = phone.signs(told)
    worse = json.dumps({"tool_input": {"command": "rm -rf /"}}).encode()
    swapped = replace(house.loop.state.prompts["rm"], request=hashlib.sha256(worse).hexdigest())
    house.loop.state.prompts["rm"] = swapped
    del prompt
    reply = phone.again("rm", body, gesture)
    assert reply.status_code in (422, 428), reply.text
    assert house.loop.state.prompts["rm"].state == "open"
    house.ask("unseen", RM)
    reply = phone.send("POST", "/api/prompts/unseen/answer", {"option": "allow", "sure": True})
    assert reply.status_code == 422
    assert "`seen`" in reply.json()["detail"]


def _other_site(phone: Phone) -> dict[str, Any]:
    return {"origin": "https://evil.example.net"}


WRONG: dict[str, Callable[[Phone], dict[str, Any]]] = {
    "another page": _other_site,
    "another name of ours": lambda phone: {"origin": f"http://127.0.0.1:{phone.house.port}"},
    "another port": lambda phone: {"origin": "http://localhost:1"},
    "another site's key": lambda phone: {"rp_id": "evil.example.net"},
    "nobody verified": lambda phone: {"flags": PRESENT},
    "nobody there": lambda phone: {"flags": VERIFIED},
    "a registration": lambda phone: {"kind": "webauthn.create"},
    "in a frame": lambda phone: {"crossOrigin": True},
    "another challenge": lambda phone: {"challenge": "AAAA"},
}


@pytest.mark.parametrize("wrong", WRONG)
def test_a_gesture_made_elsewhere_or_otherwise_proves_nothing(house: House, phone: Phone, wrong: str) -> None:
    house.ask("rm", RM)
    body, told = phone.asks("rm")
    reply = phone.again("rm", body, phone.signs(told, **WRONG[wrong](phone)))
    assert reply.status_code == 403, reply.text
    assert state(house, "rm") == "open"
    assert len(house.step_up.passkeys()) == 1


def test_a_changed_signature_and_rubbish_prove_nothing(house: House, phone: Phone) -> None:
    house.ask("rm", RM)
    for spoil in ("signature", "authenticatorData", "clientDataJSON"):
        body, told = phone.asks("rm")
        step = told.json()["step_up"]
        credential = phone.passkey.signs(step["challenge"], phone.origin, step["rp_id"])
        text = credential["response"][spoil]
        credential["response"][spoil] = ("B" if text[9] != "B" else "C").join((text[:9], text[10:]))
        assert phone.again("rm", body, header(step["id"], credential)).status_code == 403
    for rubbish in ("x.y", ".", "a.e30", "a.bnVsbA", "a.W10", "a." + "A" * 70_000, "nothing"):
        body, told = phone.asks("rm")
        assert phone.again("rm", body, rubbish).status_code in (400, 403, 428, 431), rubbish
    assert state(house, "rm") == "open"


def test_only_the_device_that_asked_can_use_it(house: House, phone: Phone) -> None:
    house.ask("rm", RM)
    other = Phone(house, "laptop")
    body, told = phone.asks("rm")
    reply = other.again("rm", body, phone.signs(told))
    assert reply.status_code == 428
    assert state(house, "rm") == "open"


def test_it_is_good_for_two_minutes_and_then_for_one(house: House, phone: Phone) -> None:
    house.ask("rm", RM)
    body, told = phone.asks("rm")
    house.passed = ASKED_S + 1
    assert phone.again("rm", body, phone.signs(told)).status_code == 403
    body, told = phone.asks("rm")
    name = told.json()["step_up"]["id"]
    first = phone.send("GET", "/api/prompts", **{"Yourcall-Step-Up": phone.signs(told)})
    assert first.status_code == 200
    house.passed += PROVEN_S + 1
    assert phone.again("rm", body, name).status_code == 428
    assert state(house, "rm") == "open"


def test_a_revoked_key_and_a_revoked_device_prove_nothing(house: House, phone: Phone) -> None:
    house.ask("rm", RM)
    other = Phone(house, "laptop")
    code = house.step_up.new_code()
    assert other.register(code).status_code == 201
    # Between the gesture and the answer.
    body, told = phone.asks("rm")
    name = told.json()["step_up"]["id"]
    assert phone.send("GET", "/api/prompts", **{"Yourcall-Step-Up": phone.signs(told)}).status_code == 200
    mine = next(each for each in house.step_up.passkeys() if each.used_at)
    assert house.run(house.step_up.revoke(mine.id, "test"))
    assert phone.again("rm", body, name).status_code == 428
    body, told = phone.asks("rm")
    assert phone.again("rm", body, phone.signs(told)).status_code == 403
    body, told = other.asks("rm")
    assert house.run(house.devices.revoke(other.key.id))
    assert other.again("rm", body, other.signs(told)).status_code == 401
    assert state(house, "rm") == "open"


def test_a_device_that_is_revoked_while_its_answer_waits_is_not_heard(house: House, phone: Phone) -> None:
    """The answer has passed the gate already; what counts is the moment at which it would take effect."""
    house.ask("ls")
    device = phone.key.id
    house.run(house.devices.revoke(device))
    answer = Answer(
        "a1", "phone", "http", {"permission": ("allow",)}, author_certainty="device key", device=device
    )
    verdict, _ = house.run(house.loop.answer("ls", answer, 0))
    assert (verdict.result, state(house, "ls")) == ("refused", "open")


def test_a_counter_that_goes_back_means_a_copy_and_the_key_is_revoked(house: House) -> None:
    phone = Phone(house, passkey=Authenticator(count=5))
    assert phone.register().status_code == 201
    second = Phone(house, "laptop", Authenticator())
    assert second.register(house.step_up.new_code()).status_code == 201
    thief = phone.passkey.copy()
    for name in ("rm", "rm2", "rm3"):
        house.ask(name, RM)
    assert phone.answers("rm").status_code == 202
    phone.passkey, mine = thief, phone.passkey
    body, told = phone.asks("rm2")
    reply = phone.again("rm2", body, phone.signs(told))
    assert reply.status_code == 403
    assert "copy" in reply.json()["error"]
    assert "went back" in house.told[0]
    phone.passkey = mine
    body, told = phone.asks("rm3")
    assert phone.again("rm3", body, phone.signs(told)).status_code == 403
    assert (state(house, "rm2"), state(house, "rm3")) == ("open", "open")
    # Somebody who has no key cannot have one revoked by a low counter.
    forged = Authenticator(count=0)
    forged.id = second.passkey.id
    second.passkey, real = forged, second.passkey
    body, told = second.asks("rm2")
    assert second.again("rm2", body, second.signs(told)).status_code == 403
    second.passkey = real
    assert second.answers("rm2").status_code == 202


def test_two_keys_either_will_do_and_a_lost_one_is_replaced_at_the_machine(house: House, phone: Phone) -> None:
    house.ask("rm", RM)
    house.ask("rm2", RM)
    second = Phone(house, "laptop")
    told = second.register()
    assert told.status_code == 428  # the word of one that is there
    begun = {"code": ""}
    # The gesture has to be the same device's; a passkey that syncs is on both.
    second.passkey, fresh = phone.passkey, second.passkey
    reply = second.send("POST", "/api/passkeys/new", begun, **{"Yourcall-Step-Up": second.signs(told)})
    assert reply.status_code == 201
    second.passkey = fresh
    made = second.passkey.made(reply.json()["challenge"], second.origin, reply.json()["rp_id"])
    body = {"id": reply.json()["id"], "name": "laptop", "credential": made}
    assert second.send("POST", "/api/passkeys", body).status_code == 201
    assert phone.answers("rm").status_code == 202
    assert second.answers("rm2").status_code == 202
    with house.local() as cli:
        found = cli.get("/api/passkeys").json()
        assert len(found) == 2
        for each in found:  # all are lost: at the machine no passkey is asked for this
            assert cli.delete(f"/api/passkeys/{each['id']}").status_code == 200
        assert cli.get("/api/passkeys").json() == []
    house.ask("rm4", RM)
    assert phone.asks("rm4")[1].status_code == 202
    third = Phone(house, "tablet", phone.passkey)
    assert third.register().status_code == 422  # a revoked one does not come back


def test_registering_takes_a_code_or_a_gesture_once_there_is_one(house: House, phone: Phone) -> None:
    thief = Phone(house, "thief")
    assert thief.register().status_code == 428
    assert thief.register("not the code").status_code == 403
    code = house.step_up.new_code()
    house.passed = 301
    assert thief.register(code).status_code == 403
    code = house.step_up.new_code()
    assert thief.register(code).status_code == 201
    assert Phone(house, "again").register(code).status_code == 403
    token = house.token("script", ("read", "answer", "rules"))
    with house.http(token, Host=phone.host, Origin=phone.origin) as script:
        assert script.post("/api/passkeys/new", json={"code": house.step_up.new_code()}).status_code == 422


def test_rules_and_passkeys_are_changed_with_a_gesture_only(house: House, phone: Phone) -> None:
    (own,) = phone.send("GET", "/api/passkeys").json()
    for method, path, body in (
        ("POST", "/api/rules", {"text": '[make]\ndo = "allow"\ncommand = "make"\n'}),
        ("POST", "/api/resume", None),
        ("DELETE", "/api/rules/make", None),
        ("POST", "/api/rules/undo", None),
        ("DELETE", f"/api/passkeys/{own['id']}", None),
    ):
        told = phone.send(method, path, body)
        assert told.status_code == 428, (path, told.text)
        gesture = phone.signs(told)
        # Not for another body, nor for another address.
        assert phone.send(method, path, {"text": "x"}, **{"Yourcall-Step-Up": gesture}).status_code == 428
        told = phone.send(method, path, body)
        done = phone.send(method, path, body, **{"Yourcall-Step-Up": phone.signs(told)})
        assert done.status_code in (200, 201, 422), (path, done.text)
    assert phone.send("POST", "/api/pause").status_code == 200  # the brake takes none


def test_the_command_line_is_confirmed_on_a_phone(house: House, phone: Phone) -> None:
    with house.local() as cli:
        told = cli.post("/api/devices", json={"name": "ci"})
        assert told.status_code == 428
        step = told.json()["step_up"]
        assert cli.get(f"/api/step-up/{step['id']}").status_code == 202
        shown = phone.send("GET", f"/api/step-up/{step['id']}").json()["step_up"]
        assert shown["words"] == 'Add a device: {"name":"ci"}'
        credential = phone.passkey.signs(shown["challenge"], phone.origin, shown["rp_id"])
        made = phone.send("POST", f"/api/step-up/{step['id']}", {"credential": credential})
        assert made.status_code == 200, made.text
        assert cli.get(f"/api/step-up/{step['id']}").status_code == 200
        confirmed = {"Yourcall-Step-Up": step["id"]}
        assert cli.post("/api/devices", json={"name": "other"}, headers=confirmed).status_code == 428
        assert cli.post("/api/devices", json={"name": "ci"}, headers=confirmed).status_code == 428  # used up
        house.policy = AnswerPolicy(step_up=StepUp(command_line=False))
        assert cli.post("/api/devices", json={"name": "ci"}).status_code == 201


def test_a_window_is_for_one_device_and_no_longer_than_it_says(house: House, phone: Phone) -> None:
    house.policy = AnswerPolicy(step_up=StepUp(window_minutes=5))
    for name in ("rm", "rm2", "rm3", "rm4"):
        house.ask(name, RM)
    assert phone.answers("rm").status_code == 202
    assert phone.asks("rm2")[1].status_code == 202
    other = Phone(house, "laptop")
    assert other.asks("rm3")[1].status_code == 428
    house.passed = 301
    assert phone.asks("rm3")[1].status_code == 428
    house.passed = -301  # a clock that was set back
    assert phone.asks("rm3")[1].status_code == 428
    house.passed = 0
    assert phone.asks("rm3")[1].status_code == 202
    (own,) = house.step_up.passkeys()
    assert house.run(house.step_up.revoke(own.id, "test"))
    second = Phone(house, "tablet")
    assert second.register().status_code == 201
    assert phone.asks("rm4")[1].status_code == 428


def test_no_other_way_leads_around_it(house: House, phone: Phone) -> None:
    """A chat, a notification's button, a script with a token, a supervisor, the command line."""
    house.ask("rm", RM)
    del phone
    for certainty, via in (
        ("chat account", "telegram"),
        ("button", "tap"),
        ("supervisor agent", "socket"),
        ("local process", "socket"),
        ("terminal", "socket"),
        ("", "http"),
        ("device key", "http"),
    ):
        yes = Answer("a-" + certainty, "x", via, {"permission": ("allow",)}, sure=True, author_certainty=certainty)
        for answer in (yes, replace(yes, proof="made up"), replace(yes, device="none such")):
            verdict, _ = house.run(house.loop.answer("rm", answer, 0))
            assert verdict.result == "refused", (certainty, verdict)
    token = house.token("script")
    with house.http(token) as script, house.local() as cli:
        for client in (script, cli):
            told = client.post("/api/prompts/rm/answer", json={"option": "allow", "sure": True, "seen": ""})
            assert told.status_code in (422, 428)
    assert state(house, "rm") == "open"
    no = Answer("no", "x", "telegram", {"permission": ("deny",)}, author_certainty="chat account")
    assert house.run(house.loop.answer("rm", no, 0))[0].result == "taken"


def test_where_it_is_required_and_nobody_has_a_passkey_there_is_no_yes(house: House) -> None:
    house.policy = AnswerPolicy(step_up=StepUp(required=True))
    phone = Phone(house)
    house.ask("rm", RM)
    _, told = phone.asks("rm")
    assert told.status_code == 422
    assert "passkey" in told.json()["detail"]
    house.ask("ls")
    assert phone.asks("ls")[1].status_code == 202


def test_only_high_risk_where_that_is_said(house: House, phone: Phone) -> None:
    unclear = json.dumps({"tool_input": {"command": "./deploy.sh"}}).encode()
    house.ask("u", unclear)
    house.ask("u2", unclear)
    assert phone.asks("u")[1].status_code == 428
    house.policy = AnswerPolicy(step_up=StepUp(risk="high"))
    assert phone.asks("u2")[1].status_code == 202


def test_a_passkey_is_for_a_page_with_a_name(house: House) -> None:
    phone = Phone(house)
    phone.host = f"127.0.0.1:{house.port}"
    phone.origin = f"http://{phone.host}"
    reply = phone.register()
    assert reply.status_code == 422
    assert "localhost" in reply.json()["error"]
