"""The objects of a resource as one codec renders them."""

from __future__ import annotations

import weakref
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Final

from apiext.base.meta import limits
from apiext.base.meta.gvk import GroupVersionKind
from apiext.base.scheduling.inline_work import InlineWork, unlimited_work
from apiext.base.scheduling.time_slice import Pace
from apiext.storage.errors import RENDERING_ERRORS, CorruptObjectError
from apiext.storage.interface import Codec, Item, RemoteCodec, RenderingJob, RenderResult, StoredBytes
from apiext.storage.rendering.batch_rendering import render_all
from apiext.storage.rendering.render_queue import RenderQueue
from apiext.storage.rendering.renderer import Renderer, at_revision, with_revision
from apiext.storage.rendering.stored_entry import StoredEntry

_STEP: Final = 256
"""Entries that are looked at between two looks at the clock."""
_KEPT_FAILURES: Final = 100
"""Entries that a view knows to be unreadable: as many as the error of a list names."""


class VersionView:
    """Renders entries with a codec.

    A view refers to its codec weakly: readers and watchers hold the codec.
    """

    __slots__ = ("__weakref__", "_codec", "_queue", "_remote", "_renderer", "failures", "gvk", "inline")

    def __init__(self, codec: Codec, renderer: Renderer, released: Callable[[VersionView], None] | None = None) -> None:
        self.gvk: GroupVersionKind = codec.gvk
        self.inline: bool = codec.conversion is None
        """Whether `item` can be used for small entries at once; otherwise all entries are rendered by `items` first."""
        self._renderer = renderer
        self._queue: RenderQueue | None = None
        self.use(codec, released)

    def use(self, codec: Codec, released: Callable[[VersionView], None] | None) -> None:
        """Render with a codec, instead of one that renders equally; `released` is called when it is garbage."""
        self._remote = codec.remote
        self._codec = weakref.ref(codec, None if released is None else lambda _: released(self))
        self.failures: dict[StoredEntry, CorruptObjectError] = {}
        """The errors of the last entries that could not be decoded, in an inline view; a conversion may succeed later."""

    def _held(self) -> Codec:
        codec = self._codec()
        if codec is None:
            raise AssertionError("the codec of a view in use is garbage")
        return codec

    def is_ready(self, entry: StoredEntry) -> bool:
        """Report whether `item` returns at once: the entry is rendered, or small in an inline view. Otherwise use `items`."""
        if entry.cached(self) is not None:
            return True
        return self.inline and not self._is_large(entry)

    async def unready(self, entries: Iterable[StoredEntry]) -> list[StoredEntry]:
        """Return the entries for which `is_ready` is false."""
        pace = Pace()
        found: list[StoredEntry] = []
        for number, entry in enumerate(entries, start=1):
            if not self.is_ready(entry):
                found.append(entry)
            if not number % _STEP:
                await pace.checkpoint()
        return found

    def _is_large(self, entry: StoredEntry) -> bool:
        return self._remote is not None and entry.size > limits.MAX_INLINE_RENDERING_BYTES

    def item(self, entry: StoredEntry) -> Item:
        """Return the rendering of an entry, which keeps it. In a view that is not inline, it must be cached.

        Raises:
            CorruptObjectError: the entry cannot be decoded.
        """
        item = entry.cached(self)
        if item is None:
            try:
                item = entry.adopt(self, self.render(entry, entry.revision))
            except CorruptObjectError as error:
                self._remember(entry, error)
                raise
        return item

    def _remember(self, entry: StoredEntry, error: CorruptObjectError) -> None:
        if len(self.failures) >= _KEPT_FAILURES and entry not in self.failures:
            del self.failures[next(iter(self.failures))]
        self.failures[entry] = CorruptObjectError(error.key, error.message)

    def at(self, entry: StoredEntry, revision: int) -> Item:
        """Return an entry's object with another resourceVersion, as in a DELETED event. Raises as `item`."""
        item = entry.cached(self)
        if item is not None and entry.is_stored_as_shown(self):
            return with_revision(item, revision)
        return self.render(entry, revision) if item is None and self.inline else at_revision(self.item(entry), revision)

    def render(self, entry: StoredEntry, revision: int) -> Item:
        """Render an entry's object with a resourceVersion, in an inline view. Raises as `item`."""
        if not self.inline:
            raise AssertionError("an entry is used before it was converted")
        # also for others than the current request, whose time may be limited
        with unlimited_work():
            return self._renderer.item(self._held(), entry.key, entry.raw, revision)

    async def shown(self, entry: StoredEntry) -> Item:
        """Return the rendering of an entry, which keeps it.

        Raises:
            CorruptObjectError: the entry cannot be decoded or converted.
            StatusError: the converter cannot be used, or the worker process failed.
        """
        if self.is_ready(entry):
            return self.item(entry)
        (shown,) = await self.items([entry])
        if isinstance(shown, Item):
            return shown
        try:
            raise shown
        finally:
            # the variable would be a reference cycle through the traceback
            del shown

    async def items(self, entries: Sequence[StoredEntry]) -> list[RenderResult]:
        """Return the renderings of entries; in the place of one that fails stands its error.

        Entries keep their renderings. An entry that several readers want at the same time is converted once.
        """
        if self._queue is None:
            self._queue = RenderQueue(self._renderer.waiting)
        results = await self._queue.results(self, self._held(), entries)
        for entry, result in results.items() if self.inline else ():
            if isinstance(result, CorruptObjectError):
                self._remember(entry, result)
        return [entry.cached(self) or results[entry] for entry in entries]

    async def render_batch(self, codec: Codec, entries: Sequence[StoredEntry]) -> dict[StoredEntry, RenderResult]:
        """Render entries after one conversion of them all; with a large one, they are rendered in a worker process."""
        pace = Pace()
        shown: dict[StoredEntry, RenderResult] = {}
        stored: dict[StoredEntry, StoredBytes] = {}
        for entry in entries:
            try:
                stored[entry] = (entry.key, entry.raw, entry.revision)
            except CorruptObjectError as error:
                shown[entry] = error
            if pace.due:
                await pace.pause()
        remote = self._remote
        if remote is None:
            return shown | self._adopted(stored, await render_all(self._renderer, codec, list(stored.values())))
        large = [entry for entry in stored if self._is_large(entry)]
        if large and not self.inline:
            return shown | await self._render_remotely(stored, self._job(remote, stored))
        for entry in large:
            one = {entry: stored.pop(entry)}
            shown |= await self._render_remotely(one, self._job(remote, one))
        if self.inline:
            # for all readers, also if the first one is a write whose time is limited
            with unlimited_work():
                return shown | self._adopted(stored, await render_all(self._renderer, codec, list(stored.values())))
        job = self._job(remote, stored)
        with InlineWork(trusting=True):
            return shown | self._adopted(stored, await render_all(self._renderer, codec, list(stored.values()), job))
        return shown | await self._render_remotely(stored, job)

    def _job(self, remote: RemoteCodec, stored: Mapping[StoredEntry, StoredBytes]) -> RenderingJob:
        return remote.job(self._renderer.prefix, list(stored.values()))

    async def _render_remotely(self, stored: Mapping[StoredEntry, StoredBytes], job: RenderingJob) -> dict[StoredEntry, RenderResult]:
        """Render entries in a worker process."""
        try:
            results = await job.run()
        except RENDERING_ERRORS as error:
            return dict.fromkeys(stored, error)
        return self._adopted(stored, results)

    def _adopted(self, entries: Iterable[StoredEntry], results: Sequence[RenderResult]) -> dict[StoredEntry, RenderResult]:
        return {
            entry: entry.adopt(self, result) if isinstance(result, Item) else result for entry, result in zip(entries, results, strict=True)
        }
