"""Devices of before there were scopes: each keeps what it could do, but what was in a cookie opens nothing."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from pathlib import Path

from store_story import opened

V3 = Path(__file__).with_name("fixtures") / "v3.sql"


def test_old_devices_keep_what_they_could_do_unless_they_are_browsers(tmp_path: Path) -> None:
    path = tmp_path / "yourcall.db"
    with closing(sqlite3.connect(path)) as db:
        db.executescript(V3.read_text())
        for id, name in (("aa", "script"), ("bb", "phone")):
            db.execute("INSERT INTO devices VALUES (?, ?, ?, 1.0, 2.0, NULL)", (id, name, id * 32))
        db.execute("INSERT INTO channel_facts VALUES ('push', 'bb', x'7b7d')")
        db.commit()
    with opened(path) as store:
        found = {each.name: each for each in store.devices()}
        assert {each.scopes for each in found.values()} == {"read,answer,steer,rules,admin"}
        assert (found["script"].void, found["phone"].void) == (0, 1)
        assert {each.public_key for each in found.values()} == {""}
        assert store.device_by_hash("bb" * 32) == found["phone"]
        assert set(store.remembered("push")) == {"bb"}, (
            "it is still told, and says there that it must be paired again"
        )
