"""The layout of the database, as the list of steps that led to it; and how a file is brought there.

Rule: a step that was released is never edited, only followed by another. Before an existing file is changed a
copy is made beside it; all steps run in one transaction, so a file is at one version or another, never between.
"""

from __future__ import annotations

import contextlib
import os
import sqlite3
from collections.abc import Callable, Sequence
from pathlib import Path

from yourcall.store.chain import add_chain, teach
from yourcall.store.problem import StoreProblem, explained

Migration = Callable[[sqlite3.Connection], None]

# Another connection may hold the file for a moment (a backup, a curious sqlite3 shell); longer is a problem.
PATIENCE = 5.0


def first_layout(db: sqlite3.Connection) -> None:
    """The log and the rows. `log.seq` is the last seq its fact used; `at` is the time of the last change."""
    for statement in (
        "CREATE TABLE log (seq INTEGER PRIMARY KEY, at REAL NOT NULL, kind TEXT NOT NULL,"
        " subject TEXT NOT NULL, fact BLOB NOT NULL)",
        "CREATE INDEX log_subject ON log (subject)",
        "CREATE TRIGGER log_is_append_only BEFORE UPDATE ON log"
        " BEGIN SELECT RAISE(ABORT, 'the log is append-only'); END",
        "CREATE TABLE prompts (id TEXT PRIMARY KEY, seq INTEGER NOT NULL, at REAL NOT NULL, state TEXT NOT NULL,"
        " live INTEGER NOT NULL, session_id TEXT NOT NULL, opened_at REAL NOT NULL, closed_at REAL,"
        " request TEXT NOT NULL, row BLOB NOT NULL)",
        "CREATE UNIQUE INDEX prompts_seq ON prompts (seq)",
        "CREATE INDEX prompts_opened ON prompts (opened_at)",
        "CREATE INDEX prompts_live ON prompts (opened_at) WHERE live = 1",
        "CREATE INDEX prompts_settled ON prompts (closed_at) WHERE live = 0",
        "CREATE INDEX prompts_session ON prompts (session_id)",
        "CREATE INDEX prompts_request ON prompts (request)",
        "CREATE TABLE sessions (id TEXT PRIMARY KEY, seq INTEGER NOT NULL, at REAL NOT NULL,"
        " live INTEGER NOT NULL, row BLOB NOT NULL)",
        "CREATE UNIQUE INDEX sessions_seq ON sessions (seq)",
        "CREATE INDEX sessions_live ON sessions (id) WHERE live = 1",
        "CREATE INDEX sessions_over ON sessions (at) WHERE live = 0",
        "CREATE TABLE bodies (id TEXT PRIMARY KEY, at REAL NOT NULL, data BLOB NOT NULL)",
        "CREATE INDEX bodies_at ON bodies (at)",
        "CREATE TABLE devices (id TEXT PRIMARY KEY, name TEXT NOT NULL, token_hash TEXT NOT NULL UNIQUE,"
        " created_at REAL NOT NULL, seen_at REAL NOT NULL, revoked_at REAL)",
        "CREATE TABLE meta (key TEXT PRIMARY KEY, value NOT NULL)",
    ):
        db.execute(statement)


def people_are_told(db: sqlite3.Connection) -> None:
    """What channels keep: receipts, single-use answers (by the hash of their token), and facts of their own."""
    for statement in (
        "CREATE TABLE receipts (notice TEXT NOT NULL, channel TEXT NOT NULL, target TEXT NOT NULL,"
        " prompts TEXT NOT NULL, state TEXT NOT NULL, at REAL NOT NULL, times INTEGER NOT NULL,"
        " receipt TEXT NOT NULL, face TEXT NOT NULL, why TEXT NOT NULL, PRIMARY KEY (notice, channel, target))",
        "CREATE TABLE taps (hash TEXT PRIMARY KEY, prompt_id TEXT NOT NULL, question TEXT NOT NULL,"
        " option TEXT NOT NULL, offer TEXT NOT NULL, channel TEXT NOT NULL, at REAL NOT NULL)",
        "CREATE INDEX taps_prompt ON taps (prompt_id)",
        "CREATE TABLE channel_facts (channel TEXT NOT NULL, key TEXT NOT NULL, value BLOB NOT NULL,"
        " PRIMARY KEY (channel, key))",
    ):
        db.execute(statement)


def facts_are_chained(db: sqlite3.Connection) -> None:
    """The log is sealed, fact by fact."""
    add_chain(db)


def devices_have_scopes(db: sqlite3.Connection) -> None:
    """A browser has a key of its own, and each device its scopes; one that is there keeps what it could do.

    A device that is told by push is a browser, and its token went into a cookie, which goes to every port of the
    host: that token opens nothing any more. Other browsers are found when their cookie comes in.
    """
    for statement in (
        "ALTER TABLE devices ADD COLUMN public_key TEXT NOT NULL DEFAULT ''",
        "ALTER TABLE devices ADD COLUMN scopes TEXT NOT NULL DEFAULT ''",
        "ALTER TABLE devices ADD COLUMN void INTEGER NOT NULL DEFAULT 0",
        "UPDATE devices SET scopes = 'read,answer,steer,rules,admin'",
        "UPDATE devices SET void = 1 WHERE id IN (SELECT key FROM channel_facts WHERE channel = 'push')",
    ):
        db.execute(statement)


def changed_settings_are_facts(db: sqlite3.Connection) -> None:
    """Nothing changes in the file; but an older version would count on from the numbers of these facts."""


def sessions_have_queues(db: sqlite3.Connection) -> None:
    """Instructions that wait until their session can take them: one row for each session that has any."""
    db.execute("CREATE TABLE queues (session_id TEXT PRIMARY KEY, row BLOB NOT NULL)")


def persons_and_passkeys(db: sqlite3.Connection) -> None:
    """Passkeys that stand behind a yes; persons, and whose device is whose; who told a session what to do."""
    for statement in (
        "CREATE TABLE passkeys (id TEXT PRIMARY KEY, name TEXT NOT NULL, person TEXT NOT NULL,"
        " rp_id TEXT NOT NULL, credential TEXT NOT NULL UNIQUE, public_key BLOB NOT NULL,"
        " sign_count INTEGER NOT NULL, created_at REAL NOT NULL, used_at REAL NOT NULL,"
        " revoked_at REAL, why TEXT NOT NULL)",
        "CREATE TABLE people (id TEXT PRIMARY KEY, row BLOB NOT NULL)",
        "CREATE TABLE wishes (session_id TEXT NOT NULL, person TEXT NOT NULL, at REAL NOT NULL,"
        " PRIMARY KEY (session_id, person))",
        "ALTER TABLE devices ADD COLUMN person TEXT NOT NULL DEFAULT ''",
    ):
        db.execute(statement)


def sessions_are_reviewed(db: sqlite3.Connection) -> None:
    """Second opinions: which session reviewed which, and what it said."""
    for statement in (
        "CREATE TABLE reviews (id TEXT PRIMARY KEY, session_id TEXT NOT NULL, by_session TEXT NOT NULL,"
        " at REAL NOT NULL, running INTEGER NOT NULL, row BLOB NOT NULL)",
        "CREATE INDEX reviews_session ON reviews (session_id)",
        "CREATE INDEX reviews_by_session ON reviews (by_session)",
        "CREATE INDEX reviews_running ON reviews (at) WHERE running = 1",
    ):
        db.execute(statement)


MIGRATIONS: tuple[Migration, ...] = (
    first_layout,
    people_are_told,
    facts_are_chained,
    devices_have_scopes,
    changed_settings_are_facts,
    sessions_have_queues,
    persons_and_passkeys,
    sessions_are_reviewed,
)


def connect(path: Path) -> sqlite3.Connection:
    """A connection for one thread at a time; transactions are begun and ended by hand."""
    db = sqlite3.connect(path, timeout=PATIENCE, isolation_level=None, check_same_thread=False)
    db.execute("PRAGMA synchronous = FULL")
    teach(db)
    return db


def prepare(path: Path, steps: Sequence[Migration] = MIGRATIONS) -> sqlite3.Connection:
    """The file at `path`, made if missing, at the newest version, in WAL mode; or a StoreProblem."""
    try:
        _private(path)
        db = connect(path)
    except (OSError, sqlite3.Error) as error:
        raise explained(path, error) from error
    try:
        _bring_up_to_date(db, path, steps)
    except BaseException as error:
        db.close()
        if isinstance(error, sqlite3.Error | OSError):
            raise explained(path, error) from error
        raise
    return db


def _bring_up_to_date(db: sqlite3.Connection, path: Path, steps: Sequence[Migration]) -> None:
    version: int = db.execute("PRAGMA user_version").fetchone()[0]
    tables: int = db.execute("SELECT count(*) FROM sqlite_schema").fetchone()[0]
    if version > len(steps):
        raise StoreProblem(
            f"{path} was made by a newer yourcall; this one knows layout {len(steps)}, the file has {version}. "
            "Install the newer version again, or start this one with another home (--home)."
        )
    if version == 0 and tables:
        raise StoreProblem(f"{path} is another program's database, not yourcall's. Move it away, or use --home.")
    if version == 0:
        db.execute("PRAGMA auto_vacuum = INCREMENTAL")  # so that pruning gives space back; only an empty file can
    mode: str = db.execute("PRAGMA journal_mode = WAL").fetchone()[0]
    if mode != "wal":
        raise StoreProblem(f"{path} lies on a disk without shared memory; choose a local disk with --home.")
    # What was pruned is somebody's commands and files: overwrite it, do not only unlink it.
    db.execute("PRAGMA secure_delete = ON")
    if version == len(steps):
        return
    copy = _copied(db, path, version) if version else None
    try:
        _migrate(db, steps, version)
    except Exception as error:
        if copy is None:
            raise
        raise StoreProblem(
            f"{path} could not be brought from layout {version} to {len(steps)}: {error}. It was left as it was, "
            f"and {copy.name} is a copy of it. Start the version you had before, and please report this."
        ) from error


def _migrate(db: sqlite3.Connection, steps: Sequence[Migration], version: int) -> None:
    db.execute("BEGIN IMMEDIATE")
    try:
        for step in steps[version:]:
            step(db)
        db.execute(f"PRAGMA user_version = {len(steps)}")
        db.execute("COMMIT")
    except BaseException:
        if db.in_transaction:
            db.execute("ROLLBACK")
        raise


def _private(path: Path) -> None:
    """The file is there and only its owner reads it; SQLite gives -wal and -shm the same mode."""
    path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    os.close(os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600))
    path.chmod(0o600)


def _copied(db: sqlite3.Connection, path: Path, version: int) -> Path:
    """A whole copy of the file as it is now, WAL included; it gets its name only when it is on disk."""
    copy = path.with_name(f"{path.name}.v{version}.bak")
    unfinished = path.with_name(f"{path.name}.v{version}.part")
    unfinished.unlink(missing_ok=True)
    _private(unfinished)
    with contextlib.closing(sqlite3.connect(unfinished)) as target:
        db.backup(target)
    descriptor = os.open(unfinished, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
    unfinished.replace(copy)
    return copy
