"""What a device may do: each route names its scope, and a device without it is refused in a plain sentence."""

from __future__ import annotations

import json
from typing import get_args

import pytest
from browser_key import BrowserKey
from server_house import House, heard
from websockets.exceptions import ConnectionClosed, InvalidStatus
from websockets.sync.client import connect

from yourcall.server.contracts.rpc.methods import METHODS
from yourcall.server.route import Route
from yourcall.server.routes import ROUTES
from yourcall.server.scopes import ALL, FOR_PHONE, FOR_SCRIPT, Scope

DEVICE = [route for route in ROUTES if route.key == "device"]


def name_of(route: Route) -> str:
    return f"{route.method} {route.path}"


def test_every_route_and_every_method_names_its_scope() -> None:
    assert [name_of(route) for route in ROUTES if (route.scope == "") != (route.key == "nobody")] == []
    assert {route.scope for route in ROUTES} - {""} == set(get_args(Scope)) == set(ALL)
    assert {method.scope for method in METHODS} <= set(ALL)
    changing = [name_of(r) for r in DEVICE if r.method != "GET" and r.scope == "read"]
    # Each of these is about the device itself, or changes nothing.
    own = {"POST /api/push", "DELETE /api/push", "POST /api/push/test", "POST /api/front", "POST /api/ticket"}
    assert set(changing) == own | {"POST /api/rules/test", "POST /api/prompts/{id}/risk"}


@pytest.mark.parametrize("route", DEVICE, ids=name_of)
def test_a_device_without_the_scope_is_refused_and_told_how_to_get_it(shared: House, route: Route) -> None:
    others: tuple[Scope, ...] = tuple(scope for scope in ALL if scope != route.scope)
    path = route.path.replace("{id}", "p1").replace("{name}", "x")
    with shared.http(shared.token("it's", others)) as client:
        refused = client.request(route.method, path, content=b"{}")
    assert refused.status_code == 403
    said = refused.json()["error"]
    assert f"it needs `{route.scope}`" in said
    assert "yourcall devices scope 'it'\"'\"'s" in said
    assert shared.loop.state.prompts["p1"].state == "open"


def test_a_script_may_read_and_answer_and_no_more_unless_it_is_said(house: House) -> None:
    house.ask("p1")
    with house.local() as cli:
        made = cli.post("/api/devices", json={"name": "ci"}).json()
        assert tuple(made["scopes"]) == FOR_SCRIPT == ("read", "answer")
        wide = cli.post("/api/devices", json={"name": "ops", "scopes": ["rules", "read"]}).json()
        assert wide["scopes"] == ["read", "rules"]
        assert cli.post("/api/devices", json={"name": "x", "scopes": ["root"]}).status_code == 400
    with house.http(made["token"]) as script:
        assert script.get("/api/prompts").status_code == 200
        assert script.post("/api/prompts/p1/answer", json={"option": "deny"}).status_code == 202
        for method, path in (
            ("POST", "/api/rules"),
            ("DELETE", "/api/rules/secrets"),
            ("POST", "/api/resume"),
            ("POST", "/api/sessions"),
            ("DELETE", f"/api/devices/{wide['id']}"),
            ("POST", f"/api/devices/{made['id']}"),
            ("POST", f"/api/devices/{made['id']}/scopes"),
        ):
            refused = script.request(method, path, json={"name": "phone", "scopes": list(ALL)})
            assert refused.status_code in (403, 404, 405), (method, path)
        names = {each["id"]: (each["name"], each["scopes"]) for each in script.get("/api/devices").json()}
        assert names[made["id"]] == ("ci", ["read", "answer"]), (
            "it cannot call itself otherwise, or give itself more"
        )
        assert script.delete(f"/api/devices/{made['id']}").status_code == 200, "but it may go"


def test_a_phone_may_do_all_but_rule_over_devices(house: House) -> None:
    key = BrowserKey()
    key.pair(house)
    assert tuple(key.told["scopes"]) == FOR_PHONE == ("read", "answer", "steer", "rules")
    house.token("other")
    other = next(each.id for each in house.store.devices() if each.name == "other")
    assert key.send(house, "POST", "/api/pause").status_code == 200
    assert key.send(house, "DELETE", f"/api/devices/{other}").status_code == 403
    with house.local() as cli:
        given = cli.post(f"/api/devices/{key.id}/scopes", json={"scopes": ["read", "admin"]})
        assert given.json()["scopes"] == ["read", "admin"]
    assert key.send(house, "POST", "/api/resume").status_code == 403
    assert key.send(house, "DELETE", f"/api/devices/{other}").status_code == 200


def test_a_change_holds_at_once_also_for_feeds_that_are_open(house: House) -> None:
    token = house.token("script", ("read", "answer"))
    (device,) = house.store.devices()
    with house.feed(token=token) as feed:
        assert heard(feed)["type"] == "hello"
        with house.local() as cli:
            cli.post(f"/api/devices/{device.id}/scopes", json={"scopes": ["answer"]})
            assert cli.post("/api/devices/nobody/scopes", json={"scopes": []}).status_code == 404
        with pytest.raises(ConnectionClosed) as closed:
            feed.recv(timeout=60)
    assert closed.value.rcvd is not None
    assert closed.value.rcvd.code == 4008, "it comes in again, if it still may: it was not revoked"
    with pytest.raises(InvalidStatus) as refused:
        house.feed(token=token)
    assert refused.value.response.status_code == 403


def test_the_other_contract_answers_only_with_the_scope_for_it(house: House) -> None:
    prompt = house.ask("p1")
    token = house.token("reader", ("read",))
    headers = {"Authorization": f"Bearer {token}"}
    with connect(f"ws://{house.host}/api/interactive", additional_headers=headers, proxy=None) as feed:
        shown = json.loads(feed.recv(timeout=60))
        feed.send(json.dumps({"requestId": shown["requestId"], "selectedOption": 1}))
        said = json.loads(feed.recv(timeout=60))
    assert said["type"] == "error"
    assert house.loop.state.prompts[prompt.id].state == "open"


def test_what_a_device_changed_has_its_id(house: House) -> None:
    token = house.token("phone")
    (device,) = house.store.devices()
    with house.http(token) as phone:
        assert phone.post("/api/pause").status_code == 200
        assert phone.get("/api/rules").json()["paused_by"] == f"phone ({device.id})"
