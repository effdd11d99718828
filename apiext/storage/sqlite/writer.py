"""Group commit: writes that arrive during the sync of a transaction share the next one."""

from __future__ import annotations

import asyncio
import queue
import sqlite3
import threading
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from typing import Any, Final

from apiext.base.meta.limits import MAX_ETCD_MESSAGE_BYTES, MAX_STORED_BYTES, MAX_STORED_GROWTH_BYTES
from apiext.storage.backend import BackendError, BackendEvent, Guard, KeyValue, UnavailableError, ValueTooLargeError, WriteResult
from apiext.storage.backends.transaction import value_too_large
from apiext.storage.sqlite import schema
from apiext.storage.sqlite.errors import StoreLostError, may_be_stored, not_stored, translate

_MAX_BATCH_WRITES: Final = 128
_MAX_BATCH_BYTES: Final = 1 << 20
"""Limits of one transaction. Its statements run on the event loop, some 13 microseconds for a write of 2 KB."""
_LOCKED_RETRY_SECONDS: Final = 0.01

_Outcome = tuple[asyncio.Future[WriteResult], WriteResult | BackendError]

Job = Callable[[sqlite3.Connection], None]
"""A change that is not a write (compaction). It runs in the worker's thread, in its own transaction."""


@dataclass(frozen=True, slots=True)
class Write:
    """A write on condition that the key has the expected revision (0: absent)."""

    key: str
    value: bytes | None
    """The new value; None to delete the key."""
    expected: int
    guard: Guard | None = None


def apply(connection: sqlite3.Connection, write: Write, latest: int) -> tuple[WriteResult, BackendEvent | None]:
    """Perform the write at the revision after `latest` if its conditions hold. Return the result and the event for watchers.

    The conditions see the earlier writes of the same transaction.

    Raises:
        sqlite3.Error: a statement failed.
        UnicodeError: the key is not valid Unicode.
        ValueTooLargeError: the value exceeds the limit. The message is etcd's, or that of the reference's etcd client.
    """
    key, value, guard = write.key, write.value, write.guard
    row = connection.execute(schema.GET, (key,)).fetchone()
    found = None if row is None else KeyValue(key, row[1], row[0])
    existing = 0 if found is None else found.revision
    if existing != write.expected or (found is None and value is None):
        return WriteResult(False, latest, found), None  # noqa: FBT003 -- field order of the result
    if guard is not None:
        row = connection.execute(schema.GET_REVISION, (guard.key,)).fetchone()
        if (0 if row is None else row[0]) != guard.expected:
            return WriteResult(False, latest, None, guard_failed=True), None  # noqa: FBT003 -- field order of the result
    if value is not None and len(value) > _longest(found):
        raise value_too_large(key, value, existing, MAX_ETCD_MESSAGE_BYTES)
    revision = latest + 1
    connection.execute(schema.APPEND, (revision, key, existing, value is not None, value))
    if value is None:
        connection.execute(schema.REMOVE, (key,))
    else:
        connection.execute(schema.UPDATE if existing else schema.INSERT, (revision, key))
    return WriteResult(True, revision, None), BackendEvent(key, revision, value, found)  # noqa: FBT003


def _longest(found: KeyValue | None) -> int:
    """Return the maximum bytes of a new value. It may slightly exceed an oversized value from an older version."""
    size = 0 if found is None else len(found.value)
    return size + MAX_STORED_GROWTH_BYTES if size > MAX_STORED_BYTES else MAX_STORED_BYTES


class GroupCommitWriter:
    """Performs all changes of the store, in transactions of many writes.

    Statements run on the event loop, where they only change pages in memory. The commit waits for the disk in the worker's thread, so
    the event loop never does. Statements in that thread would have to reacquire the GIL one by one. One of the two threads uses the
    connection at a time: the worker while `_busy`.
    """

    def __init__(
        self,
        connection: sqlite3.Connection,
        *,
        revision: int,
        deadline: float,
        on_commit: Callable[[Sequence[BackendEvent], int], None],
        verify: Callable[[], None] = lambda: None,
    ) -> None:
        """Start the worker.

        `verify` runs after each commit in the worker's thread, and raises BackendError if a restart would lose the transaction.
        `on_commit` runs on the event loop after each committed transaction with changes, before its writes return or fail.
        `deadline` limits a transaction, in seconds. After it, the transaction's writes and all queued ones fail.
        """
        self._connection = connection
        self._revision = revision
        self._deadline = deadline
        self._on_commit = on_commit
        self._verify = verify
        self.failure: Exception | None = None
        """Why the last transaction failed; None after a successful one."""
        self._lost: StoreLostError | None = None
        """Why no write can be kept any more, until the server starts again."""
        self._loop = asyncio.get_running_loop()
        self._worker = _WorkerThread("apiext-sqlite")
        self._writes: deque[tuple[Write, asyncio.Future[WriteResult]]] = deque()
        self._jobs: deque[tuple[Job, asyncio.Future[None]]] = deque()
        self._in_transaction: Sequence[asyncio.Future[Any]] = ()
        self._deadline_timer: asyncio.TimerHandle | None = None
        self._busy = False
        self._idle: asyncio.Future[None] | None = None
        self._closed = False

    @property
    def settled_revision(self) -> int | None:
        """Return the revision of the last transaction, None while another one is under way."""
        return None if self._busy else self._revision

    def write(self, write: Write) -> asyncio.Future[WriteResult]:
        """Queue a write for the next transaction. The future gets the result once the write is on disk.

        Raises:
            UnavailableError: (by the future) the transaction failed, or did not end in time and may still commit.
        """
        future: asyncio.Future[WriteResult] = self._loop.create_future()
        if self._closed or self._lost is not None:
            future.set_exception(not_stored(self._lost) if self._lost is not None else UnavailableError("the store is closed"))
            return future
        if not self._writes and not self._busy:
            # Deferred: other writes of this iteration of the event loop then share the transaction.
            self._loop.call_soon(self._next)
        self._writes.append((write, future))
        return future

    def run(self, job: Job) -> asyncio.Future[None]:
        """Queue a job to run between two transactions of writes.

        Raises:
            UnavailableError: (by the future) the transaction failed or did not end in time.
        """
        future: asyncio.Future[None] = self._loop.create_future()
        if self._closed or self._lost is not None:
            future.set_exception(self._lost or UnavailableError("the store is closed"))
            return future
        self._jobs.append((job, future))
        if not self._busy:
            self._loop.call_soon(self._next)
        return future

    async def close(self, last: Callable[[], None]) -> None:
        """Finish all queued writes and jobs, call `last` in the worker's thread, and end the thread.

        Raises:
            UnavailableError: they did not end in time. The thread continues until the disk answers.
        """
        self._closed = True
        finished: asyncio.Future[None] = self._loop.create_future()
        try:
            async with asyncio.timeout(self._deadline):
                while self._busy or self._writes or self._jobs:
                    self._idle = self._loop.create_future()
                    self._loop.call_soon(self._next)
                    await self._idle
                self._worker.run(last, lambda failure: _set_outcome(finished, failure))
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
            with _rollback_on_error(connection):
                job(connection)
                connection.execute("COMMIT")
                self._verify()

        def done(failure: Exception | None) -> None:
            self._free()
            self._note(failure)
            _set_outcome(future, failure)
            # Queued writes run before the next job: a series of jobs does not delay them.
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
        outcomes: list[_Outcome] = []
        events: list[BackendEvent] = []
        try:
            (latest,) = connection.execute(schema.REVISION).fetchone()
            if (latest or schema.FIRST_REVISION) != self._revision:
                self._refuse_batch()
                return
            revision = self._apply_batch(outcomes, events)
        except sqlite3.Error as error:
            self._end(outcomes, error)
            return
        if not events:  # no condition held: no commit to wait for
            self._end(outcomes, None)
            return

        def call() -> None:
            with _rollback_on_error(connection):
                connection.execute("COMMIT")
                self._verify()

        def done(failure: Exception | None) -> None:
            self._free()
            self._note(failure)
            # readers see a transaction whose file is lost, too: watches must not miss it
            if failure is None or isinstance(failure, StoreLostError):
                self._revision = revision
                self._on_commit(events, revision)
            self._set_outcomes(outcomes, failure and _uncertain(failure))
            self._next()

        self._occupy([future for future, _ in outcomes])
        self._worker.run(call, done)

    def _refuse_batch(self) -> None:
        """Fail the queued writes: another program has written to the file, so the conditions of the writes are those of other data."""
        error = UnavailableError("the store's data was replaced; nothing was written")
        refused = [(future, error) for _, future in self._writes]
        self._writes.clear()
        self._end(refused, None)

    def _note(self, failure: Exception | None) -> None:
        """Remember the outcome of a transaction. If the file is lost, fail all queued writes and jobs."""
        self.failure = failure
        if isinstance(failure, StoreLostError):
            self._lost = failure
            self._refuse_waiting(not_stored(failure))

    def _refuse_waiting(self, failure: BackendError) -> None:
        """Fail all queued writes and jobs."""
        waiting: list[asyncio.Future[Any]] = [*(future for _, future in self._writes), *(future for _, future in self._jobs)]
        self._writes.clear()
        self._jobs.clear()
        for future in waiting:
            _set_outcome(future, failure)

    def _end(self, outcomes: Sequence[_Outcome], failure: sqlite3.Error | None) -> None:
        """End a transaction without changes."""
        self.failure = failure or self.failure
        _rollback(self._connection)
        self._free()
        self._set_outcomes(outcomes, failure)
        self._loop.call_soon(self._next)

    def _apply_batch(
        self,
        outcomes: list[_Outcome],
        events: list[BackendEvent],
    ) -> int:
        """Apply queued writes. Return the revision after them. `outcomes` has an entry for each dequeued write even after an error.

        Raises:
            sqlite3.Error: a statement failed.
        """
        revision, size = self._revision, 0
        while self._writes and len(outcomes) < _MAX_BATCH_WRITES and size < _MAX_BATCH_BYTES:
            write, future = self._writes.popleft()
            if future.done():  # cancelled
                continue
            outcomes.append((future, UnavailableError("the write was not done")))
            try:
                result, event = apply(self._connection, write, revision)
            except ValueTooLargeError as error:
                outcomes[-1] = (future, error)
                continue
            except UnicodeError as error:
                outcomes[-1] = (future, translate(error))
                continue
            outcomes[-1] = (future, result)
            if event is not None:
                revision = event.revision
                size += event.size
                events.append(event)
        return revision

    def _begin_failed(self, error: sqlite3.Error) -> None:
        """Retry until the deadline while another program (a backup, the sqlite3 shell) locks the file. Then fail the queued writes."""
        if getattr(error, "sqlite_errorcode", 0) & 0xFF != sqlite3.SQLITE_BUSY:
            failed = [(future, translate(error)) for _, future in self._writes]
            self._writes.clear()
            self._end(failed, error)
            return
        if self._deadline_timer is None:
            self._deadline_timer = self._loop.call_later(self._deadline, self._expire)
        self._busy = True
        self._loop.call_later(_LOCKED_RETRY_SECONDS, self._retry)

    def _retry(self) -> None:
        self._busy = False
        self._next()

    def _occupy(self, futures: Sequence[asyncio.Future[Any]]) -> None:
        self._busy = True
        self._in_transaction = futures
        if self._deadline_timer is None:
            self._deadline_timer = self._loop.call_later(self._deadline, self._expire)

    def _free(self) -> None:
        self._busy = False
        self._in_transaction = ()
        if self._deadline_timer is not None:
            self._deadline_timer.cancel()
            self._deadline_timer = None

    def _expire(self) -> None:
        """Fail all waiting writes and jobs: the disk does not answer. The worker keeps the connection until it does."""
        self._deadline_timer = None
        self.failure = UnavailableError(f"the store's file did not take a write within {self._deadline:g} s")
        late = UnavailableError(f"the store's file did not take the write within {self._deadline:g} s")
        for begun in self._in_transaction:
            _set_outcome(begun, may_be_stored(late))
        self._refuse_waiting(not_stored(late))

    def _set_outcomes(
        self,
        outcomes: Sequence[_Outcome],
        failure: Exception | None,
    ) -> None:
        for future, outcome in outcomes:
            if failure is not None or isinstance(outcome, BackendError):
                _set_outcome(future, failure or outcome)  # type: ignore[arg-type] # one of the two is an exception
            elif not future.done():
                future.set_result(outcome)


def _uncertain(failure: Exception) -> Exception:
    """Return the error of writes whose commit failed. A failed sync, unlike a full disk, may leave them in the log for a restart."""
    if isinstance(failure, sqlite3.Error) and getattr(failure, "sqlite_errorcode", 0) & 0xFF == sqlite3.SQLITE_IOERR:
        error = translate(failure)
        error.__cause__ = failure
        return may_be_stored(error)
    return may_be_stored(failure) if isinstance(failure, BackendError) else failure


def _set_outcome(future: asyncio.Future[Any], failure: Exception | None) -> None:
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
def _rollback_on_error(connection: sqlite3.Connection) -> Iterator[None]:
    try:
        yield
    except sqlite3.Error:
        _rollback(connection)
        raise


def _rollback(connection: sqlite3.Connection) -> None:
    if connection.in_transaction:
        connection.execute("ROLLBACK")


class _WorkerThread:
    """Runs calls one after another in a thread, and reports each outcome to the event loop.

    Cheaper than an executor: a call needs no future, and no lock but the queue's.
    """

    def __init__(self, name: str) -> None:
        self._loop = asyncio.get_running_loop()
        self._calls: queue.SimpleQueue[tuple[Callable[[], None], Callable[[Exception | None], None]] | None]
        self._calls = queue.SimpleQueue()
        self._thread = threading.Thread(target=self._run, name=name, daemon=True)
        self._thread.start()

    def run(self, call: Callable[[], None], done: Callable[[Exception | None], None]) -> None:
        """Queue a call. Then run `done` on the event loop with the exception of the call, or None."""
        self._calls.put((call, done))

    def close(self) -> None:
        """End the thread after the queued calls. Do not wait for it."""
        self._calls.put(None)

    def _run(self) -> None:
        while (item := self._calls.get()) is not None:
            call, done = item
            failure: Exception | None = None
            try:
                call()
            except Exception as error:  # noqa: BLE001 -- passed to `done`
                failure = error
            # The event loop may be closed by now.
            with suppress(RuntimeError):
                self._loop.call_soon_threadsafe(done, failure)
