"""Codes and devices: single use, five minutes, few guesses; tokens that are shown once and end at once."""

from __future__ import annotations

import hashlib

import httpx
import pytest
from browser_key import BrowserKey
from server_house import House, heard
from websockets.exceptions import ConnectionClosed

from yourcall.server.pairing import (
    ALPHABET,
    LIFETIME,
    MOST_PEERS,
    MOST_PER_MINUTE,
    MOST_WRONG,
    Pairing,
    Slow,
    Wrong,
)


class Clock:
    now = 1_000_000.0

    def __call__(self) -> float:
        return self.now


def wrong_for(code: str) -> str:
    return ("0" if code[0] != "0" else "1") + code[1:]


def test_a_code_is_eight_clear_letters_and_never_the_same() -> None:
    codes = {Pairing().new().text for _ in range(200)}
    assert len(codes) == 200
    for code in codes:
        assert len(code) == 9
        assert code[4] == "-"
        assert set(code.replace("-", "")) <= set(ALPHABET)
    assert not set("ILOU") & set(ALPHABET)


def test_a_code_works_once() -> None:
    pairing = Pairing(Clock())
    code = pairing.new().text
    assert pairing.use(code) is None
    assert isinstance(pairing.use(code), Wrong)


def test_a_code_may_be_typed_as_people_type() -> None:
    pairing = Pairing(Clock())
    code = pairing.new().text
    typed = " " + code.replace("-", " ").lower().replace("1", "l").replace("0", "o") + " "
    assert pairing.use(typed) is None


def test_a_code_lives_five_minutes() -> None:
    clock = Clock()
    pairing = Pairing(clock)
    code = pairing.new()
    assert code.expires_at == clock.now + LIFETIME == clock.now + 300
    clock.now += LIFETIME
    assert isinstance(pairing.use(code.text), Wrong)
    code = pairing.new()
    clock.now += LIFETIME - 1
    assert pairing.use(code.text) is None


def test_a_new_code_voids_the_old() -> None:
    pairing = Pairing(Clock())
    old, new = pairing.new().text, pairing.new().text
    assert isinstance(pairing.use(old), Wrong)
    assert pairing.use(new) is None


def test_a_code_does_not_outlive_so_many_guesses_that_one_could_be_right() -> None:
    pairing = Pairing(Clock())
    code = pairing.new().text
    for _ in range(MOST_WRONG):
        assert pairing.use(wrong_for(code)) is not None
    assert pairing.use(code) is not None
    assert MOST_WRONG / len(ALPHABET) ** 8 < 1e-6


def test_who_guesses_is_told_to_wait_and_nobody_else_is() -> None:
    clock = Clock()
    pairing = Pairing(clock)
    code = pairing.new().text
    for _ in range(MOST_PER_MINUTE):
        assert isinstance(pairing.use(wrong_for(code), "10.0.0.66"), Wrong)
        clock.now += 1
    slow = pairing.use(wrong_for(code), "10.0.0.66")
    assert isinstance(slow, Slow)
    assert 0 < slow.seconds <= 60
    assert isinstance(pairing.use(wrong_for(code), "10.0.0.7"), Wrong), "another address is not slowed"
    clock.now += slow.seconds
    assert isinstance(pairing.use(wrong_for(code), "10.0.0.66"), Wrong)


@pytest.mark.parametrize("owner", ["10.0.0.7", "10.0.0.66"], ids=["another-address", "behind-the-same-proxy"])
def test_the_right_code_is_let_in_whatever_others_guess(owner: str) -> None:
    pairing = Pairing(Clock())
    code = pairing.new().text
    for _ in range(500):
        assert pairing.use(wrong_for(code), "10.0.0.66") is not None
    assert pairing.use(code, owner) is None
    assert pairing.use(code, owner) is not None, "and only once"


def test_a_household_with_a_whole_ipv6_network_is_one_peer_and_few_are_remembered() -> None:
    pairing = Pairing(Clock())
    code = pairing.new().text
    told = [pairing.use(wrong_for(code), f"2001:db8::{n:x}") for n in range(1, MOST_PER_MINUTE + 2)]
    assert isinstance(told[-1], Slow)
    for n in range(MOST_PEERS * 2):
        pairing.use(wrong_for(code), f"2001:db8:{n:x}::1")
    assert len(pairing._peers) <= MOST_PEERS  # pyright: ignore[reportPrivateUsage]


@pytest.mark.parametrize("typed", ["", "é" * 8, "\x00", "A" * 64])
def test_any_text_may_be_a_wrong_code(typed: str) -> None:
    pairing = Pairing(Clock())
    pairing.new()
    assert isinstance(pairing.use(typed), Wrong)


def new_code(house: House) -> str:
    with house.local() as cli:
        made = cli.post("/api/pairing")
        assert made.status_code == 201
        assert made.json()["expires_at"] > 0
        return made.json()["code"]


def test_a_browser_pairs_with_a_code_from_the_desk_and_gets_no_token_and_no_cookie(house: House) -> None:
    key = BrowserKey()
    paired = key.pair(house)
    assert paired.status_code == 201
    assert paired.json()["token"] == ""
    assert "set-cookie" not in paired.headers
    devices = key.send(house, "GET", "/api/devices").json()
    assert [(each["name"], each["current"], each["key"]) for each in devices] == [("phone", True, "browser")]
    assert devices[0]["id"] == key.id
    assert devices[0]["scopes"] == ["read", "answer", "steer", "rules"]


def test_a_page_without_a_key_is_told_what_it_needs_and_the_code_is_not_spent(house: House) -> None:
    code = new_code(house)
    with house.http(Origin=house.origin) as page:
        refused = page.post("/api/pair", json={"code": code})
        assert refused.status_code == 400
        assert "https://" in refused.json()["error"]
        for key in ("x", "A" * 87, BrowserKey().point[:-1], BrowserKey().point + "A"):
            assert page.post("/api/pair", json={"code": code, "key": key}).status_code == 400
    assert house.store.devices() == []
    with house.http() as script:
        assert script.post("/api/pair", json={"code": code}).json()["token"].startswith("yc_")


def test_only_the_hash_of_a_token_is_kept(house: House) -> None:
    with house.local() as cli:
        made = cli.post("/api/devices", json={"name": "ci"}).json()
    token: str = made["token"]
    assert token.startswith("yc_")
    assert len(token) == 3 + 43
    device = house.store.device_by_hash(hashlib.sha256(token.encode()).hexdigest())
    assert device is not None
    assert device.id == made["id"]
    files = [file for file in house.folder.iterdir() if file.name.startswith("yourcall.db")]
    assert files
    assert not any(token.encode() in file.read_bytes() for file in files)


def test_wrong_codes_are_refused_and_then_slowed_down_and_the_right_one_is_let_in(house: House) -> None:
    code = new_code(house)
    with house.http() as stranger:
        said = [stranger.post("/api/pair", json={"code": wrong_for(code)}) for _ in range(MOST_PER_MINUTE + 1)]
        assert [got.status_code for got in said] == [403] * MOST_PER_MINUTE + [429]
        assert 0 < int(said[-1].headers["retry-after"]) <= 60
        assert house.store.devices() == []
        assert stranger.post("/api/pair", json={"code": code}).status_code == 201


@pytest.mark.parametrize("body", [b"", b"{", b"[]", b"{}", b'{"code": 1}', b'{"code": "A", "name": ""}', b"\xff"])
def test_a_malformed_pairing_is_no_attempt(house: House, body: bytes) -> None:
    code = new_code(house)
    with house.http() as stranger:
        for _ in range(MOST_PER_MINUTE + 1):
            assert stranger.post("/api/pair", content=body).status_code == 400
        assert stranger.post("/api/pair", json={"code": code}).status_code == 201


def test_names_tell_devices_apart_and_stay_plain(house: House) -> None:
    with house.local() as cli:

        def named(name: str) -> str:
            return cli.post("/api/devices", json={"name": name}).json()["name"]

        assert [named("phone"), named("Phone"), named("phone")] == ["phone", "Phone 2", "phone 3"]
        assert named("desk") == "desk 2"
        assert named("a\x1b[31m\u202eb\n c") == "a[31mb c"
        assert named("\x00") == "device"
        assert cli.post("/api/devices", json={"name": "x" * 65}).status_code == 400


def test_a_revoked_device_is_out_at_once_with_its_open_feed(house: House) -> None:
    lost, kept = house.token("lost"), house.token("kept")
    with house.local() as cli, house.feed(token=lost) as gone, house.feed(token=kept) as stays:
        assert heard(gone)["type"] == heard(stays)["type"] == "hello"
        device = next(each["id"] for each in cli.get("/api/devices").json() if each["name"] == "lost")
        assert cli.delete(f"/api/devices/{device}").json() == {"done": True}
        with pytest.raises(ConnectionClosed) as closed:
            gone.recv(timeout=60)
        assert closed.value.rcvd is not None
        assert (closed.value.rcvd.code, closed.value.rcvd.reason) == (4001, "revoked")
        house.ask("p1")
        assert heard(stays)["prompt"]["id"] == "p1"
        assert cli.delete(f"/api/devices/{device}").status_code == 404
        assert cli.delete("/api/devices/nobody").status_code == 404
        listed = {each["name"]: each["revoked_at"] for each in cli.get("/api/devices").json()}
    assert listed["kept"] is None
    assert listed["lost"] > 0


def test_when_a_device_was_seen_is_written_once_a_minute(house: House) -> None:
    with house.http(house.token()) as phone:

        def seen() -> float:
            got: httpx.Response = phone.get("/api/devices")
            return got.json()[0]["seen_at"]

        first = _settle(seen, lambda at: at > 0)
        house.late = 50
        assert seen() == seen() == first
        house.late = 61
        seen()
        assert _settle(seen, lambda at: at > first) >= first + 60


def _settle(read: object, good: object) -> float:
    from kit.poll import until

    found: list[float] = []

    def probe() -> bool:
        found.append(read())  # type: ignore[operator]
        return good(found[-1])  # type: ignore[operator]

    until(probe)
    return found[-1]


def test_the_desk_can_stop_the_daemon(house: House) -> None:
    with house.local() as cli:
        assert cli.post("/api/shutdown").status_code == 202
    assert house.stopped.is_set()
