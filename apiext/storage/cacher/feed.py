"""The one watch of the backend that feeds every cache, and the revision up to which it has told everything.

Mirrors apiserver pkg/storage/cacher: lister_watcher.go, progress/watch_progress.go and waitUntilFreshLocked.
"""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Final, Protocol

from apiext.meta import errors
from apiext.meta.backoff import Backoff
from apiext.meta.log import get_logger
from apiext.meta.tasks import end_tasks
from apiext.storage import streams
from apiext.storage.backend import BackendError, CompactedError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from apiext.storage.backend import Backend, BackendEvent, WatchBatch

MAX_WAIT: Final = 3.0
"""Seconds a read waits for the caches to reach a revision."""
_PROGRESS_AFTER: Final = 0.005
_PROGRESS_INTERVAL: Final = 0.1
_RETRY_AFTER: Final = 0.2
_MAX_RETRY_AFTER: Final = 5.0
_CHUNK: Final = 64

_LOG: Final = get_logger(__name__)


class Follower(Protocol):
    """A cache, as its feed sees it."""

    def apply(self, events: Sequence[BackendEvent]) -> None:
        """Take changes, in order; those it has seen already come again after a new start and are passed over."""
        ...

    async def reload(self, revision: int) -> None:
        """Make up by a list for changes that cannot be had any more. Raises BackendError."""
        ...


class Feed:
    """Follows a key prefix, hands each change to the follower of its resource, and tells how far it is."""

    def __init__(self, *, backend: Backend, root: str, max_wait: float = MAX_WAIT) -> None:
        self._backend = backend
        self._root = root
        self._max_wait = max_wait
        self._followers: dict[str, Follower] = {}
        self._waiting: dict[asyncio.Future[None], int] = {}
        self._progress: asyncio.Task[None] | None = None
        self._task: asyncio.Task[None] | None = None
        self._started: asyncio.Future[None] | None = None
        self._backoff = Backoff(_RETRY_AFTER, _MAX_RETRY_AFTER)
        self.revision = 0
        """Every change up to this revision has reached its follower."""

    async def start(self) -> None:
        """Begin to follow; returns when the first revision is known. Raises BackendError when there is none to be had."""
        loop = asyncio.get_running_loop()
        self._started = loop.create_future()
        self._task = loop.create_task(self._run())
        await self._started

    async def close(self) -> None:
        """Stop; who waits is cancelled."""
        tasks = [task for task in (self._task, self._progress) if task is not None]
        await end_tasks(*tasks)
        for waiter in self._waiting:
            waiter.cancel()

    def follow(self, prefix: str, follower: Follower) -> None:
        """Hand the changes below a resource's prefix to its cache from now on."""
        self._followers[prefix] = follower

    def unfollow(self, prefix: str, follower: Follower) -> None:
        """Stop doing so, unless another cache has taken its place."""
        if self._followers.get(prefix) is follower:
            del self._followers[prefix]

    async def _run(self) -> None:
        """Follow for ever: again from where it was when the backend fails, by lists when the past is gone."""
        while True:
            try:
                await self._follow()
                why = "ended"
            except CompactedError:
                await self._catch_up()
                continue
            except BackendError as error:
                if self._started is not None and not self._started.done():
                    self._started.set_exception(error)
                    return
                why = str(error)
            except Exception:  # noqa: BLE001 - see below
                # reads that find the caches standing still go to the backend; none is answered wrongly
                _LOG.exception("a change could not be taken", revision=self.revision)
                why = "failed"
            _LOG.warning("watch of the store broke", why=why, revision=self.revision, retry_after=self._backoff.next)
            await self._backoff.pause()

    async def _follow(self) -> None:
        start = self.revision + 1 if self.revision else 0
        async with streams.closing(self._backend.watch(self._root, start=start)) as batches:
            async for batch in batches:
                await self._take(batch)
                self._backoff.reset()

    async def _take(self, batch: WatchBatch) -> None:
        events = batch.events
        first = 0
        while len(events) - first > _CHUNK:
            end = first + _CHUNK
            # changes of one revision belong together: nobody is told of a revision that is only half there
            while end < len(events) and events[end].revision == events[end - 1].revision:
                end += 1
            self._deliver(events[first:end])
            self._advance(events[end - 1].revision)
            first = end
            await asyncio.sleep(0)
        if first < len(events):
            self._deliver(events[first:] if first else events)
        self._advance(batch.revision)

    def _deliver(self, events: Sequence[BackendEvent]) -> None:
        shares: dict[Follower, list[BackendEvent]] = {}
        for event in events:
            follower = self._follower(event.key)
            if follower is not None:
                shares.setdefault(follower, []).append(event)
        for follower, share in shares.items():
            follower.apply(share)

    def _follower(self, key: str) -> Follower | None:
        """The cache of a key's resource, which lies below its group's name, or right below the root for the core group."""
        first = key.find("/", len(self._root)) + 1
        second = key.find("/", first) + 1
        return self._followers.get(key[:second]) or self._followers.get(key[:first])

    def _advance(self, revision: int) -> None:
        self.revision = max(self.revision, revision)
        if self._started is not None and not self._started.done():
            self._started.set_result(None)
        if self._waiting:
            for waiter in [waiter for waiter, wanted in self._waiting.items() if wanted <= self.revision]:
                del self._waiting[waiter]
                if not waiter.done():
                    waiter.set_result(None)

    async def _catch_up(self) -> None:
        """Let every cache make up for the lost changes by a list, all at one revision."""
        while True:
            try:
                revision = await self._backend.revision()
                _LOG.warning("changes were compacted before they were seen", after=self.revision, up_to=revision)
                for follower in tuple(self._followers.values()):
                    await follower.reload(revision)
            except BackendError as error:
                _LOG.warning("store cannot be listed", error=str(error), retry_after=_RETRY_AFTER)
                await asyncio.sleep(_RETRY_AFTER)
            except Exception:  # noqa: BLE001 - as in _run: without the feed, all caches would stand still for ever
                _LOG.exception("a list could not be taken", revision=self.revision)
                await asyncio.sleep(_RETRY_AFTER)
            else:
                self._advance(revision)
                return

    async def wait(self, revision: int) -> None:
        """Return when the revision has been reached; raises StatusError 504 when that takes too long."""
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

    async def _ask_for_progress(self) -> None:
        """While anyone waits: what was written outside the prefix brings no event, only an answer to this question."""
        try:
            # what was written inside is mostly on its way already
            await asyncio.sleep(_PROGRESS_AFTER)
            while self._waiting:
                try:
                    await self._backend.request_progress()
                except BackendError as error:
                    _LOG.warning("progress cannot be asked for", error=str(error))
                await asyncio.sleep(_PROGRESS_INTERVAL)
        finally:
            self._progress = None
