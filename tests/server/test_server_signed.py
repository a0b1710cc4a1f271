"""Requests that a browser signs: taken once, as they were signed, within a minute; cookies open nothing."""

from __future__ import annotations

import socket

import pytest
from browser_key import BrowserKey
from server_house import House, heard
from websockets.exceptions import InvalidStatus
from websockets.typing import Subprotocol

from yourcall.server import signatures
from yourcall.server.signatures import (
    MOST_NONCES,
    TICKET_S,
    WINDOW_S,
    Signature,
    Signatures,
    Stale,
    Tickets,
    TooMany,
)

ANSWER = "/api/prompts/p1/answer"
ALLOW, DENY = b'{"option": "allow"}', b'{"option": "deny"}'


@pytest.fixture
def phone(house: House) -> BrowserKey:
    key = BrowserKey()
    assert key.pair(house).status_code == 201
    house.ask("p1")
    return key


def state(house: House) -> str:
    return house.loop.state.prompts["p1"].state


def test_what_a_browser_signed_is_done_and_its_id_is_on_record(house: House, phone: BrowserKey) -> None:
    assert phone.send(house, "GET", "/api/prompts?all=1").status_code == 200
    assert phone.send(house, "POST", ANSWER, ALLOW).status_code == 202
    answer = house.loop.state.prompts["p1"].answer
    assert answer is not None
    assert (answer.by, answer.device) == ("phone", phone.id)
    (line,) = phone.send(house, "GET", "/api/log").json()
    assert line["device_id"] == phone.id


def test_a_request_is_good_once(house: House, phone: BrowserKey) -> None:
    for method, target, body in (("GET", "/api/prompts", b""), ("POST", "/api/pause", b"")):
        header = phone.header(method, target, body)
        assert phone.send(house, method, target, body, header).status_code == 200
        again = phone.send(house, method, target, body, header)
        assert again.status_code == 403
        assert "taken already" in again.json()["error"]


@pytest.mark.parametrize(
    ("method", "target", "body"),
    [
        ("POST", ANSWER, ALLOW),
        ("POST", "/api/prompts/p2/answer", DENY),
        ("POST", f"{ANSWER}?x=1", DENY),
        ("PUT", ANSWER, DENY),
        ("POST", ANSWER, b""),
        ("POST", ANSWER, DENY + b" "),
        ("DELETE", "/api/rules/secrets", DENY),
    ],
)
def test_nothing_of_it_can_be_changed(
    house: House, phone: BrowserKey, method: str, target: str, body: bytes
) -> None:
    header = phone.header("POST", ANSWER, DENY)
    assert phone.send(house, method, target, body, header).status_code == 403
    assert state(house) == "open"


@pytest.mark.parametrize("off", [-WINDOW_S - 1, WINDOW_S + 1, -3600, 86_400])
def test_an_old_time_and_one_to_come_are_refused_and_told_the_right_one(
    house: House, phone: BrowserKey, off: float
) -> None:
    wrong = phone.header("POST", ANSWER, ALLOW, time=int(phone.told["now"] + off * 1000))
    refused = phone.send(house, "POST", ANSWER, ALLOW, wrong)
    assert refused.status_code == 403
    assert state(house) == "open"
    now, run = int(refused.headers["yourcall-time"]), refused.headers["yourcall-run"]
    assert phone.send(
        house, "POST", ANSWER, ALLOW, phone.header("POST", ANSWER, ALLOW, time=now, run=run)
    ).is_success


def test_what_was_captured_is_worth_nothing_later_and_after_a_restart(house: House, phone: BrowserKey) -> None:
    captured = phone.header("POST", ANSWER, ALLOW)
    house.late = WINDOW_S + 5
    assert phone.send(house, "POST", ANSWER, ALLOW, captured).status_code == 403
    house.late = 0
    before = phone.header("POST", ANSWER, ALLOW)
    house.devices.signatures = Signatures()  # what a restart forgets
    assert phone.send(house, "POST", ANSWER, ALLOW, before).status_code == 403
    assert state(house) == "open"


def test_another_key_and_another_device_are_refused(house: House, phone: BrowserKey) -> None:
    thief, second = BrowserKey(), BrowserKey()
    thief.told = phone.told
    assert thief.send(house, "POST", ANSWER, ALLOW).status_code == 403
    assert second.pair(house, "second").status_code == 201
    mixed = second.header("POST", ANSWER, ALLOW).replace(second.id, phone.id)
    assert phone.send(house, "POST", ANSWER, ALLOW, mixed).status_code == 403
    assert state(house) == "open"


def test_a_revoked_browser_is_out(house: House, phone: BrowserKey) -> None:
    assert phone.send(house, "DELETE", f"/api/devices/{phone.id}").status_code == 200  # it may revoke itself
    assert phone.send(house, "GET", "/api/status").status_code == 401


@pytest.mark.parametrize(
    "header",
    [
        "",
        "x",
        "device=, run=, time=, nonce=, digest=, signature=",
        "device=ID, run=R, time=1, nonce=N, digest=D, signature=S",
        "device=ID, run=R, time="
        + "9" * 30
        + ", nonce="
        + "n" * 20
        + ", digest="
        + "d" * 43
        + ", signature="
        + "s" * 86,
        "device=ID, run=R, time=1, nonce=" + "n" * 20 + ", digest=" + "d" * 43 + ", signature=" + "_" * 86,
        "x" * 20_000,
    ],
)
def test_what_is_no_signature_opens_nothing(house: House, phone: BrowserKey, header: str) -> None:
    said = header.replace("ID", phone.id)
    assert phone.send(house, "GET", "/api/prompts", header=said).status_code in (401, 403)


def test_two_signatures_and_a_token_beside_a_wrong_one_open_nothing(house: House, phone: BrowserKey) -> None:
    one, two = phone.header("GET", "/api/status"), phone.header("GET", "/api/status")
    said = f"Host: {house.host}\r\nYourcall-Signature: {one}\r\nYourcall-Signature: {two}\r\n"
    with socket.create_connection(("127.0.0.1", house.port), 10) as talk:
        talk.sendall(f"GET /api/status HTTP/1.1\r\n{said}\r\n".encode())
        assert talk.recv(1000).startswith(b"HTTP/1.1 401 ")
    with house.http(house.token(), **{"Yourcall-Signature": "x"}) as mixed:
        assert mixed.get("/api/status").status_code == 401


def test_a_foreign_page_cannot_use_a_signature(house: House, phone: BrowserKey) -> None:
    header = phone.header("POST", ANSWER, ALLOW)
    with house.http(Origin="http://127.0.0.1:1", **{"Yourcall-Signature": header}) as page:
        assert page.post(ANSWER, content=ALLOW).status_code == 403
    with house.http(Origin=house.origin, Host="evil.example", **{"Yourcall-Signature": header}) as page:
        assert page.post(ANSWER, content=ALLOW).status_code == 421
    assert state(house) == "open"


def test_a_body_that_is_too_large_is_not_read(house: House, phone: BrowserKey) -> None:
    header = phone.header("POST", "/api/uploads", b"")
    said = (
        f"Host: {house.host}\r\nContent-Length: {signatures.LARGEST_BODY + 1}\r\nYourcall-Signature: {header}\r\n"
    )
    with socket.create_connection(("127.0.0.1", house.port), 10) as talk:
        talk.sendall(f"POST /api/uploads HTTP/1.1\r\n{said}\r\n".encode())
        assert talk.recv(1000).startswith(b"HTTP/1.1 413 ")


def test_nonces_are_bounded_and_none_is_forgotten_for_another() -> None:
    key, clock = BrowserKey(), [1_000_000.0]
    book = Signatures(lambda: clock[0])
    key.told = {"id": "ab", "run": book.run, "now": book.now}

    def tried(nonce: str) -> object:
        said = signatures.read_header(key.header("GET", "/", nonce=nonce))
        assert isinstance(said, Signature)
        return book.check(key.point, "GET", "/", said)

    book._nonces["ab"] = signatures.OrderedDict()  # pyright: ignore[reportPrivateUsage]
    assert tried("first-nonce-00000") is None
    for n in range(MOST_NONCES - 1):
        book._nonces["ab"][str(n)] = clock[0] + 120  # pyright: ignore[reportPrivateUsage]
    assert isinstance(tried("one-more-00000000"), TooMany)
    assert tried("first-nonce-00000") is not None
    clock[0] += 121
    key.told["now"] = book.now
    assert tried("one-more-00000000") is None
    assert isinstance(tried("first-nonce-00000"), Stale) is False


# --- the live feed ----------------------------------------------------------------------------------------------


def protocols(ticket: str) -> list[Subprotocol]:
    return [Subprotocol("yourcall"), Subprotocol(f"yourcall.ticket.{ticket}")]


def ticket_of(house: House, phone: BrowserKey) -> str:
    made = phone.send(house, "POST", "/api/ticket")
    assert made.status_code == 201
    return made.json()["ticket"]


def test_a_ticket_opens_the_live_feed_once(house: House, phone: BrowserKey) -> None:
    ticket = ticket_of(house, phone)
    with house.feed(origin=house.origin, subprotocols=protocols(ticket)) as feed:
        assert heard(feed)["type"] == "hello"
        assert feed.subprotocol == "yourcall"
    for again in (ticket, "x" * 32, ""):
        with pytest.raises(InvalidStatus) as refused:
            house.feed(origin=house.origin, subprotocols=protocols(again))
        assert refused.value.response.status_code == 401


@pytest.mark.parametrize("path", ["/api/interactive", "/api/rpc", "/ws"])
def test_a_ticket_opens_nothing_on_which_something_can_be_changed(
    house: House, phone: BrowserKey, path: str
) -> None:
    from websockets.sync.client import connect

    with pytest.raises(InvalidStatus) as refused:
        connect(
            f"ws://{house.host}{path}",
            origin=house.origin,  # type: ignore[arg-type]
            subprotocols=protocols(ticket_of(house, phone)),
            proxy=None,
        )
    assert refused.value.response.status_code == 403


def test_a_ticket_needs_our_page_and_ends_with_its_device(house: House, phone: BrowserKey) -> None:
    for headers in ({}, {"Origin": "http://127.0.0.1:1"}):
        with pytest.raises(InvalidStatus):
            house.feed(headers=headers, subprotocols=protocols(ticket_of(house, phone)))
    late = ticket_of(house, phone)
    house.run(house.devices.revoke(phone.id))
    with pytest.raises(InvalidStatus):
        house.feed(origin=house.origin, subprotocols=protocols(late))


def test_a_ticket_is_good_for_half_a_minute() -> None:
    clock = [0.0]
    tickets = Tickets(lambda: clock[0])
    first, second = tickets.new("ab"), tickets.new("ab")
    clock[0] = TICKET_S - 1
    assert tickets.use(first) == "ab"
    clock[0] = TICKET_S
    assert tickets.use(second) is None


# --- cookies of before ------------------------------------------------------------------------------------------


def test_a_cookie_opens_nothing_and_ends_the_token_that_was_in_it(house: House) -> None:
    house.ask("p1")
    token = house.token("old phone")
    with house.http(token) as script:
        assert script.get("/api/status").status_code == 200
    with house.http(Origin=house.origin, Cookie=f"yourcall={token}") as page:
        for refused in (page.get("/api/prompts"), page.post(ANSWER, content=ALLOW)):
            assert refused.status_code == 401
            assert "Pair this browser again" in refused.json()["error"]
    with pytest.raises(InvalidStatus):
        house.feed(headers={"Cookie": f"yourcall={token}", "Origin": house.origin})
    with house.http(token) as thief:
        assert thief.get("/api/prompts").status_code == 401
    assert state(house) == "open"
    with house.local() as cli:
        assert [(each["name"], each["key"]) for each in cli.get("/api/devices").json()] == [("old phone", "void")]


def test_a_browser_that_had_a_cookie_is_one_device_when_it_is_paired_again(house: House) -> None:
    token = house.token("old phone")
    paired = BrowserKey().pair(house, "new phone", Cookie=f"yourcall={token}")
    assert paired.headers["set-cookie"].startswith("yourcall=; Path=/; Max-Age=0;")
    with house.local() as cli:
        alive = [each["name"] for each in cli.get("/api/devices").json() if each["revoked_at"] is None]
    assert alive == ["new phone"]
