"""Group commit: writes that arrive while a transaction is being synced share the next one."""

from __future__ import annotations

import asyncio
import sqlite3
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any, Final

from apiext.storage.backend import BackendError, BackendEvent, UnavailableError, WriteResult
from apiext.storage.sqlite.conditional_write import Write, apply
from apiext.storage.sqlite.errors import translate
from apiext.storage.sqlite.worker_thread import Worker

_BATCH: Final = 128
_BATCH_BYTES: Final = 1 << 20
"""Bounds of one transaction: it is put together in the loop's thread, at some 13 microseconds for a write of 2 KB."""
_LOCKED_RETRY: Final = 0.01

_Settled = tuple[asyncio.Future[WriteResult], WriteResult | BackendError]

Job = Callable[[sqlite3.Connection], None]
"""Changes that are not writes (compaction); runs in the worker's thread as a transaction of its own."""


class Writer:
    """The only way to change the store.

    Statements run in the loop's thread, where they only touch pages in memory; the commit, which writes and waits for the
    disk, runs in the worker's thread in one call. So the loop never waits for the disk, and a busy loop does not slow
    down the statements, each of which would have to win the interpreter's lock back.
    The connection belongs to one of the two threads at a time: to the worker while `_busy`.
    """

    def __init__(
        self,
        connection: sqlite3.Connection,
        *,
        revision: int,
        deadline: float,
        committed: Callable[[Sequence[BackendEvent], int], None],
    ) -> None:
        """`committed` is called in the loop for each transaction that changed something, before its writers are told.

        `deadline` (seconds) bounds how long a writer waits for its transaction.
        """
        self._connection = connection
        self._revision = revision
        self._deadline = deadline
        self._committed = committed
        self._loop = asyncio.get_running_loop()
        self._worker = Worker("apiext-sqlite")
        self._writes: deque[tuple[Write, asyncio.Future[WriteResult]]] = deque()
        self._jobs: deque[tuple[Job, asyncio.Future[None]]] = deque()
        self._underway: Sequence[asyncio.Future[Any]] = ()
        self._late: asyncio.TimerHandle | None = None
        self._busy = False
        self._idle: asyncio.Future[None] | None = None
        self._closed = False

    def write(self, write: Write) -> asyncio.Future[WriteResult]:
        """Have a write done in the next transaction; the outcome is there once it is on the disk.

        Raises (by the future):
            UnavailableError: the transaction failed or did not end in time; only in the latter case may it still be done.
        """
        future: asyncio.Future[WriteResult] = self._loop.create_future()
        if self._closed:
            future.set_exception(UnavailableError("the store is closed"))
            return future
        if not self._writes and not self._busy:
            # Not at once, so that whoever else writes in this round of the loop comes along.
            self._loop.call_soon(self._next)
        self._writes.append((write, future))
        return future

    def run(self, job: Job) -> asyncio.Future[None]:
        """Have a job done between two transactions of writes."""
        future: asyncio.Future[None] = self._loop.create_future()
        if self._closed:
            future.set_exception(UnavailableError("the store is closed"))
            return future
        self._jobs.append((job, future))
        if not self._busy:
            self._loop.call_soon(self._next)
        return future

    async def close(self, last: Callable[[], None]) -> None:
        """Do what has been asked for so far, then make the `last` call in the worker's thread, and end it.

        Raises:
            UnavailableError: that did not end in time. The thread is left behind.
        """
        self._closed = True
        finished: asyncio.Future[None] = self._loop.create_future()
        try:
            async with asyncio.timeout(self._deadline):
                while self._busy or self._writes or self._jobs:
                    self._idle = self._loop.create_future()
                    self._loop.call_soon(self._next)
                    await self._idle
                self._worker.run(last, lambda failure: _settle(finished, failure))
                await finished
        except TimeoutError as error:
            raise UnavailableError(f"the store's file could not be closed within {self._deadline:g} s") from error
        finally:
            self._worker.close()

    def _next(self) -> None:
        if self._busy:
            return
        if self._jobs:
            self._run_job(*self._jobs.popleft())
        elif self._writes:
            self._transact()
        elif self._idle is not None and not self._idle.done():
            self._idle.set_result(None)

    def _run_job(self, job: Job, future: asyncio.Future[None]) -> None:
        connection = self._connection

        def call() -> None:
            connection.execute("BEGIN IMMEDIATE")
            with _rolled_back_if_it_fails(connection):
                job(connection)
                connection.execute("COMMIT")

        def done(failure: Exception | None) -> None:
            self._free()
            _settle(future, failure)
            # A job lets the writes that came in the meantime go first, so that many jobs do not hold them up.
            if self._writes:
                self._transact()
            else:
                self._next()

        self._occupy((future,))
        self._worker.run(call, done)

    def _transact(self) -> None:
        connection = self._connection
        try:
            connection.execute("BEGIN IMMEDIATE")
        except sqlite3.Error as error:
            self._begin_failed(error)
            return
        settled: list[_Settled] = []
        events: list[BackendEvent] = []
        try:
            revision = self._apply_batch(settled, events)
        except sqlite3.Error as error:
            self._end(settled, error)
            return
        if not events:  # no condition held: nothing to wait for
            self._end(settled, None)
            return

        def call() -> None:
            with _rolled_back_if_it_fails(connection):
                connection.execute("COMMIT")

        def done(failure: Exception | None) -> None:
            self._free()
            if failure is None:
                self._revision = revision
                self._committed(events, revision)
            self._settle_batch(settled, failure)
            self._next()

        self._occupy([future for future, _ in settled])
        self._worker.run(call, done)

    def _end(self, settled: Sequence[_Settled], failure: sqlite3.Error | None) -> None:
        """End a transaction that changes nothing."""
        _rollback(self._connection)
        self._free()
        self._settle_batch(settled, failure)
        self._loop.call_soon(self._next)

    def _apply_batch(
        self,
        settled: list[_Settled],
        events: list[BackendEvent],
    ) -> int:
        """Take writes off the queue and apply them; the revision after them. What was taken is in `settled`, whatever happens."""
        revision, size = self._revision, 0
        while self._writes and len(settled) < _BATCH and size < _BATCH_BYTES:
            write, future = self._writes.popleft()
            if future.done():  # whoever waited gave up before it began
                continue
            settled.append((future, UnavailableError("the write was not done")))
            try:
                result, event = apply(self._connection, write, revision)
            except UnicodeError as error:
                settled[-1] = (future, translate(error))
                continue
            settled[-1] = (future, result)
            if event is not None:
                revision = event.revision
                size += len(write.value or b"")
                events.append(event)
        return revision

    def _begin_failed(self, error: sqlite3.Error) -> None:
        """Somebody else (a backup, a curious user) has the file locked for a moment: try again until the deadline; else all fail."""
        if getattr(error, "sqlite_errorcode", 0) & 0xFF != sqlite3.SQLITE_BUSY:
            failed = [(future, translate(error)) for _, future in self._writes]
            self._writes.clear()
            self._end(failed, error)
            return
        if self._late is None:
            self._late = self._loop.call_later(self._deadline, self._give_up)
        self._busy = True
        self._loop.call_later(_LOCKED_RETRY, self._retry)

    def _retry(self) -> None:
        self._busy = False
        self._next()

    def _occupy(self, futures: Sequence[asyncio.Future[Any]]) -> None:
        self._busy = True
        self._underway = futures
        if self._late is None:
            self._late = self._loop.call_later(self._deadline, self._give_up)

    def _free(self) -> None:
        self._busy = False
        self._underway = ()
        if self._late is not None:
            self._late.cancel()
            self._late = None

    def _give_up(self) -> None:
        """The disk does not answer: tell everybody who waits. The connection stays with the worker until it does."""
        self._late = None
        waiting = [*self._underway, *(future for _, future in self._writes), *(future for _, future in self._jobs)]
        self._writes.clear()
        self._jobs.clear()
        for future in waiting:
            _settle(future, UnavailableError(f"the store's file did not take the write within {self._deadline:g} s"))

    def _settle_batch(
        self,
        settled: Sequence[_Settled],
        failure: Exception | None,
    ) -> None:
        for future, outcome in settled:
            if failure is not None or isinstance(outcome, BackendError):
                _settle(future, failure or outcome)  # type: ignore[arg-type] # one of the two is an exception
            elif not future.done():
                future.set_result(outcome)


def _settle(future: asyncio.Future[Any], failure: Exception | None) -> None:
    if future.done():
        return
    if failure is None:
        future.set_result(None)
    elif isinstance(failure, BackendError):
        future.set_exception(failure)
    elif isinstance(failure, sqlite3.Error):
        error = translate(failure)
        error.__cause__ = failure
        future.set_exception(error)
    else:
        future.set_exception(failure)


@contextmanager
def _rolled_back_if_it_fails(connection: sqlite3.Connection) -> Iterator[None]:
    try:
        yield
    except sqlite3.Error:
        _rollback(connection)
        raise


def _rollback(connection: sqlite3.Connection) -> None:
    if connection.in_transaction:
        connection.execute("ROLLBACK")
