"""One thread that writes: everything queued while a commit runs goes into the next transaction.

What somebody waits for is written on their own thread if nothing is queued: to change threads, and back, takes
as long as the disk.

Rule: a future is resolved only when its transaction is on disk (WAL, synchronous=FULL), in the order of the
queue. What was queued is written even if the one who queued it no longer waits.
"""

from __future__ import annotations

import sqlite3
import threading
from collections.abc import Callable, Sequence
from concurrent.futures import Future
from pathlib import Path
from queue import Empty, SimpleQueue
from typing import Any, TypeVar

from yourcall.store.problem import StoreProblem, explained

T = TypeVar("T")


class Transaction:
    """What one piece of work gets: the connection, inside a transaction, and the next seq."""

    def __init__(self, db: sqlite3.Connection, seq: int) -> None:
        self.db = db
        self.seq = seq

    def next_seq(self) -> int:
        self.seq += 1
        return self.seq


Work = Callable[[Transaction], T]
_Job = tuple[Work[Any], "Future[Any]"]


class Writer:
    def __init__(self, db: sqlite3.Connection, path: Path, last_seq: int) -> None:
        self.last_seq = last_seq  # as on disk
        self._db = db
        self._path = path
        self._queue: SimpleQueue[_Job | None] = SimpleQueue()
        self._gate = threading.Lock()
        self._working = threading.Lock()  # held for one transaction
        self._undone = 0  # how many were queued and are not on disk
        self._closed = False
        # A daemon thread: an exit without `close` must not hang; nothing acknowledged can be lost by it.
        self._thread = threading.Thread(target=self._run, name="yourcall-store", daemon=True)
        self._thread.start()

    def submit(self, work: Work[T]) -> Future[T]:
        """Queue this work; it runs on the writer's thread, alone or with others, in one transaction."""
        future: Future[T] = Future()
        future.set_running_or_notify_cancel()  # from here on nobody can cancel it: it will be written
        with self._gate:
            self._must_be_open()
            self._undone += 1
            self._queue.put((work, future))
        return future

    def at_once(self, work: Work[T]) -> Future[T]:
        """The same, here and now, unless others are before us: then it is queued behind them."""
        with self._gate:
            self._must_be_open()
            if here := self._undone == 0:
                self._working.acquire()
        if not here:
            return self.submit(work)
        future: Future[T] = Future()
        try:
            self._commit([(work, future)])
        finally:
            self._working.release()
        return future

    @property
    def busy(self) -> bool:
        return self._undone > 0

    def _must_be_open(self) -> None:
        if self._closed:
            raise StoreProblem("The database is closed: yourcall is stopping. Try again when it runs.")

    def close(self) -> None:
        """Write what is queued, then end the thread and the connection. Calling it again does nothing."""
        with self._gate:
            if not self._closed:
                self._closed = True
                self._queue.put(None)
        self._thread.join()
        self._db.close()

    def _run(self) -> None:
        going = True
        while going:
            jobs: list[_Job] = []
            job = self._queue.get()
            try:
                while job is not None:
                    jobs.append(job)
                    job = self._queue.get_nowait()
                going = False
            except Empty:
                pass
            if jobs:
                with self._working:
                    self._commit(jobs)
                with self._gate:
                    self._undone -= len(jobs)

    def _commit(self, jobs: Sequence[_Job]) -> None:
        try:
            results = self._transact([work for work, _ in jobs])
        except Exception as error:
            if len(jobs) > 1:
                # One bad piece of work must not take its neighbours with it: each gets its own transaction.
                for job in jobs:
                    self._commit([job])
                return
            if isinstance(error, sqlite3.Error) and not isinstance(error, sqlite3.IntegrityError):
                error = explained(self._path, error)
            jobs[0][1].set_exception(error)
            return
        for (_, future), result in zip(jobs, results, strict=True):
            future.set_result(result)

    def _transact(self, works: Sequence[Work[Any]]) -> list[Any]:
        self._db.execute("BEGIN IMMEDIATE")
        try:
            inside = Transaction(self._db, self.last_seq)
            results = [work(inside) for work in works]
            self._db.execute("COMMIT")
        except BaseException:
            if self._db.in_transaction:
                self._db.execute("ROLLBACK")
            raise
        self.last_seq = inside.seq
        return results
