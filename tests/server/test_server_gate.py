"""The gate: nothing without a key, nothing from a foreign page, nothing by a foreign name."""

from __future__ import annotations

import socket

import pytest
from server_house import House
from websockets.exceptions import InvalidStatus

from yourcall.server.app import page_files
from yourcall.server.auth import SECURITY_HEADERS
from yourcall.server.route import Route
from yourcall.server.routes import LIVE, ROUTES

# A script of the app, where it is built.
SCRIPT = min((path for path in page_files() if path.endswith(".js") and path != "/sw.js"), default="/")
KEYED = [route for route in ROUTES if route.key != "nobody"]


def name_of(route: Route) -> str:
    return f"{route.method} {route.path}"


def path_of(route: Route) -> str:
    return route.path.replace("{id}", "p1")


@pytest.mark.parametrize("route", KEYED, ids=name_of)
def test_no_route_answers_without_a_key(shared: House, route: Route) -> None:
    wrong = [
        {},
        {"Authorization": "Bearer yc_" + "A" * 43},
        {"Authorization": "Bearer"},
        {"Authorization": "Basic eWM6eWM="},
        {"Authorization": "Bearer " + "yc_" + "A" * 5000},
        {"Cookie": "yourcall=yc_" + "A" * 43},
        {"Cookie": "yourcall="},
    ]
    with shared.http() as client:
        for headers in wrong:
            got = client.request(route.method, path_of(route), headers={"Origin": shared.origin, **headers})
            assert got.status_code == 401, (headers, got.text)
            assert "Pair this device first" in got.json()["error"]
            assert got.headers["www-authenticate"] == "Bearer"
    assert shared.loop.state.prompts["p1"].state == "open"


def test_only_the_page_and_pairing_are_open(house: House) -> None:
    assert {name_of(route) for route in ROUTES if route.key == "nobody"} == {"POST /api/pair", "POST /api/tap"}
    with house.http() as client:
        for path in page_files():
            assert client.get(path).status_code == 200
        for path in ("/index.html", "/assets/", "/app.py", "/auth.py", "/api", "/api/", "/healthz", "/docs"):
            assert client.get(path).status_code == 401, path


@pytest.mark.parametrize("route", [r for r in KEYED if r.key == "local"], ids=name_of)
def test_local_routes_do_not_exist_on_the_network(shared: House, route: Route) -> None:
    with shared.http(shared.token()) as client:
        known = len(shared.store.devices())
        assert client.request(route.method, path_of(route), json={"name": "x"}).status_code in (404, 405)
    assert len(shared.store.devices()) == known
    assert not shared.stopped.is_set()


def test_a_key_opens_and_a_revoked_one_does_not(house: House) -> None:
    token = house.token()
    with house.http(token) as client:
        assert client.get("/api/status").status_code == 200
        device = client.get("/api/devices").json()[0]
        assert client.delete(f"/api/devices/{device['id']}").status_code == 200
        assert client.get("/api/status").status_code == 401
        assert client.delete(f"/api/devices/{device['id']}").status_code == 401


def test_a_wrong_key_is_not_saved_by_a_right_cookie(house: House) -> None:
    with house.http("yc_wrong", Cookie=f"yourcall={house.token()}") as client:
        assert client.get("/api/status").status_code == 401


@pytest.mark.parametrize(
    "host",
    ["evil.example", "127.0.0.1", "127.0.0.1:1", "desk.example.net.evil.example", "desk.example.net:80", ""],
)
def test_a_foreign_host_is_refused_before_anything_else(shared: House, host: str) -> None:
    with shared.http(shared.token(), Host=host) as client:
        for path in ("/", "/api/status", "/api/pair"):
            got = client.get(path)
            assert got.status_code == 421, got.text
            assert "--public-url" in got.json()["error"]


def test_two_hosts_or_none_are_refused(house: House) -> None:
    for hosts in (b"", b"Host: %s\r\nHost: evil.example\r\n" % house.host.encode()):
        with socket.create_connection(("127.0.0.1", house.port), 10) as talk:
            talk.sendall(b"GET / HTTP/1.1\r\n" + hosts + b"\r\n")
            assert talk.recv(1000).startswith(b"HTTP/1.1 400 ")


def test_the_list_of_hosts_may_grow_and_case_does_not_matter(house: House) -> None:
    with house.http(house.token(), Host="Other.Example") as client:
        assert client.get("/api/status").status_code == 421
        house.hosts |= {"other.example"}
        assert client.get("/api/status").status_code == 200


@pytest.mark.parametrize(
    "origin",
    ["https://evil.example", "null", "http://127.0.0.1", "http://127.0.0.1:1", "file://", "", "desk.example.net"],
)
def test_a_foreign_page_is_refused(shared: House, origin: str) -> None:
    token = shared.token()
    for key in ({"Authorization": f"Bearer {token}"}, {"Cookie": f"yourcall={token}"}):
        with shared.http(Origin=origin, **key) as client:
            assert client.post("/api/prompts/p1/answer", json={"option": "allow"}).status_code == 403
            assert client.get("/api/prompts").status_code == 403
    code = shared.devices.pairing.new().text
    with shared.http(Origin=origin) as client:
        assert client.post("/api/pair", json={"code": code}).status_code == 403
    assert shared.loop.state.prompts["p1"].state == "open"


@pytest.mark.parametrize("scheme", ["ftp", "file", "chrome-extension", "ws", ""])
def test_only_a_web_page_can_be_ours(shared: House, scheme: str) -> None:
    with shared.http(shared.token(), Origin=f"{scheme}://{shared.host}") as client:
        assert client.get("/api/status").status_code == 403


def test_two_origins_are_refused(shared: House) -> None:
    said = f"Host: {shared.host}\r\nOrigin: {shared.origin}\r\nOrigin: {shared.origin}\r\n"
    with socket.create_connection(("127.0.0.1", shared.port), 10) as talk:
        talk.sendall(f"GET / HTTP/1.1\r\n{said}\r\n".encode())
        assert talk.recv(1000).startswith(b"HTTP/1.1 403 ")


def test_a_page_of_the_same_name_but_another_port_or_scheme_is_told_by_the_browser(house: House) -> None:
    house.ask("p1")
    cookie = f"yourcall={house.token()}"
    with house.http(Origin="http://desk.example.net", Cookie=cookie, **{"Sec-Fetch-Site": "same-site"}) as client:
        assert client.post("/api/prompts/p1/answer", json={"option": "allow"}).status_code == 403


def test_a_token_in_an_address_is_refused(house: House) -> None:
    token = house.token()
    with house.http(token) as client:
        for query in (f"token={token}", f"after=1&x={token.replace('_', '%5F')}"):
            refused = client.get(f"/api/status?{query}")
            assert refused.status_code == 400
            assert token not in refused.text


@pytest.mark.parametrize(
    "path",
    [
        "/api/../api/status",
        "//api/status",
        "/api//status",
        "/API/status",
        "/api/status/",
        "/api/status%00",
        "/api/prompts/..%2f..%2fetc%2fpasswd",
        "/..%2f..%2fpyproject.toml",
        "/%2e%2e/auth.py",
        "/sw.js/../../auth.py",
        "/sw.js%00.html",
    ],
)
def test_path_tricks_lead_nowhere(shared: House, path: str) -> None:
    for key, status in (("", b"401"), (f"Authorization: Bearer {shared.token()}\r\n", b"404")):
        with socket.create_connection(("127.0.0.1", shared.port), 10) as talk:
            talk.sendall(f"GET {path} HTTP/1.1\r\nHost: {shared.host}\r\nConnection: close\r\n{key}\r\n".encode())
            assert talk.recv(1000).split()[1] == status


def test_a_path_that_looks_open_but_is_spelt_otherwise_needs_a_key_unless_it_is_the_same_path(
    house: House,
) -> None:
    with house.http() as client:
        same = {client.post(path, json={"token": "yt_x"}).status_code for path in ("/api/tap", "/%61pi/tap")}
        assert len(same) == 1
        assert same != {401}
        assert client.post("/").status_code == 401
        assert client.delete("/api/pair").status_code == 401
        assert client.get("/api/pair").status_code == 401


def test_everything_carries_the_security_headers(house: House) -> None:
    with house.http(house.token()) as client, house.http() as stranger:
        replies = [
            client.get("/"),
            client.get(SCRIPT),
            client.get("/api/prompts"),
            client.get("/api/nothing"),
            client.post("/api/status"),
            stranger.get("/api/prompts"),
            stranger.post("/api/pair", content=b"{"),
        ]
    for got in replies:
        for name, value in SECURITY_HEADERS.items():
            assert got.headers[name] == value
        ours = ("no-cache", "public, max-age=31536000, immutable")
        assert got.headers["Cache-Control"] in (ours if got.url.path in ("/", SCRIPT) else ("no-store",))
        assert "server" not in got.headers
        assert "access-control-allow-origin" not in got.headers


def test_an_unexpected_error_says_nothing_about_itself(house: House) -> None:
    token = house.token()
    with house.http(token) as client:
        house.store._reading.close()  # pyright: ignore[reportPrivateUsage]
        got = client.get("/api/prompts")
        assert got.status_code == 500
        assert "Traceback" not in got.text
        assert "sqlite" not in got.text.lower()


def test_the_local_socket_needs_no_key_and_takes_no_page(house: House) -> None:
    with house.local() as client:
        assert client.get("/api/status").status_code == 200
        assert client.get("/").status_code == 404
        for origin in ("null", house.origin, "http://localhost"):
            assert client.get("/api/status", headers={"Origin": origin}).status_code == 403


@pytest.mark.parametrize(
    ("headers", "status"),
    [
        ({}, 401),
        ({"Authorization": "Bearer yc_wrong"}, 401),
        ({"Cookie": "yourcall=yc_wrong", "Origin": "OURS"}, 401),
        ({"Cookie": "yourcall=TOKEN", "Origin": "https://evil.example"}, 403),
        ({"Cookie": "yourcall=TOKEN"}, 401),
        ({"Authorization": "Bearer TOKEN", "Origin": "https://evil.example"}, 403),
    ],
)
def test_a_feed_is_behind_the_same_gate(shared: House, headers: dict[str, str], status: int) -> None:
    token = shared.token()
    said = {name: value.replace("TOKEN", token).replace("OURS", shared.origin) for name, value in headers.items()}
    with pytest.raises(InvalidStatus) as refused:
        shared.feed(headers=said)
    assert refused.value.response.status_code == status


def test_a_feed_by_a_foreign_name_is_refused(house: House) -> None:
    house.hosts = frozenset({"desk.example.net"})
    with pytest.raises(InvalidStatus) as refused:
        house.feed(token=house.token())
    assert refused.value.response.status_code == 421
    assert LIVE == "/api/live"
