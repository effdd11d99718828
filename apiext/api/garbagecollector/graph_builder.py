"""Builds the graph from the store: reads all objects once, and follows the changes of all kinds.

The watch that feeds the watch caches brings the changes, so nothing more is asked of the store, and no cache is loaded. Of a change that
does not matter only the bytes are searched.
"""

from __future__ import annotations

import asyncio
from collections import Counter, deque
from contextlib import suppress
from dataclasses import replace
from typing import TYPE_CHECKING, Final

from apiext.base.meta.errors import StatusError
from apiext.base.meta.limits import MAX_INLINE_BYTES
from apiext.base.meta.log import get_logger
from apiext.base.scheduling.backoff import Backoff
from apiext.base.scheduling.side_thread import aside
from apiext.base.scheduling.tasks import end_tasks
from apiext.base.scheduling.time_slice import Pace
from apiext.storage.backend import BackendError, ProgressUnreliableError
from apiext.storage.paged_reads import latest_pages
from apiext.storage.stored_bytes.object_links import links_of, may_matter

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Sequence

    from apiext.api.garbagecollector.graph import Graph
    from apiext.storage.backend import Backend, BackendEvent

_LOG: Final = get_logger(__name__)
QUIET_SECONDS: Final = 5.0
"""Seconds until all objects are read if nothing needs it sooner: clients that list after a restart come first."""
PAUSES: Final = (0.2, 5.0)
"""Seconds before the first retry of reading all objects, and the longest before later ones."""
_UNRELIABLE_SECONDS: Final = 5.0
"""Seconds for the last changes to arrive from an etcd that does not report its progress reliably."""
_END: Final = ""
"""The key of no object, which ends the changes that were made while all objects were read."""


class GraphBuilder:
    """Fills a graph; implements storage.cacher.feed.FeedFollower for the changes of all kinds."""

    def __init__(
        self,
        backend: Backend,
        root: str,
        graph: Graph,
        *,
        reach: Callable[[int], Awaitable[None]],
        is_ignored: Callable[[str], bool],
    ) -> None:
        """Create a builder for all keys below `root`.

        `reach` waits until the changes up to a revision were delivered. The objects whose key `is_ignored` are owners at most.
        """
        self.is_built = asyncio.Event()
        """Set when the graph has all objects."""
        self.is_outdated = asyncio.Event()
        """Set when changes were lost: then a new graph is needed."""
        self.failures = 0
        """Number of failed attempts to read all objects."""
        self._backend = backend
        self._root = root
        self._graph = graph
        self._reach = reach
        self._is_ignored = is_ignored
        self._changes: deque[tuple[str, bytes | None]] = deque()
        self._pending: Counter[str] = Counter()
        """Numbers of changes by key that the graph does not have yet."""
        self._newer: set[str] | None = set()
        """Keys that changed while all objects are read. None afterwards."""
        self._changed = asyncio.Event()
        self._wanted = asyncio.Event()
        """Set when a change concerns the collector."""

    def apply(self, events: Sequence[BackendEvent]) -> None:
        """Take changes in order."""
        for event in events:
            key, value = event.key, event.value
            if self._newer is not None:
                self._newer.add(key)
            if self._graph.concerns(key) or key in self._pending or (value is not None and may_matter(value)):
                self._append(key, value)
                self._wanted.set()

    async def reload(self, _revision: int, *, anew: bool = False) -> None:
        """Note that changes were lost."""
        self.is_outdated.set()

    async def run(self) -> None:
        """Read all objects, and apply changes until cancelled."""
        reading = asyncio.create_task(self._build(), name="garbage-collector-list")
        pace = Pace()
        try:
            while True:
                await self._changed.wait()
                self._changed.clear()
                while self._changes:
                    await self._apply_first()
                    await pace.checkpoint()
        finally:
            await end_tasks(reading)

    async def _apply_first(self) -> None:
        key, value = self._changes[0]
        if key == _END:
            self._newer = None
            self.is_built.set()
        else:
            await self._put(key, value)
        self._changes.popleft()
        self._pending[key] -= 1
        if not self._pending[key]:
            del self._pending[key]

    def _append(self, key: str, value: bytes | None) -> None:
        self._changes.append((key, value))
        self._pending[key] += 1
        self._changed.set()

    async def _build(self) -> None:
        """Read all objects soon, or at once when the collector may have work."""
        with suppress(TimeoutError):
            async with asyncio.timeout(QUIET_SECONDS):
                await self._wanted.wait()
        backoff = Backoff(*PAUSES)
        while True:
            try:
                await self._read_all()
                # what was read is complete once the changes that were made meanwhile are known
                await self._reach(await self._backend.revision())
                break
            except ProgressUnreliableError:
                await asyncio.sleep(_UNRELIABLE_SECONDS)
                break
            except (BackendError, StatusError) as error:
                self.failures += 1
                _LOG.warning("garbage collector cannot read all objects, retrying", error=str(error), retry_after=backoff.next)
            except Exception:  # noqa: BLE001 -- garbage would stay until the server restarts
                self.failures += 1
                _LOG.exception("garbage collector cannot read all objects, retrying", retry_after=backoff.next)
            await backoff.pause()
        self._append(_END, None)

    async def _read_all(self) -> None:
        """Add all objects to the graph that did not change meanwhile.

        Raises:
            BackendError: the backend does not answer.
        """
        pace = Pace()
        async for page in latest_pages(self._backend, self._root):
            for pair in page:
                if (may_matter(pair.value) or self._graph.concerns(pair.key)) and not self._is_newer(pair.key):
                    await self._put(pair.key, pair.value, listed=True)
                await pace.checkpoint()

    def _is_newer(self, key: str) -> bool:
        return self._newer is not None and key in self._newer

    async def _put(self, key: str, value: bytes | None, *, listed: bool = False) -> None:
        if value is None:
            self._graph.remove(key)
            return
        ignored = self._is_ignored(key)
        if ignored and not self._graph.concerns(key):
            return
        links = links_of(value) if len(value) <= MAX_INLINE_BYTES else await aside(lambda: links_of(value))
        if links is not None and not (listed and self._is_newer(key)):
            self._graph.put(key, replace(links, references=(), finalizers=()) if ignored else links)
