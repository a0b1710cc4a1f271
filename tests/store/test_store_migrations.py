"""A file from another version: brought up to date with a copy beside it, or refused in plain words."""

from __future__ import annotations

import sqlite3
import stat
from contextlib import closing
from pathlib import Path

import pytest
from store_story import Life, answer, body_of, opened, prompt, replayed, rows, session

from yourcall.model.events import AnswerGiven, DialogClosed, PromptRaised, SessionEnded, SessionSeen
from yourcall.store.migrations import MIGRATIONS
from yourcall.store.problem import StoreProblem
from yourcall.store.sqlite import Store

FIXTURES = Path(__file__).with_name("fixtures")


def _filled(path: Path) -> None:
    with opened(path) as store:
        Life(store).run(
            [
                SessionSeen(1, session("s1", at=1)),
                PromptRaised(2, prompt("p1", at=2)),
                AnswerGiven(3, "p1", answer("a1")),
                PromptRaised(4, prompt("p2", at=4)),
                DialogClosed(5, "p2", "idle"),
            ]
        )


def _with_a_color(db: sqlite3.Connection) -> None:
    db.execute("ALTER TABLE sessions ADD COLUMN color TEXT NOT NULL DEFAULT 'blue'")


def _that_fails(db: sqlite3.Connection) -> None:
    db.execute("DROP TABLE devices")
    raise RuntimeError("half way")


def _sql(path: Path, query: str) -> object:
    with closing(sqlite3.connect(path)) as db:
        return db.execute(query).fetchone()[0]


@pytest.mark.parametrize("fixture", sorted(FIXTURES.glob("v*.sql")), ids=lambda file: file.stem)
def test_a_file_of_every_released_layout_opens(tmp_path: Path, fixture: Path) -> None:
    path = tmp_path / "yourcall.db"
    with closing(sqlite3.connect(path)) as db:
        db.executescript(fixture.read_text())
    with opened(path) as store:
        prompts, sessions = rows(store)
        assert set(prompts) == {"p1", "p2"}
        assert set(sessions) == {"s1"}
        assert store.body(prompts["p1"].request) == body_of("p1")
        assert [p.id for p in store.live()[0]] == ["p1"]
        Life(store).run([SessionEnded(9, "s1")])
        assert store.live() == ([], [])
    assert _sql(path, "PRAGMA user_version") == len(MIGRATIONS)


def test_there_is_a_fixture_of_every_layout() -> None:
    assert {file.stem for file in FIXTURES.glob("v*.sql")} == {f"v{n + 1}" for n in range(len(MIGRATIONS))}


def test_migrating_leaves_a_copy_of_the_old_file(tmp_path: Path) -> None:
    path = tmp_path / "yourcall.db"
    _filled(path)
    store = Store.open(path, (*MIGRATIONS, _with_a_color))
    try:
        assert replayed(store) == rows(store)
        assert store.prompt("p1") is not None
    finally:
        store.close()
    assert _sql(path, "SELECT color FROM sessions") == "blue"
    copy = tmp_path / f"yourcall.db.v{len(MIGRATIONS)}.bak"
    assert {file.name for file in tmp_path.iterdir()} == {"yourcall.db", copy.name}
    assert stat.S_IMODE(copy.stat().st_mode) == 0o600
    with opened(copy) as old:  # at the layout it had: this version opens it as it is
        assert set(rows(old)[0]) == {"p1", "p2"}
        assert replayed(old) == rows(old)


def test_the_copy_has_what_was_only_in_the_wal(tmp_path: Path) -> None:
    path = tmp_path / "yourcall.db"
    _filled(path)
    with closing(sqlite3.connect(path)) as other:  # keeps the WAL from being folded in
        other.execute("SELECT count(*) FROM log").fetchone()
        with opened(path) as store:
            Life(store).run([SessionEnded(9, "s1")])
        Store.open(path, (*MIGRATIONS, _with_a_color)).close()
    with opened(tmp_path / f"yourcall.db.v{len(MIGRATIONS)}.bak") as old:
        assert old.live() == ([], [])


def test_a_migration_that_fails_changes_nothing(tmp_path: Path) -> None:
    path = tmp_path / "yourcall.db"
    _filled(path)
    with pytest.raises(StoreProblem, match=r"half way.*left as it was.*yourcall\.db\.v\d+\.bak"):
        Store.open(path, (*MIGRATIONS, _with_a_color, _that_fails))
    with opened(path) as store:
        assert store.devices() == []
        assert replayed(store) == rows(store)


def test_no_copy_is_made_where_nothing_changes(tmp_path: Path) -> None:
    _filled(tmp_path / "yourcall.db")
    with opened(tmp_path / "yourcall.db"):
        pass
    assert {file.name for file in tmp_path.iterdir()} == {"yourcall.db"}


def test_a_newer_file_is_refused_and_left_alone(tmp_path: Path) -> None:
    path = tmp_path / "yourcall.db"
    Store.open(path, (*MIGRATIONS, _with_a_color)).close()
    before = path.read_bytes()
    with pytest.raises(StoreProblem, match=r"made by a newer yourcall;.*--home"):
        Store.open(path)
    assert path.read_bytes() == before


def test_a_row_of_a_newer_version_is_a_sentence_too(tmp_path: Path) -> None:
    path = tmp_path / "yourcall.db"
    _filled(path)
    with closing(sqlite3.connect(path)) as db, db:
        db.execute("""UPDATE prompts SET row = CAST('{"mood":1,' || substr(row, 2) AS BLOB)""")
    with opened(path) as store, pytest.raises(StoreProblem, match="made by a newer yourcall"):
        store.live()


def test_a_damaged_file_is_explained_and_kept(tmp_path: Path) -> None:
    path = tmp_path / "yourcall.db"
    path.write_bytes(b"this is no database at all, " * 100)
    with pytest.raises(StoreProblem, match=r"damaged.*Nothing was deleted.*Move it away"):
        Store.open(path)
    assert path.read_bytes().startswith(b"this is no database")


def test_damage_found_later_is_explained_and_points_to_the_copy(tmp_path: Path) -> None:
    path = tmp_path / "yourcall.db"
    _filled(path)
    Store.open(path, (*MIGRATIONS, _with_a_color)).close()
    data = bytearray(path.read_bytes())
    data[4096 * 2 :] = b"\xa5" * (len(data) - 4096 * 2)
    path.write_bytes(bytes(data))
    with pytest.raises(StoreProblem, match=r"damaged.*older copy yourcall\.db\.v\d+\.bak"):
        _use(path)
    assert path.exists()


def _use(path: Path) -> None:
    store = Store.open(path, (*MIGRATIONS, _with_a_color))
    try:
        store.live()
        list(store.facts())
    finally:
        store.close()


def test_another_programs_database_is_not_touched(tmp_path: Path) -> None:
    path = tmp_path / "yourcall.db"
    with closing(sqlite3.connect(path)) as db:
        db.execute("CREATE TABLE recipes (name TEXT)")
    with pytest.raises(StoreProblem, match="another program's database"):
        Store.open(path)
    assert _sql(path, "SELECT count(*) FROM sqlite_schema") == 1


def test_a_place_that_cannot_be_written_is_explained(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("not a folder")
    with pytest.raises(StoreProblem, match="cannot be opened"):
        Store.open(tmp_path / "file" / "yourcall.db")
    (tmp_path / "yourcall.db").mkdir()
    with pytest.raises(StoreProblem, match="cannot be opened"):
        Store.open(tmp_path / "yourcall.db")
