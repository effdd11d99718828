"""Numbers of stored objects by version, counted anew after changes while somebody looks."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Final

from apiext.definitions.definition_informer import FAILURES
from apiext.meta.log import get_logger
from apiext.scheduling.workqueue import WorkQueue

if TYPE_CHECKING:
    from collections.abc import Callable

    from apiext.definitions.catalog import Catalog
    from apiext.definitions.definition import Definition
    from apiext.storage.factory import StoreFactory
    from apiext.storage.stored.version_counts import StoredCounts

_LOG: Final = get_logger(__name__)
_PAUSE_SECONDS: Final = 1.0
"""Least seconds between two counts of a resource in the store."""
_SHARE: Final = 20.0
"""A count is followed by a pause of so many times its duration."""


class CountedVersions:
    """The counts of all definitions. A loaded watch cache has them; others are counted in the store, at a limited share of the time."""

    def __init__(self, catalog: Catalog, stores: StoreFactory, changed: Callable[[], None]) -> None:
        """Create it. `changed` is called after each count."""
        self._catalog = catalog
        self._stores = stores
        self._changed = changed
        self._counted: dict[str, StoredCounts] = {}
        self._next: dict[str, float] = {}
        """When a definition's objects may be counted again."""
        self._queue = WorkQueue(
            self._count, log=_LOG, event="stored objects not counted, retrying", key_field="definition", retryable=FAILURES
        )
        self.run = self._queue.run

    def of(self, definition: Definition) -> StoredCounts | None:
        """Return the latest counts, None before the first."""
        return self._stores.stored_versions(definition.resource).known() or self._counted.get(definition.name)

    def note(self, name: str) -> None:
        """Count the objects of a definition that is new or whose objects have changed."""
        self._queue.add(name)

    def forget(self, name: str) -> None:
        """Drop the counts of a deleted definition."""
        self._counted.pop(name, None)
        self._next.pop(name, None)

    async def settled(self) -> None:
        """Wait until everything was counted that may be counted now."""
        await self._queue.join()

    async def _count(self, name: str) -> float | None:
        """Count in the store; implements workqueue.Sync."""
        definition, loop = self._catalog.get(name), asyncio.get_running_loop()
        if definition is None:
            self.forget(name)
            return None
        stored, now = self._stores.stored_versions(definition.resource), loop.time()
        if stored.known() is not None:
            return None
        if (early := self._next.get(name, 0.0) - now) > 0:
            return early
        self._counted[name] = await stored.counts()
        self._next[name] = loop.time() + max(_PAUSE_SECONDS, _SHARE * (loop.time() - now))
        self._changed()
        return None
