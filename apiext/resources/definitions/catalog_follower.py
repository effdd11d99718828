"""Base of controllers that follow the catalog: a subscription and tasks."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any

from apiext.base.scheduling.tasks import end_tasks

if TYPE_CHECKING:
    from collections.abc import Callable, Coroutine, Mapping

    from apiext.resources.definitions.catalog import Catalog, Listener


class CatalogFollower:
    """A controller's subscription to the catalog, and its tasks."""

    def __init__(self, catalog: Catalog, listener: Listener) -> None:
        self._catalog = catalog
        self._listener = listener
        self._unsubscribe: Callable[[], None] | None = None
        self._tasks: list[asyncio.Task[None]] = []

    def start(self, work: Mapping[str, Coroutine[Any, Any, None]]) -> None:
        """Call the listener with every later change, and run the work in tasks with the given names."""
        self._unsubscribe = self._catalog.subscribe(self._listener)
        self._tasks = [asyncio.create_task(coroutine, name=name) for name, coroutine in work.items()]

    async def close(self) -> None:
        """End the subscription and the tasks. Do nothing before `start`."""
        if self._unsubscribe is not None:
            self._unsubscribe()
        await end_tasks(*self._tasks)
