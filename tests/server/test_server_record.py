"""Who changed a device or a rule is in the record; a head that was noted shows a cut tail and a new record."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from pathlib import Path
from typing import Any

import httpx
from server_house import House, heard

from yourcall.server.scopes import ALL
from yourcall.store.chain import teach, verify

RULE = '[no-pushing]\ndo = "deny"\ncommand = "git push"\n'


def _settings(client: httpx.Client) -> list[tuple[str, str, str, str]]:
    lines = client.get("/api/log/settings", params={"limit": 500}).raise_for_status().json()
    return [(each["area"], each["what"], each["about"], each["by"]) for each in reversed(lines)]


def test_every_change_of_a_device_is_recorded_with_its_author(house: House) -> None:
    with house.local() as cli:
        added = cli.post("/api/devices", json={"name": "script"}).raise_for_status().json()
        code = cli.post("/api/pairing").raise_for_status().json()["code"]
        paired = cli.post("/api/pair", json={"code": code, "name": "phone"}).raise_for_status().json()
        cli.post(f"/api/devices/{added['id']}", json={"name": "robot"}).raise_for_status()
        cli.post(f"/api/devices/{added['id']}/scopes", json={"scopes": ["read"]}).raise_for_status()
        boss, token = house.run(house.devices.add("boss", ALL))
        with house.http(token) as phone:
            phone.delete(f"/api/devices/{added['id']}").raise_for_status()
            assert phone.delete(f"/api/devices/{added['id']}").status_code == 404
        assert _settings(cli) == [
            ("devices", "added", added["id"], "cli"),
            ("devices", "paired", paired["id"], "a pairing code"),
            ("devices", "renamed", added["id"], "cli"),
            ("devices", "scopes changed", added["id"], "cli"),
            ("devices", "added", boss.id, "yourcall"),
            ("devices", "revoked", added["id"], f"boss ({boss.id})"),
        ]
        everything = cli.get("/api/log/settings").text
    with closing(sqlite3.connect(house.folder / "yourcall.db")) as db:
        facts = b"".join(row[0] for row in db.execute("SELECT fact FROM log")).decode()
    for token in (added["token"], paired["token"], code):
        assert token not in everything + facts
    found = verify(house.folder / "yourcall.db")
    assert found.problems == ()
    assert found.facts == 6


def test_every_change_of_a_rule_is_recorded_with_its_author(house: House) -> None:
    with house.local() as cli:
        cli.post("/api/rules", json={"text": RULE}).raise_for_status()
        assert cli.post("/api/rules", json={"text": "[x]\ndo = 'nonsense'"}).status_code == 422
        cli.delete("/api/rules/no-pushing").raise_for_status()
        assert cli.delete("/api/rules/no-pushing").status_code == 404
        cli.post("/api/rules/undo").raise_for_status()
        cli.post("/api/pause").raise_for_status()
        cli.post("/api/resume").raise_for_status()
        assert _settings(cli) == [
            ("rules", "made", "no-pushing", "cli"),
            ("rules", "removed", "no-pushing", "cli"),
            ("rules", "undone", "the last change", "cli"),
            ("pause", "paused", "rules", "cli"),
            ("pause", "resumed", "rules", "cli"),
        ]
    assert verify(house.folder / "yourcall.db").problems == ()


def test_pages_of_the_settings_log_follow_each_other(house: House) -> None:
    with house.local() as cli:
        for number in range(5):
            cli.post("/api/devices", json={"name": f"d{number}"}).raise_for_status()
        seen: list[int] = []
        query: dict[str, Any] = {"limit": 2}
        while page := cli.get("/api/log/settings", params=query).raise_for_status().json():
            seen += [line["number"] for line in page]
            query["before_number"] = seen[-1]
        assert seen == [5, 4, 3, 2, 1]
        assert cli.get("/api/log/settings", params={"before_number": "x"}).status_code == 400


def test_the_head_is_on_the_feed_and_can_be_asked_for_later(house: House) -> None:
    with house.local() as cli:
        assert cli.get("/api/log/head").status_code == 404
        assert cli.get("/api/status").json()["head"] is None
        token = house.token()
        noted = cli.get("/api/log/head").raise_for_status().json()
        with house.feed(token=token) as feed:
            assert heard(feed)["head"] == noted
        house.session()
        house.ask("p1")
        now = cli.get("/api/status").json()["head"]
        assert now["place"] > noted["place"]
        assert cli.get("/api/log/head", params={"place": noted["place"]}).json() == noted
        assert cli.get("/api/log/head", params={"place": now["place"] + 1}).status_code == 404
        assert cli.get("/api/log/head", params={"place": "-1"}).status_code == 400
    path = house.folder / "yourcall.db"
    for head in (noted["hash"], f"{noted['place']}:{noted['hash']}", f"{now['place']}:{now['hash']}"):
        assert verify(path, head).problems == ()
    assert verify(path, f"{now['place']}:{noted['hash']}").problems, "the right hash at another place"


def test_a_head_that_was_noted_shows_a_cut_tail(house: House) -> None:
    with house.local() as cli:
        cli.post("/api/devices", json={"name": "kept"}).raise_for_status()
        cli.post("/api/devices", json={"name": "hidden"}).raise_for_status()
        noted = cli.get("/api/log/head").raise_for_status().json()
        _cut(house.folder / "yourcall.db")
        assert verify(house.folder / "yourcall.db").problems == (), "the tail alone is not missed"
        head = f"{noted['place']}:{noted['hash']}"
        assert verify(house.folder / "yourcall.db", head).problems
        assert cli.get("/api/log/head", params={"place": noted["place"]}).status_code == 404
        # Other facts at the same place do not hide it.
        cli.post("/api/devices", json={"name": "another"}).raise_for_status()
        assert verify(house.folder / "yourcall.db").problems == ()
        assert verify(house.folder / "yourcall.db", head).problems
        later = cli.get("/api/log/head", params={"place": noted["place"]})
        assert later.status_code == 404 or later.json()["hash"] != noted["hash"]


def _cut(path: Path) -> None:
    """Whoever can write the file takes the last fact out, with its link, and leaves no trace of it."""
    with closing(sqlite3.connect(path)) as db:
        teach(db)
        triggers = [name for (name,) in db.execute("SELECT name FROM sqlite_schema WHERE type = 'trigger'")]
        kept = [sql for (sql,) in db.execute("SELECT sql FROM sqlite_schema WHERE type = 'trigger'")]
        for name in triggers:
            db.execute(f"DROP TRIGGER {name}")
        db.execute("DELETE FROM log WHERE seq = (SELECT max(seq) FROM log)")
        db.execute("DELETE FROM chain WHERE n = (SELECT max(n) FROM chain)")
        db.execute("UPDATE sqlite_sequence SET seq = (SELECT max(n) FROM chain) WHERE name = 'chain'")
        for sql in kept:
            db.execute(sql)
        db.commit()


def test_a_prompt_named_like_the_settings_takes_none_of_them_along(house: House) -> None:
    """A prompt's id comes from outside; forgetting it forgets its own facts only."""
    token = house.token()
    house.session()
    house.ask("settings")
    with house.http(token) as phone:
        phone.post("/api/prompts/settings/answer", json={"option": "allow", "wait": 0}).raise_for_status()
    house.written("settings")
    house.settled("settings")
    house.run(house.store.prune(float("inf")))
    assert house.store.prompt("settings") is None
    assert [event.what for _, event in house.store.settings_log()] == ["added"]
    assert verify(house.folder / "yourcall.db").problems == ()
