"""Stores objects again in the version of a codec, with nothing else changed."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from apiext.scheduling.time_slice import Pace
from apiext.storage import stored_object
from apiext.storage.backend import ValueTooLargeError
from apiext.storage.interface import Item
from apiext.storage.pages import latest_pages
from apiext.storage.rendering import stored_entry as entries
from apiext.storage.rendering.json_rendering import as_stored
from apiext.storage.rendering.version_view import View
from apiext.storage.write_guards import GuardedWrites, WriteGuard

if TYPE_CHECKING:
    from apiext.storage.backend import Backend, KeyValue
    from apiext.storage.interface import Codec
    from apiext.storage.rendering.json_rendering import Renderer

_BATCH: Final = 100
"""Objects that are converted together."""
_TOGETHER: Final = 5
"""Concurrent writes, which share the store's commits, and delay those of clients little."""


@dataclass(frozen=True, slots=True)
class Reencoded:
    """What became of objects that were stored in other versions."""

    written: Sequence[Item]
    """As they are stored now, except for the resourceVersion. Those that a client wrote meanwhile are in neither list."""
    failed: Sequence[tuple[str, Exception]]
    """The keys of objects that stay as they are: they cannot be decoded or converted, or are too large in the new version."""


class Reencoder:
    """Rewrites the objects of one resource that are stored in other versions than the storage version.

    The bytes are those of an update that changes nothing: decoded by the schema of the old version, converted, and neither validated nor
    recorded in managedFields. Each write requires the revision that was read, so that no write of a client is lost.
    """

    def __init__(self, *, backend: Backend, renderer: Renderer, guard: WriteGuard) -> None:
        self._backend = backend
        self._renderer = renderer
        self._writes = GuardedWrites(backend, guard)

    async def batches(self, codec: Codec) -> AsyncGenerator[Reencoded]:
        """Rewrite all objects, and yield after every few; `codec` is that of the storage version.

        Raises:
            BackendError: the store does not answer.
            StatusError: the guard refuses writes.
        """
        view, pace = View(codec, self._renderer), Pace()
        async for page in latest_pages(self._backend, self._renderer.prefix):
            todo = []
            for pair in page:
                await pace.checkpoint()
                if stored_object.api_version(pair.value) != codec.gvk.api_version:
                    todo.append(pair)
            for first in range(0, len(todo), _BATCH):
                async for part in self._rewrite(codec, view, todo[first : first + _BATCH]):
                    yield part

    async def _rewrite(self, codec: Codec, view: View, pairs: Sequence[KeyValue]) -> AsyncGenerator[Reencoded]:
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
        """Write an item if its object has not changed; return whether it was written, or why it cannot be."""
        try:
            return (await self._writes.update(self._renderer.prefix + item.key, as_stored(codec, item), item.revision)).succeeded
        except ValueTooLargeError as error:
            return error
