"""Stores objects again in the version of a codec and by the first provider of the encryption, otherwise unchanged."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from apiext.base.scheduling.time_slice import Pace
from apiext.storage import stored_object
from apiext.storage.backend import ValueTooLargeError
from apiext.storage.interface import Item
from apiext.storage.paged_reads import latest_pages
from apiext.storage.rendering import stored_entry as entries
from apiext.storage.rendering.renderer import as_stored
from apiext.storage.rendering.version_view import VersionView
from apiext.storage.writer import GuardedWrites, WriteGuard

if TYPE_CHECKING:
    from apiext.storage.backend import Backend, KeyValue
    from apiext.storage.interface import Codec
    from apiext.storage.rendering.renderer import Renderer

_BATCH: Final = 100
"""Objects to convert together."""
_TOGETHER: Final = 5
"""Concurrent writes. They share the store's commits, and delay clients' writes little."""


@dataclass(frozen=True, slots=True)
class Reencoded:
    """The result for some objects to store again."""

    written: Sequence[Item]
    """The rewritten objects in stored form, except for the resourceVersion. Objects that a client wrote meanwhile are in neither list."""
    failed: Sequence[tuple[str, Exception]]
    """Keys of objects that stay unchanged: they cannot be decoded or converted, or are too large in the new version."""


class Reencoder:
    """Rewrites a resource's objects that are stored in versions other than the storage version, or encrypted in another way than now.

    The bytes equal those of an update without changes: decoded by the schema of the old version and converted. Nothing is validated or
    recorded in managedFields. Each write requires the revision of its read: no client's write is lost.
    """

    def __init__(self, *, backend: Backend, renderer: Renderer, guard: WriteGuard) -> None:
        self._backend = backend
        self._renderer = renderer
        self._writes = GuardedWrites(backend, guard)

    async def batches(self, codec: Codec) -> AsyncGenerator[Reencoded]:
        """Rewrite all objects, and yield after every few. `codec` is that of the storage version.

        Raises:
            BackendError: the store does not answer.
            StatusError: the guard refuses writes.
        """
        view, pace = VersionView(codec, self._renderer), Pace()
        async for page in latest_pages(self._backend, self._renderer.prefix):
            todo = []
            for pair in page:
                await pace.checkpoint()
                if pair.stale or stored_object.api_version(pair.value) != codec.gvk.api_version:
                    todo.append(pair)
            for first in range(0, len(todo), _BATCH):
                async for part in self._rewrite(codec, view, todo[first : first + _BATCH]):
                    yield part

    async def _rewrite(self, codec: Codec, view: VersionView, pairs: Sequence[KeyValue]) -> AsyncGenerator[Reencoded]:
        prefix = self._renderer.prefix
        found = [entries.read(self._renderer, pair.key[len(prefix) :], pair.value, pair.revision) for pair in pairs]
        shown = await view.items(found)
        yield Reencoded([], [(one.key, result) for one, result in zip(found, shown, strict=True) if not isinstance(result, Item)])
        items = [result for result in shown if isinstance(result, Item)]
        for first in range(0, len(items), _TOGETHER):
            group = items[first : first + _TOGETHER]
            outcomes = list(zip(group, await asyncio.gather(*(self._write(codec, item) for item in group)), strict=True))
            yield Reencoded(
                [item for item, outcome in outcomes if outcome is True],
                [(item.key, outcome) for item, outcome in outcomes if isinstance(outcome, Exception)],
            )

    async def _write(self, codec: Codec, item: Item) -> bool | Exception:
        """Write an item if its object is unchanged. Return whether it was written, or the error."""
        try:
            return (await self._writes.update(self._renderer.prefix + item.key, as_stored(codec, item), item.revision)).succeeded
        except ValueTooLargeError as error:
            return error
