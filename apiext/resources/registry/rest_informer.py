"""Informer of one resource: lists and watches the store, and passes changes on in the order of their revisions."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Final

from apiext.base.meta.log import get_logger
from apiext.base.scheduling.backoff import Backoff
from apiext.base.scheduling.tasks import end_tasks
from apiext.resources.definitions.definition_informer import FAILURES
from apiext.storage.interface import EventType, ListOptions, WatchOptions
from apiext.storage.watch_events import pass_events

if TYPE_CHECKING:
    from collections.abc import Callable

    from apiext.resources.registry.rest import ResourceRest
    from apiext.storage.interface import Event, Item

_LOG: Final = get_logger(__name__)
_PAUSES: Final = (0.05, 5.0)
"""Seconds before the first retry of list and watch, and the longest before later ones."""


class RestInformer:
    """Calls `put` for each new state of an object, and `remove` with the key of a deleted one.

    Writes of this server are seen at once (resources/registry/observed_rest.py); their watch events come later and are ignored then.
    """

    def __init__(self, rest: ResourceRest, put: Callable[[Item], None], remove: Callable[[str], None]) -> None:
        self._rest = rest
        self._put = put
        self._remove = remove
        self._known: dict[str, int] = {}
        """Revisions of the objects by key."""
        self._gone: dict[str, int] = {}
        """Revisions of deletions whose watch events are still to come."""
        self._task: asyncio.Task[None] | None = None
        self._listed: Callable[[], None] | None = None

    async def start(self) -> None:
        """List all objects, then watch for changes.

        Raises:
            BackendError, StorageError, StatusError: the list failed.
        """
        revision = await self._read()
        self._task = asyncio.create_task(self._follow(revision), name=f"{self._rest.resource.resource}-informer")

    def begin(self, listed: Callable[[], None] | None = None) -> None:
        """Start without waiting for the list, which is tried until it succeeds. Call `listed` after it."""
        self._listed = listed
        self._task = asyncio.create_task(self._follow(-1), name=f"{self._rest.resource.resource}-informer")

    async def close(self) -> None:
        """Stop the watch."""
        if self._task is not None:
            await end_tasks(self._task)

    def observe(self, item: Item) -> None:
        """Take a written object, unless a later state is known."""
        if item.revision > max(self._known.get(item.key, 0), self._gone.get(item.key, 0)):
            self._known[item.key] = item.revision
            self._put(item)

    def forget(self, item: Item) -> None:
        """Drop an object, given its last state with the revision of its deletion."""
        if item.revision > self._known.get(item.key, 0):
            self._gone[item.key] = item.revision
            self._drop(item.key)

    def _drop(self, key: str) -> None:
        if self._known.pop(key, None) is not None:
            self._remove(key)

    async def _read(self) -> int:
        """Take the listed objects for all objects. Return the revision of the list."""
        result = await self._rest.store.list("", self._rest.codec, ListOptions())
        listed = {item.key for item in result.items}
        for key in [key for key, revision in self._known.items() if key not in listed and revision <= result.revision]:
            self._drop(key)
        for item in result.items:
            self.observe(item)
        self._gone = {key: revision for key, revision in self._gone.items() if revision > result.revision}
        return result.revision

    async def _follow(self, revision: int) -> None:
        """Watch for changes after a revision until cancelled. List again after each failure."""
        backoff = Backoff(*_PAUSES)
        resource = str(self._rest.resource)
        while True:
            try:
                if revision < 0:
                    revision = await self._read()
                    self._report_list()
                backoff.reset()
                await self._watch(revision)
            except FAILURES as error:
                _LOG.warning("informer disconnected, retrying", resource=resource, error=str(error), retry_after=backoff.next)
            except Exception:  # noqa: BLE001 -- without the informer, its followers would be stale until the server restarts
                _LOG.exception("informer failed, retrying", resource=resource, retry_after=backoff.next)
            await backoff.pause()
            revision = -1

    def _report_list(self) -> None:
        listed, self._listed = self._listed, None
        if listed is not None:
            listed()

    async def _watch(self, revision: int) -> None:
        """Apply watch events until the watch ends."""
        watch = await self._rest.store.watch("", self._rest.codec, WatchOptions(resource_version=str(revision)))
        await pass_events(watch, self._apply)

    def _apply(self, event: Event) -> None:
        item = event.item
        if item is None:
            return
        if self._gone.get(item.key, 0) <= event.revision:
            self._gone.pop(item.key, None)
        if event.type is not EventType.DELETED:
            self.observe(item)
        elif event.revision > self._known.get(item.key, 0):
            self._drop(item.key)
