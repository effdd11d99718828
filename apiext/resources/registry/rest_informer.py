"""Informer of one resource: lists and watches the store, and passes changes on in the order of their revisions."""

from __future__ import annotations

from typing import TYPE_CHECKING

from apiext.storage.interface import EventType, ListOptions
from apiext.storage.watch_events import StoreInformer

if TYPE_CHECKING:
    from collections.abc import Callable

    from apiext.resources.registry.rest import ResourceRest
    from apiext.storage.interface import Event, Item


class RestInformer(StoreInformer):
    """Calls `put` for each new state of an object, and `remove` with the key of a deleted one.

    Writes of this server are seen at once (resources/registry/observed_rest.py); their watch events come later and are ignored then.
    """

    def __init__(self, rest: ResourceRest, put: Callable[[Item], None], remove: Callable[[str], None]) -> None:
        super().__init__(rest.store, rest.codec, str(rest.resource))
        self._put = put
        self._remove = remove
        self._known: dict[str, int] = {}
        """Revisions of the objects by key."""
        self._gone: dict[str, int] = {}
        """Revisions of deletions whose watch events are still to come."""
        self._listed: Callable[[], None] | None = None

    def begin(self, listed: Callable[[], None] | None = None) -> None:
        """Start without waiting for the list, which is tried until it succeeds. Call `listed` after it."""
        self._listed = listed
        self.follow(-1)

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

    async def read(self) -> int:
        """Take the listed objects for all objects. Return the revision of the list."""
        result = await self.store.list("", self._codec, ListOptions())
        listed = {item.key for item in result.items}
        for key in [key for key, revision in self._known.items() if key not in listed and revision <= result.revision]:
            self._drop(key)
        for item in result.items:
            self.observe(item)
        self._gone = {key: revision for key, revision in self._gone.items() if revision > result.revision}
        report, self._listed = self._listed, None
        if report is not None:
            report()
        return result.revision

    def apply(self, event: Event) -> None:
        """Take a change, unless a later state is known."""
        item = event.item
        if item is None:
            return
        if self._gone.get(item.key, 0) <= event.revision:
            self._gone.pop(item.key, None)
        if event.type is not EventType.DELETED:
            self.observe(item)
        elif event.revision > self._known.get(item.key, 0):
            self._drop(item.key)
