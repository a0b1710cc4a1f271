"""What a stolen hub, a stolen phone and a stolen host can try against a host: all of it refused, on record,
and told.

Eve is a hub that somebody took over: she has its keys, everything that went through it, and NATS. She has no
device."""

from __future__ import annotations

import asyncio
import json
import secrets
import time
from collections.abc import Callable, Coroutine, Iterator
from typing import Any

import pytest
from cryptography.hazmat.primitives.asymmetric import ec
from msgspec.structs import replace

from kit.fleet import Machines, asking
from kit.poll import until
from yourcall.fleet import sealing
from yourcall.fleet.acts import Act, digest_of, statement
from yourcall.fleet.authority import Authority
from yourcall.fleet.bus import Bus
from yourcall.fleet.certificates import Device, Signed, device_id, verify
from yourcall.fleet.certificates import sign as sign_certificate
from yourcall.fleet.envelopes import Ask, Told, decode, encode, envelope, wrapped
from yourcall.fleet.keys import Keys, point
from yourcall.fleet.shown import shown_digest
from yourcall.system.p256 import sign

pytestmark = pytest.mark.long


class Phone:
    """A device with a key of its own, and the certificate that the authority gave it."""

    def __init__(self, fleet: Machines, name: str, *scopes: str) -> None:
        self.key = ec.generate_private_key(ec.SECP256R1())
        authority = Authority(fleet["anna"].home / "fleet")
        made = authority.allow(name, point(self.key), scopes or ("read", "answer", "steer", "rules"))
        assert isinstance(made, Signed)
        self.certificate, self.id = made, device_id(point(self.key))

    def signs(self, fleet: str, act: Act, method: str, target: str) -> Act:
        return replace(act, signature=sign(self.key, statement(fleet, act, method, target)))


class Eve:
    """A line with the keys of a machine that was taken over."""

    def __init__(self, fleet: Machines, name: str = "eve") -> None:
        self.fleet, self.keys, self.bus = fleet, fleet.keys(name), fleet.bus(name)
        self.membership = fleet.membership(name)
        self.id = self.membership.fleet

    def host(self, name: str) -> tuple[str, bytes]:
        """Its id and its key, which are no secrets."""
        member = self.fleet.membership(name).me
        return member.id, member.seal

    async def ask(self, to: str, ask: Ask, keys: Keys | None = None) -> Told | None:
        """None: the host did not even read it."""
        keys = keys or self.keys
        id, seal = self.host(to)
        key = sealing.shared_key(keys.seal, seal, self.id)
        sealed = sealing.seal(key, encode(ask), sealing.context("ask", keys.id, id))
        async with self.bus.connected():
            reply = await self.bus.request(
                f"yc.{self.id}.ask.{id}", wrapped(keys.id, keys.seal_public, sealed), 30
            )
        said = envelope(reply.data)
        if not said.body:
            return None
        return decode(sealing.unseal(key, said.body, sealing.context("told", id, keys.id, ask.id)), Told)


def request(
    method: str, target: str, body: bytes = b"", act: Act | None = None, device: Signed | None = None
) -> Ask:
    return Ask(secrets.token_hex(8), time.time(), method, target, 0, body, act, device)  # pyright: ignore[reportArgumentType]


@pytest.fixture(scope="module")
def fleet(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Machines]:
    with Machines(
        tmp_path_factory.mktemp("fleet"), "anna", "bert", "carl", "eve", roles={"eve": "hub", "carl": "host"}
    ) as running:
        yield running


class Scene:
    """A prompt of Bert's, an answer to it that Anna's phone has signed, and what can be done with that."""

    def __init__(self, fleet: Machines, prompt: dict[str, Any], phone: Phone) -> None:
        self.fleet, self.prompt, self.phone, self.eve = fleet, prompt, phone, Eve(fleet)
        self.bert = fleet.membership("bert").me
        self.target = f"/api/prompts/{prompt['id']}/answer"
        self.body = json.dumps({"option": "no", "seen": prompt["version"]}).encode()

    def shown(self, name: str = "", **changes: Any) -> str:
        return shown_digest({**self.prompt, **changes}, self.bert.id, name or self.bert.name)

    def act(self, **changes: Any) -> Act:
        act = Act(
            self.bert.id, self.phone.id, secrets.token_hex(12), self.prompt["host"]["run"],
            int(time.time() * 1000), digest_of(self.body), self.shown(),
        )  # fmt: skip
        return replace(act, **changes)

    def signed(self, **changes: Any) -> Act:
        return self.phone.signs(self.eve.id, self.act(**changes), "POST", self.target)

    async def sent(self, signed: Act, **changes: Any) -> Told | None:
        ask = request("POST", self.target, self.body, signed, self.phone.certificate)
        return await self.eve.ask("bert", replace(ask, **changes))

    def state(self) -> str:
        return self.fleet["bert"].show(self.prompt["id"])["state"]


@pytest.fixture
def scene(fleet: Machines) -> Iterator[Scene]:
    title = f"Wipe {secrets.token_hex(4)}?"
    with asking(fleet["bert"], title, "-o", "yes", "-o", "no"):
        prompt = fleet.wait_prompt("eve", "bert", title)
        yield Scene(fleet, prompt, Phone(fleet, "Anna's phone"))
        fleet["bert"].http("POST", f"/api/prompts/{prompt['id']}/dismiss")


def run(work: Coroutine[Any, Any, Any]) -> Any:
    return asyncio.run(work)


def test_what_the_phone_has_signed_is_done_once_however_often_eve_sends_it(scene: Scene) -> None:
    act = scene.signed()

    async def often() -> list[Told | None]:
        return [await scene.sent(act) for _ in range(3)]

    first, *others = run(often())
    assert first.status in (200, 202), first
    assert others == [first, first]
    story = scene.fleet["bert"].show(scene.prompt["id"])
    assert story["answered_by"] == "Anna's phone"
    assert len([each for each in story["history"] if each["state"] == "answering"]) == 1


FORGERIES: dict[str, Callable[[Scene], tuple[Act, dict[str, Any]]]] = {
    "nothing is signed": lambda s: (s.act(), {"act": None, "device": None}),
    "nobody has signed it": lambda s: (s.act(), {}),
    "no device is named": lambda s: (s.signed(), {"device": None}),
    "another option": lambda s: (s.signed(), {"body": s.body.replace(b'"no"', b'"yes"')}),
    "another body, and its digest": lambda s: (
        replace(s.signed(), digest=digest_of(s.body.replace(b'"no"', b'"yes"'))),
        {"body": s.body.replace(b'"no"', b'"yes"')},
    ),
    "another prompt": lambda s: (s.signed(), {"target": "/api/prompts/another/answer"}),
    "another route": lambda s: (s.signed(), {"target": f"/api/prompts/{s.prompt['id']}/dismiss"}),
    "a query behind it": lambda s: (s.signed(), {"target": s.target + "?x=1"}),
    "another method": lambda s: (s.signed(), {"method": "DELETE"}),
    "another device's name": lambda s: (replace(s.signed(), device="a" * 16), {}),
    "another id": lambda s: (replace(s.signed(), id="x" * 24), {}),
    "another time": lambda s: (replace(s.signed(), time=int(time.time() * 1000) + 1), {}),
    "shown something else": lambda s: (s.signed(shown=s.shown(title="Look?")), {}),
    "shown another option": lambda s: (s.signed(shown=s.shown(questions=s.prompt["questions"][:0])), {}),
    "shown less": lambda s: (s.signed(shown=s.shown(body="")), {}) if s.prompt["body"] else (s.act(), {}),
    "shown as another machine's": lambda s: (s.signed(shown=s.shown("sandbox")), {}),
    "shown nothing": lambda s: (s.signed(shown=""), {}),
    "the signature of another text": lambda s: (replace(s.signed(), signature=sign(s.phone.key, b"hello")), {}),
    "a signature of zeros": lambda s: (replace(s.act(), signature="A" * 86), {}),
    "no version": lambda s: (
        s.phone.signs(s.eve.id, s.act(digest=digest_of(b'{"option": "no"}')), "POST", s.target),
        {"body": b'{"option": "no"}'},
    ),
}  # fmt: skip


@pytest.mark.parametrize("forgery", FORGERIES)
def test_a_forgery_is_refused_and_counted(scene: Scene, forgery: str) -> None:
    before = scene.fleet["bert"].http("GET", "/api/hosts")[1][0]["refused"]
    act, changes = FORGERIES[forgery](scene)
    told = run(scene.sent(act, **changes))
    assert told is None or told.status in (403, 422), told
    assert scene.state() == "open"
    own = next(each for each in scene.fleet["bert"].http("GET", "/api/hosts")[1] if each["here"])
    assert own["refused"] == before + 1
    assert own["problem"]


def test_an_answer_for_another_host_another_run_or_another_time_is_worth_nothing(scene: Scene) -> None:
    carl = scene.fleet.membership("carl").me
    told = run(scene.sent(scene.signed(host=carl.id)))
    assert told.status == 403
    assert scene.state() == "open"
    for changes in ({"run": "run-of-yesterday"}, {"time": int((time.time() - 600) * 1000)}):
        told = run(scene.sent(scene.signed(**changes)))
        assert (told.status, told.stale_run) == (403, scene.prompt["host"]["run"])
        assert abs(told.now / 1000 - time.time()) < 60
        assert scene.state() == "open"


def test_a_device_that_the_authority_does_not_know_signs_nothing(scene: Scene, tmp_path: Any) -> None:
    """Eve makes a fleet of her own, and a certificate in it; or signs one with the keys that she has."""
    own = Authority(tmp_path)
    own.make()
    key = ec.generate_private_key(ec.SECP256R1())
    other = own.allow("Anna's phone", point(key), ("read", "answer", "steer", "rules"))
    assert isinstance(other, Signed)
    honest = verify(scene.eve.membership.authority, scene.phone.certificate, Device, scene.eve.id)
    same_fleet = sign_certificate(own.key, replace(honest, key=point(key), id=device_id(point(key))))
    altered = Signed(scene.phone.certificate.body.replace(b"Anna's", b"Evil's"), scene.phone.certificate.signature)
    for certificate in (other, same_fleet, altered, scene.eve.membership.member):
        act = replace(scene.act(), device=device_id(point(key)))
        act = replace(act, signature=sign(key, statement(scene.eve.id, act, "POST", scene.target)))
        told = run(scene.sent(act, device=certificate))
        assert told.status == 403, told
    assert scene.state() == "open"


def test_a_stolen_phone_is_out_as_soon_as_it_is_removed(scene: Scene) -> None:
    act = scene.signed()
    removed = scene.fleet["anna"].http("DELETE", f"/api/fleet/devices/{scene.phone.id}")
    assert removed[0] == 200, removed
    until(
        lambda: scene.phone.id in scene.fleet.membership("bert").known_roster.revoked,
        what="bert to know",
        timeout=2,
    )
    told = run(scene.sent(act))
    assert told.status == 403
    assert b"removed" in told.body
    assert scene.state() == "open"


def test_a_phone_does_no_more_than_it_was_let_in_for(scene: Scene) -> None:
    looks = Phone(scene.fleet, "A tablet", "read")
    act = looks.signs(scene.eve.id, replace(scene.act(), device=looks.id), "POST", scene.target)
    told = run(scene.eve.ask("bert", request("POST", scene.target, scene.body, act, looks.certificate)))
    assert told.status == 403
    assert scene.state() == "open"
    for method, target in (("POST", "/api/pause"), ("POST", "/api/rules"), ("DELETE", "/api/rules/x")):
        act = replace(scene.act(), device=looks.id, digest=digest_of(b"{}"), shown="")
        act = looks.signs(scene.eve.id, act, method, target)
        told = run(scene.eve.ask("bert", request(method, target, b"{}", act, looks.certificate)))
        assert told.status == 403


def test_a_hub_alone_only_looks(scene: Scene) -> None:
    seen = run(scene.eve.ask("bert", request("GET", f"/api/prompts/{scene.prompt['id']}")))
    assert seen.status == 200
    for method, target in (
        ("POST", scene.target), ("POST", f"/api/prompts/{scene.prompt['id']}/dismiss"), ("POST", "/api/pause"),
        ("POST", "/api/rules"), ("POST", f"/api/sessions/{scene.prompt['session_id']}/send"),
        ("POST", "/api/lock"),
        ("POST", "/api/sessions"), ("POST", "/api/shutdown"), ("POST", "/api/pairing"), ("GET", "/api/devices"),
        ("POST", "/api/devices"), ("GET", "/api/fleet/devices"), ("POST", "/api/tap"), ("GET", "/api/channels"),
        ("GET", "/api/openapi.json"), ("GET", "//api/prompts"), ("GET", "/api/prompts/../devices"),
        ("GET", "/api/prompts/%2e%2e%2fdevices/x"), ("GET", "/"),
    ):  # fmt: skip
        told = run(scene.eve.ask("bert", request(method, target, b"{}")))
        assert told.status in (403, 404), (method, target, told)
    assert scene.state() == "open"


def test_a_host_that_was_taken_over_asks_nobody_anything(scene: Scene) -> None:
    """Carl is no hub: NATS does not let him ask, and Bert would not read it."""
    carl = Eve(scene.fleet, "carl")

    async def tried() -> None:
        with pytest.raises(Exception, match="no reply"):
            await asyncio.wait_for(_short(carl.bus, f"yc.{carl.id}.ask.{scene.bert.id}"), 10)

    run(tried())
    # With Eve's line to NATS, but his own key:
    assert run(scene.eve.ask("bert", request("GET", "/api/status"), carl.keys)) is None
    # In Eve's name, with his key:
    id, seal = scene.eve.host("bert")
    key = sealing.shared_key(carl.keys.seal, seal, carl.id)
    sealed = sealing.seal(
        key, encode(request("GET", "/api/status")), sealing.context("ask", scene.eve.keys.id, id)
    )

    async def pretended() -> bytes:
        async with scene.eve.bus.connected():
            message = wrapped(scene.eve.keys.id, carl.keys.seal_public, sealed)
            first = await scene.eve.bus.request(f"yc.{carl.id}.ask.{id}", message, 30)
            message = wrapped(scene.eve.keys.id, scene.eve.keys.seal_public, sealed)
            second = await scene.eve.bus.request(f"yc.{carl.id}.ask.{id}", message, 30)
        return envelope(first.data).body + envelope(second.data).body

    assert run(pretended()) == b""


async def _short(bus: Bus, subject: str) -> None:
    async with bus.connected():
        await bus.request(subject, b"x", 1)


def test_the_desk_of_a_machine_does_not_answer_that_machine_by_way_of_the_fleet(scene: Scene) -> None:
    """An agent on Bert could read Bert's own key; on Bert's socket it would be known for what it is."""
    keys, there = scene.fleet.keys("bert"), scene.fleet.membership("bert")
    assert there.desk is not None
    desk = verify(there.authority, there.desk, Device, there.fleet)
    act = replace(scene.act(), device=desk.id)
    act = replace(act, signature=sign(keys.desk, statement(there.fleet, act, "POST", scene.target)))
    told = run(scene.eve.ask("bert", request("POST", scene.target, scene.body, act, there.desk)))
    assert told.status == 403
    assert scene.state() == "open"


def test_a_refusal_stands_in_the_story_of_the_prompt(scene: Scene) -> None:
    run(scene.sent(scene.act()))
    until(
        lambda: any(
            each["by"] == "fleet" and each["detail"].startswith("refused:")
            for each in scene.fleet["bert"].show(scene.prompt["id"])["history"]
        ),
        what="it to be on record",
        show=lambda: json.dumps(scene.fleet["bert"].show(scene.prompt["id"])["history"]),
    )
    warned = scene.fleet["anna"].http("GET", "/api/fleet")[1]["warnings"]
    assert any("bert has refused" in each for each in warned) or until(
        lambda: any("bert has refused" in w for w in scene.fleet["anna"].http("GET", "/api/fleet")[1]["warnings"]),
        what="the hub to be told",
    )


def test_while_a_machine_is_locked_nothing_of_the_fleet_is_done_there(scene: Scene) -> None:
    assert scene.fleet["bert"].run("lock").code == 0
    try:
        told = run(scene.sent(scene.signed()))
        assert told.status == 423
        assert scene.state() in ("open", "ended")
    finally:
        assert scene.fleet["bert"].run("unlock").code == 0
        scene.fleet["bert"].http("POST", "/api/resume")


def test_names_and_titles_do_not_stand_on_the_bus(scene: Scene) -> None:
    """All that NATS keeps, as its files are on the disk of whoever runs it."""
    store = scene.fleet["anna"].home / "fleet" / "store"
    data = b"".join(path.read_bytes() for path in store.rglob("*") if path.is_file())
    assert len(data) > 1_000
    prompt = scene.prompt
    for word in (prompt["title"], prompt["id"], prompt["session_id"], "bert", "carl", "Anna's phone"):
        assert word.encode() not in data, word
