"""A phone notes the head of the machine's record, and warns when the record does not hold it any more."""

from __future__ import annotations

import json
import sqlite3
from contextlib import closing
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

import pytest

from kit.poll import until
from yourcall.store.chain import teach

if TYPE_CHECKING:
    from chromium import Chromium
    from phone_scene import Daemon

pytestmark = pytest.mark.browser

WARNING = "shortened or rewritten"


def test_a_cut_record_is_warned_of_until_the_person_knows(yc: Daemon, chromium: Chromium) -> None:
    from phone_scene import enter

    page = enter(chromium, yc)
    yc.http("POST", "/api/devices", {"name": "hidden"})
    page.reload()
    page.sees("Live")
    noted = yc.http("GET", "/api/log/head")[1]

    def kept() -> object:
        return (json.loads(page.js("localStorage.getItem('yourcall.head')") or "null") or {}).get("hash")

    until(lambda: kept() == noted["hash"], what="the head to be noted")
    assert WARNING not in page.js("document.body.innerText")
    port = urlsplit(yc.url).port
    assert port is not None
    yc.stop()
    with closing(sqlite3.connect(yc.home / "yourcall.db")) as db:
        teach(db)
        triggers = db.execute("SELECT name, sql FROM sqlite_schema WHERE type = 'trigger'").fetchall()
        for name, _ in triggers:
            db.execute(f"DROP TRIGGER {name}")
        db.execute("DELETE FROM log WHERE seq = (SELECT max(seq) FROM log)")
        db.execute("DELETE FROM chain WHERE n = (SELECT max(n) FROM chain)")
        for _, sql in triggers:
            db.execute(sql)
        db.commit()
    yc.start_on(port)
    page.sees(WARNING)
    page.reload()
    page.sees(WARNING)
    assert kept() == noted["hash"], "the head that is missing stays noted"
    page.js("new Promise((done) => setTimeout(done, 1200))")  # a button takes no tap in its first second
    page.tap("I know")
    until(lambda: WARNING not in page.js("document.body.innerText"), what="the warning to go")
    page.reload()
    page.sees("Live")
    until(lambda: kept() == yc.http("GET", "/api/log/head")[1]["hash"], what="the new head to be noted")
    assert WARNING not in page.js("document.body.innerText")
    page.close()
