"""Retention: what is over and old goes, with everything the log says about it.

Rule: nothing live is touched, and after each batch the replay of what remains equals the rows that remain.
A prompt depends on its own facts and on the end of its session only, so those go and stay together. A session's
row also depends on prompts that may be gone; where it stays, one fact at the end of the log states it as it is.
"""

from __future__ import annotations

from yourcall.model.events import SessionEnded, SessionSeen
from yourcall.store.facts import EVENT, PUT_FACT, SESSION, encode
from yourcall.store.writer import Transaction

# How much goes in one transaction: an answer that arrives meanwhile waits for one batch (measured: 2 ms, p99 16).
BATCH = 50
PAGES = 256

OLD_PROMPTS = "SELECT id, session_id FROM prompts WHERE live = 0 AND closed_at < ? ORDER BY closed_at LIMIT ?"
OLD_SESSIONS = (
    "SELECT id FROM sessions WHERE live = 0 AND at < ?"
    " AND NOT EXISTS (SELECT 1 FROM prompts WHERE prompts.session_id = sessions.id) LIMIT ?"
)
OLD_BODIES = (
    "SELECT id FROM bodies WHERE at < ?"
    " AND NOT EXISTS (SELECT 1 FROM prompts WHERE prompts.request = bodies.id) LIMIT ?"
)

# A prompt and a session could bear the same id; the kind of a fact tells whose it is.
_OF_PROMPT = "DELETE FROM log WHERE subject = ? AND kind NOT IN ('SessionSeen', 'SessionEnded', 'SettingsChanged')"
_OF_SESSION = "DELETE FROM log WHERE subject = ? AND kind IN ('SessionSeen', 'SessionEnded')"
_SESSION_FACTS = (
    "SELECT seq, fact FROM log WHERE subject = ? AND kind IN ('SessionSeen', 'SessionEnded') ORDER BY seq"
)


def prune_prompts(tx: Transaction, before: float) -> int:
    """One batch of settled prompts that closed before then; how many."""
    old: list[tuple[str, str]] = tx.db.execute(OLD_PROMPTS, (before, BATCH)).fetchall()
    if old:
        _keep_seq(tx)
    for prompt_id, _ in old:
        tx.db.execute(_OF_PROMPT, (prompt_id,))
        tx.db.execute("DELETE FROM prompts WHERE id = ?", (prompt_id,))
    for session_id in sorted({session_id for _, session_id in old}):
        _restate(tx, session_id)
    return len(old)


def prune_sessions(tx: Transaction, before: float) -> int:
    """One batch of ended sessions that no prompt belongs to any more."""
    old: list[tuple[str]] = tx.db.execute(OLD_SESSIONS, (before, BATCH)).fetchall()
    if old:
        _keep_seq(tx)
    for (session_id,) in old:
        tx.db.execute(_OF_SESSION, (session_id,))
        tx.db.execute("DELETE FROM sessions WHERE id = ?", (session_id,))
        tx.db.execute("DELETE FROM queues WHERE session_id = ?", (session_id,))
        tx.db.execute("DELETE FROM reviews WHERE session_id = ?", (session_id,))
    return len(old)


def prune_bodies(tx: Transaction, before: float) -> int:
    """One batch of old bodies that no prompt asks for."""
    old: list[tuple[str]] = tx.db.execute(OLD_BODIES, (before, BATCH)).fetchall()
    tx.db.executemany("DELETE FROM bodies WHERE id = ?", old)
    return len(old)


def give_back(tx: Transaction) -> int:
    """Return some free pages to the file system; how many went."""
    before = tx.db.execute("PRAGMA freelist_count").fetchone()[0]
    tx.db.execute(f"PRAGMA incremental_vacuum({PAGES})").fetchall()
    return before - tx.db.execute("PRAGMA freelist_count").fetchone()[0]


def _restate(tx: Transaction, session_id: str) -> None:
    value = tx.db.execute("SELECT at, row FROM sessions WHERE id = ?", (session_id,)).fetchone()
    prompts = tx.db.execute("SELECT 1 FROM prompts WHERE session_id = ? LIMIT 1", (session_id,)).fetchone()
    if value is None:
        if prompts is None:
            tx.db.execute(_OF_SESSION, (session_id,))
        return
    if prompts is None:
        tx.db.execute(_OF_SESSION, (session_id,))
    else:
        _keep_ends(tx, session_id)
    at: float = value[0]
    fact = encode(SessionSeen(at, SESSION.decode(value[1])))
    # The row did not change, so it keeps its seq and no client hears of it.
    tx.db.execute(PUT_FACT, (tx.next_seq(), at, "SessionSeen", session_id, fact))


def _keep_ends(tx: Transaction, session_id: str) -> None:
    """Of a session's facts, leave only its ends: they may be what ended a prompt that stays."""
    facts: list[tuple[int, bytes]] = tx.db.execute(_SESSION_FACTS, (session_id,)).fetchall()
    alive = False
    for seq, data in facts:
        event = EVENT.decode(data)
        if isinstance(event, SessionSeen):
            tx.db.execute("DELETE FROM log WHERE seq = ?", (seq,))
            over = event.session.state == "ended"
            if over and alive:
                # Seen as ended: without the row it was said of, only the plain word means the same.
                fact = encode(SessionEnded(event.at, session_id))
                tx.db.execute(PUT_FACT, (seq, event.at, "SessionEnded", session_id, fact))
            alive = not over
        else:
            alive = False


def _keep_seq(tx: Transaction) -> None:
    """A seq is never given twice, even when the newest facts are the ones that go."""
    tx.db.execute("INSERT OR REPLACE INTO meta VALUES ('seq', ?)", (tx.seq,))
