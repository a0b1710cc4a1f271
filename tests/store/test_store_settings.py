"""Changed settings are facts of the chain like any other; the numbers of rows do not know of them."""

from __future__ import annotations

import asyncio
import sqlite3
from contextlib import closing
from pathlib import Path

import pytest
from store_story import Life, opened, prompt, replayed, rows, session

from yourcall.model.events import PromptRaised, SessionSeen, SettingsChanged
from yourcall.store.chain import add_chain, teach, verify

FIXTURES = Path(__file__).with_name("fixtures")


@pytest.mark.parametrize("fixture", sorted(FIXTURES.glob("v*.sql")), ids=lambda file: file.stem)
def test_a_file_of_every_layout_is_whole_and_takes_a_change(tmp_path: Path, fixture: Path) -> None:
    path = tmp_path / "yourcall.db"
    with closing(sqlite3.connect(path)) as db:
        db.executescript(fixture.read_text())
    with opened(path) as store:
        assert verify(path).problems == ()
        before, seq, head = len(store.settings_log()), store.last_seq, store.head()
        asyncio.run(store.add_device("phone", "hash", by="cli"))
        assert [event.by for _, event in store.settings_log()][: len(store.settings_log()) - before] == ["cli"]
        assert store.last_seq == seq, "a feed has nothing to tell of it"
    assert head is not None
    assert verify(path, f"{head.place}:{head.hash}").problems == ()


def test_rows_are_numbered_as_if_no_setting_had_changed(tmp_path: Path) -> None:
    path = tmp_path / "yourcall.db"
    for _ in range(2):
        with opened(path) as store:
            store.note(SettingsChanged(1.0, "rules", "made", "x", "cli")).result(10)
    with opened(path) as store:
        Life(store).run([SessionSeen(1, session("s1", at=1)), PromptRaised(2, prompt("p1", at=2))])
        assert [change.seq for change in store.changes_after(0, 10)] == [2, 3]
        assert replayed(store) == rows(store)
        assert [number for number, _ in store.settings_log()] == [2, 1]
    assert verify(path).problems == ()


def test_a_change_that_was_edited_or_taken_out_is_noticed(tmp_path: Path) -> None:
    path = tmp_path / "yourcall.db"
    with opened(path) as store:
        for name in ("first", "second"):
            asyncio.run(store.add_device(name, name, by="cli"))
    with closing(sqlite3.connect(path)) as db:
        teach(db)
        db.execute("DROP TRIGGER log_is_append_only")
        db.execute("UPDATE log SET fact = replace(fact, 'first', 'other') WHERE seq = (SELECT min(seq) FROM log)")
        db.commit()
    assert "was changed" in verify(path).problems[0]


def test_a_record_that_was_made_anew_does_not_hold_the_head_that_was_noted(tmp_path: Path) -> None:
    path = tmp_path / "yourcall.db"
    with opened(path) as store:
        for name in ("first", "second"):
            asyncio.run(store.add_device(name, name, by="cli"))
        noted = store.head()
    assert noted is not None
    with closing(sqlite3.connect(path)) as db:
        teach(db)
        for (name,) in db.execute("SELECT name FROM sqlite_schema WHERE type = 'trigger'").fetchall():
            db.execute(f"DROP TRIGGER {name}")
        db.execute("DROP TABLE chain")
        db.execute("DELETE FROM log WHERE seq = (SELECT min(seq) FROM log)")
        add_chain(db)
        db.commit()
    assert verify(path).problems == (), "nothing in the file itself shows it"
    assert "head that was noted" in verify(path, f"{noted.place}:{noted.hash}").problems[0]


def test_a_device_is_changed_and_recorded_or_neither(tmp_path: Path) -> None:
    with opened(tmp_path / "yourcall.db") as store:
        asyncio.run(store.add_device("phone", "hash", by="cli"))
        with pytest.raises(sqlite3.IntegrityError):
            asyncio.run(store.add_device("thief", "hash", by="cli"))
        assert asyncio.run(store.revoke_device("nobody", by="cli")) is False
        assert [event.what for _, event in store.settings_log()] == ["added"]
