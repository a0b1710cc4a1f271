"""Standing orders over HTTP and the live feed. When one is given: tests/daemon/test_standing_orders.py."""

from __future__ import annotations

from typing import Any

from server_house import House, heard


def orders(reply: Any) -> list[str]:
    return [each["text"] for each in reply.json()["orders"]]


def test_a_phone_arranges_the_queue(house: House) -> None:
    house.session()
    with house.http(house.token("phone", ("read", "steer"))) as phone:
        path = "/api/sessions/s1/queue"
        for text in ("one", "two"):
            assert phone.post(path, json={"text": text}).status_code == 201
        told = phone.get(path).json()
        assert {each["by"] for each in told["orders"]} == {"phone"}
        two = told["orders"][1]["id"]
        assert orders(phone.post(f"{path}/orders/{two}", json={"place": 1})) == ["two", "one"]
        assert orders(phone.post(f"{path}/orders/{two}", json={"text": "TWO"})) == ["TWO", "one"]
        assert phone.post(f"{path}/orders/{two}", json={"place": 3}).status_code == 422
        assert phone.post(f"{path}/orders/{two}", json={"place": 0}).status_code == 400
        assert phone.post(f"{path}/orders/{two}", json={"place": 1, "text": "x"}).status_code == 400
        assert phone.post(f"{path}/hold", json={"held": True}).json()["held"] == "by phone"
        assert phone.post(f"{path}/hold", json={"held": False}).json()["held"] == ""
        assert orders(phone.delete(f"{path}/orders/{two}")) == ["one"]
        assert [each["session_id"] for each in phone.get("/api/queues").json()] == ["s1"]


def test_who_may_not_steer_adds_nothing(house: House) -> None:
    house.session()
    with house.http(house.token("reader", ("read", "answer"))) as reader:
        assert reader.post("/api/sessions/s1/queue", json={"text": "x"}).status_code == 403
        assert reader.post("/api/sessions/s1/queue/hold", json={"held": True}).status_code == 403
        assert orders(reader.get("/api/sessions/s1/queue")) == []


def test_what_is_wrong_changes_nothing(house: House) -> None:
    house.session()
    with house.http(house.token()) as phone:
        path = "/api/sessions/s1/queue"
        for body, status in (
            ({"text": " "}, 422),
            ({"text": ""}, 400),
            ({"text": "x" * 100_001}, 400),
            ({"text": "x", "trigger": "never"}, 400),
            ({"text": "x", "trigger": "time", "at": -9e18}, 422),
            ({"text": "x", "trigger": "command", "command": "touch here"}, 422),
            ({"text": "x", "trigger": "turn", "command": "touch here"}, 422),
            ({"text": "x", "trigger": "limit"}, 422),
            ({"text": "x", "more": 1}, 400),
        ):
            assert phone.post(path, json=body).status_code == status, body
        assert orders(phone.get(path)) == []
        house.session("s2", state="ended")
        assert phone.post("/api/sessions/s2/queue", json={"text": "x"}).status_code == 422


def test_the_live_feed_tells_of_each_change(house: House) -> None:
    house.session()
    token = house.token()
    with house.feed(token=token) as feed, house.http(token) as phone:
        assert heard(feed)["type"] == "hello"
        phone.post("/api/sessions/s1/queue", json={"text": "one"})
        news = heard(feed)
        assert news["type"] == "queue"
        assert [each["text"] for each in news["queue"]["orders"]] == ["one"]
        phone.delete(f"/api/sessions/s1/queue/orders/{news['queue']['orders'][0]['id']}")
        assert heard(feed)["queue"]["orders"] == []
