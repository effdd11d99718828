"""The backend watch for all caches, and the revision that they have reached.

Mirrors apiserver pkg/storage/cacher: lister_watcher.go, progress/watch_progress.go and waitUntilFreshLocked.
"""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Callable, Collection, Sequence
from typing import Final, Protocol

from apiext.base.meta import errors
from apiext.base.meta.log import get_logger
from apiext.base.scheduling.backoff import Backoff
from apiext.base.scheduling.tasks import end_tasks
from apiext.storage.backend import (
    Backend,
    BackendError,
    BackendEvent,
    CompactedError,
    HistoryLostError,
    ProgressUnreliableError,
    WatchBatch,
)

MAX_WAIT: Final = 3.0
"""Seconds that a read waits for the caches to reach a revision."""
PROGRESS_AFTER_SECONDS: Final = 0.005
"""Seconds that a reader waits for a revision until progress is requested."""
PROGRESS_INTERVAL_SECONDS: Final = 0.1
"""Seconds between two requests while readers wait."""
IDLE_PROGRESS_SECONDS: Final = 60.0
"""Seconds without a new revision until progress is requested for no reader. etcd reports it by itself every 10 minutes only."""
MIN_RETRY_SECONDS: Final = 0.2
MAX_RETRY_SECONDS: Final = 5.0
"""Pauses after a failed list or watch: the first one, and the longest."""
_CHUNK_EVENTS: Final = 64

_LOG: Final = get_logger(__name__)


class FeedFollower(Protocol):
    """A cache that follows the feed."""

    def apply(self, events: Sequence[BackendEvent]) -> None:
        """Apply changes in order. Ignore repeated ones, which come after a restart."""
        ...

    async def reload(self, revision: int, *, anew: bool = False) -> None:
        """Replace lost changes by a list at a revision. `anew`: the store's data was replaced, and no changes lead to it.

        Raises:
            BackendError: the backend does not answer.
        """
        ...


ChangeObserver = Callable[[Collection[str]], None]
"""Called with the key prefixes of changed resources, those of resources with a group. Called with none if changes may have been lost."""


class BackendFeed:
    """Watches a key prefix. Delivers each change to the follower of its resource, and tracks the revision."""

    def __init__(self, *, backend: Backend, root: str, max_wait: float = MAX_WAIT) -> None:
        self._backend = backend
        self._root = root
        self._max_wait = max_wait
        self._followers: dict[str, FeedFollower] = {}
        self._observers: list[ChangeObserver] = []
        self._taps: list[FeedFollower] = []
        self._waiting: dict[asyncio.Future[None], int] = {}
        self._progress: asyncio.Task[None] | None = None
        self._idle_progress: asyncio.Task[None] | None = None
        self._task: asyncio.Task[None] | None = None
        self._started: asyncio.Future[None] | None = None
        self._backoff = Backoff(MIN_RETRY_SECONDS, MAX_RETRY_SECONDS)
        self.on_lost: Callable[[str], None] = lambda _reason: None
        """Called with the reason when the watch finds that the store's data was replaced."""
        self.revision = 0
        """Every change up to this revision was delivered."""

    async def start(self) -> None:
        """Start the watch. Return once the first revision is known.

        Raises:
            BackendError: the backend does not answer.
        """
        loop = asyncio.get_running_loop()
        self._started = loop.create_future()
        self._task = loop.create_task(self._run())
        await self._started
        self._idle_progress = loop.create_task(self._ask_while_idle())

    async def close(self) -> None:
        """Stop, and cancel the waiting readers."""
        tasks = [task for task in (self._task, self._progress, self._idle_progress) if task is not None]
        await end_tasks(*tasks)
        for waiter in self._waiting:
            waiter.cancel()

    def follow(self, prefix: str, follower: FeedFollower) -> None:
        """Deliver later changes below a resource's prefix to a follower."""
        self._followers[prefix] = follower

    def unfollow(self, prefix: str, follower: FeedFollower) -> None:
        """Stop delivering to a follower, unless another one has replaced it."""
        if self._followers.get(prefix) is follower:
            del self._followers[prefix]

    def tap(self, follower: FeedFollower) -> Callable[[], None]:
        """Deliver all later changes to a follower too. Return a function that ends this."""
        self._taps.append(follower)
        return lambda: self._taps.remove(follower)

    def observe(self, observer: ChangeObserver) -> Callable[[], None]:
        """Call an observer after each later change, once the followers have it. Return a function that ends this."""
        self._observers.append(observer)

        def end() -> None:
            if observer in self._observers:
                self._observers.remove(observer)

        return end

    async def _run(self) -> None:
        """Watch until cancelled. Resume after a failure, reload the followers after a compaction."""
        while True:
            try:
                await self._follow()
                why = "ended"
            except CompactedError as error:
                is_lost = isinstance(error, HistoryLostError)
                if isinstance(error, HistoryLostError) and not error.is_known:
                    self.on_lost(str(error))
                await self._catch_up(anew=is_lost)
                continue
            except BackendError as error:
                if self._started is not None and not self._started.done():
                    self._started.set_exception(error)
                    return
                why = str(error)
            except Exception:  # noqa: BLE001 - see below
                # without progress of the caches, reads use the backend
                _LOG.exception("watch event processing failed, retrying", revision=self.revision)
                why = "failed"
            _LOG.warning("store watch disconnected, retrying", why=why, revision=self.revision, retry_after=self._backoff.next)
            await self._backoff.pause()

    async def _follow(self) -> None:
        start = self.revision + 1 if self.revision else 0
        async with contextlib.aclosing(self._backend.watch(self._root, start=start)) as batches:
            async for batch in batches:
                await self._take(batch)
                self._backoff.reset()

    async def _take(self, batch: WatchBatch) -> None:
        events = batch.events
        first = 0
        while len(events) - first > _CHUNK_EVENTS:
            end = first + _CHUNK_EVENTS
            # deliver all changes of a revision together
            while end < len(events) and events[end].revision == events[end - 1].revision:
                end += 1
            self._deliver(events[first:end])
            self._advance(events[end - 1].revision)
            first = end
            await asyncio.sleep(0)
        self._deliver(events[first:] if first else events)
        self._advance(batch.revision)

    def _deliver(self, events: Sequence[BackendEvent]) -> None:
        shares: dict[FeedFollower, list[BackendEvent]] = {}
        for event in events:
            follower = self._follower(event.key)
            if follower is not None:
                shares.setdefault(follower, []).append(event)
        for follower, share in shares.items():
            follower.apply(share)
        for tap in self._taps:
            tap.apply(events)
        if self._observers and events:
            self._report({event.key[: self._ends(event.key)[1]] for event in events})

    def _report(self, prefixes: Collection[str]) -> None:
        for observer in tuple(self._observers):
            observer(prefixes)

    def _follower(self, key: str) -> FeedFollower | None:
        """Return the follower for a key below the group's name, or below the root for the core group."""
        first, second = self._ends(key)
        return self._followers.get(key[:second]) or self._followers.get(key[:first])

    def _ends(self, key: str) -> tuple[int, int]:
        """Return the lengths of the first segment of a key and of its first two segments, after the root."""
        first = key.find("/", len(self._root)) + 1
        return first, key.find("/", first) + 1

    def _advance(self, revision: int) -> None:
        self.revision = max(self.revision, revision)
        if self._started is not None and not self._started.done():
            self._started.set_result(None)
        if self._waiting:
            for waiter in [waiter for waiter, wanted in self._waiting.items() if wanted <= self.revision]:
                del self._waiting[waiter]
                if not waiter.done():
                    waiter.set_result(None)

    async def _catch_up(self, *, anew: bool) -> None:
        """Reload every follower at one revision."""
        while True:
            try:
                revision = await self._backend.revision()
                _LOG.warning("store watch compacted, relisting", after=self.revision, up_to=revision)
                for follower in (*self._followers.values(), *self._taps):
                    await follower.reload(revision, anew=anew)
                self._report(())
            except BackendError as error:
                _LOG.warning("store list failed, retrying", error=str(error), retry_after=MIN_RETRY_SECONDS)
                await asyncio.sleep(MIN_RETRY_SECONDS)
            except Exception:  # noqa: BLE001 - as in _run: the feed must go on
                _LOG.exception("store list processing failed, retrying", revision=self.revision)
                await asyncio.sleep(MIN_RETRY_SECONDS)
            else:
                if anew:
                    self.revision = revision
                self._advance(revision)
                return

    async def wait(self, revision: int) -> None:
        """Wait until a revision is reached.

        Raises:
            StatusError: 504 if this takes longer than the limit.
            ProgressUnreliableError: no event has reached it soon, and the store does not report progress reliably.
        """
        if revision <= self.revision:
            return
        waiter: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._waiting[waiter] = revision
        if self._progress is None:
            self._progress = asyncio.get_running_loop().create_task(self._ask_for_progress())
        try:
            async with asyncio.timeout(self._max_wait):
                await waiter
        except TimeoutError as error:
            raise errors.too_large_resource_version(revision, self.revision) from error
        finally:
            self._waiting.pop(waiter, None)

    def _refuse(self, error: ProgressUnreliableError) -> None:
        """Fail the waits: their readers use the backend instead."""
        waiters, self._waiting = self._waiting, {}
        for waiter in waiters:
            if not waiter.done():
                waiter.set_exception(ProgressUnreliableError(*error.args))

    async def _ask_for_progress(self) -> None:
        """Request progress while readers wait: writes outside the prefix cause no event."""
        try:
            # events of writes inside the prefix usually arrive sooner
            await asyncio.sleep(PROGRESS_AFTER_SECONDS)
            while self._waiting:
                try:
                    await self._backend.request_progress()
                except ProgressUnreliableError as error:
                    self._refuse(error)
                    return
                except BackendError as error:
                    _LOG.warning("store progress request failed, retrying", error=str(error))
                await asyncio.sleep(PROGRESS_INTERVAL_SECONDS)
        finally:
            self._progress = None

    async def _ask_while_idle(self) -> None:
        """Request progress now and then: without it bookmarks stay behind writes outside the prefix, until their revision is compacted."""
        while True:
            before = self.revision
            await asyncio.sleep(IDLE_PROGRESS_SECONDS)
            if self.revision == before:
                with contextlib.suppress(BackendError):
                    await self._backend.request_progress()
