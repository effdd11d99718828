"""What keeps definitions' conditions true and finishes their deletion.

Driven by changes alone: whatever changes a definition puts its name into a queue, and one worker brings it up to date. Naming needs
the order, since two definitions must not be given one name.
Mirrors apiextensions-apiserver pkg/apiserver/apiserver.go (its controllers) and pkg/controller.
"""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Final

from apiext.definitions import conditions
from apiext.definitions.codec import CRDCodec
from apiext.definitions.definition_watch import FAILURES, Feed
from apiext.definitions.finalizer import Finalizer
from apiext.definitions.naming import taken_names
from apiext.definitions.reconcile import depends_on_schemas, reconciled
from apiext.definitions.workqueue import WorkQueue
from apiext.meta.log import get_logger
from apiext.meta.tasks import end_tasks
from apiext.storage.interface import InvalidObjectError, KeyNotFoundError, Preconditions

if TYPE_CHECKING:
    from apiext.definitions.catalog import Catalog
    from apiext.definitions.definition import Definition
    from apiext.definitions.finalizer import Instances
    from apiext.meta.json_codec import Object
    from apiext.storage.interface import Codec, Item, Store

_LOG: Final = get_logger(__name__)


class Controllers:
    """Runs everything that acts on definitions by itself.

    `instances` finds and deletes the instances of definitions.
    """

    __slots__ = ("_feed", "_finalizer", "_queue", "_store", "_tasks", "catalog", "codec")

    def __init__(self, store: Store, catalog: Catalog, instances: Instances, *, codec: Codec | None = None) -> None:
        self.catalog = catalog
        self._store = store
        self.codec = codec or CRDCodec()
        self._feed = Feed(store, self.codec, catalog, self._changed)
        self._finalizer = Finalizer(store, self.codec, instances, seen=self.observe, gone=self._feed.gone)
        self._queue = WorkQueue(self._sync, failures=FAILURES, trouble="the status of a definition cannot be written", log=_LOG)
        self._tasks: list[asyncio.Task[None]] = []

    async def start(self) -> None:
        """Read all definitions and act on them from now on; the catalogue is filled on return. Raises what the store raises."""
        revision = await self._feed.list()
        self._tasks = [
            asyncio.create_task(self._feed.follow(revision), name="definitions-feed"),
            asyncio.create_task(self._queue.run(), name="definitions-reconcile"),
        ]

    async def close(self) -> None:
        """Stop; what was begun can be taken up by the next start."""
        await self._finalizer.close()
        await end_tasks(*self._tasks)
        self._tasks.clear()

    def observe(self, item: Item) -> None:
        """Hear of a definition from whoever just wrote it, ahead of the watch."""
        self._feed.seen(item)

    async def refresh(self, name: str) -> None:
        """Learn from the store how a definition is now, ahead of the watch. Raises what the store raises."""
        known = self.catalog.get(name)
        try:
            self.observe(await self._store.get(name, self.codec))
        except KeyNotFoundError:
            if known is not None:
                # the watch will tell when it went; it was after this
                self._feed.gone(name, known.revision)

    def forget(self, item: Item) -> None:
        """Hear of a definition's removal from whoever removed it; the item has the revision of that."""
        self._feed.gone(item.key, item.revision)

    def _changed(self, name: str, definition: Definition | None) -> None:
        if definition is None:
            # Its names are free for others.
            self._enqueue_group(name.partition(".")[2], besides=name)
            return
        self._queue.add(name)
        if definition.is_terminating and conditions.has_cleanup_finalizer(definition.head):
            self._finalizer.finalize(definition)

    def _enqueue_group(self, group: str, *, besides: str) -> None:
        for definition in self.catalog.all():
            if definition.group == group and definition.name != besides:
                self._queue.add(definition.name)

    async def _sync(self, name: str) -> None:
        definition = self.catalog.get(name)
        if definition is None:
            return
        crd = definition.object if depends_on_schemas(definition.head) else definition.head
        if self._reconciled(crd) is crd:
            return
        before = definition.head["status"]["acceptedNames"]

        async def update(existing: Object, _revision: int) -> Object:
            return self._reconciled(existing)

        try:
            item, _ = await self._store.guaranteed_update(name, self.codec, update, preconditions=Preconditions(uid=definition.uid))
        except (KeyNotFoundError, InvalidObjectError):
            # Deleted, or deleted and made anew: the watch brings it.
            return
        self.observe(item)
        after = self.catalog.get(name)
        if after is not None and after.head["status"]["acceptedNames"] != before:
            self._enqueue_group(after.group, besides=name)

    def _reconciled(self, crd: Object) -> Object:
        return reconciled(crd, taken_names(self.catalog.all(), crd["spec"]["group"]))
