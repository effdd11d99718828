"""What keeps definitions' conditions true and finishes their deletion.

Driven by changes alone: whatever changes a definition puts its name into a queue, and one worker brings it up to date. Naming needs
the order, since two definitions must not be given one name.
Mirrors apiextensions-apiserver pkg/apiserver/apiserver.go (its controllers) and pkg/controller.
"""

from __future__ import annotations

import asyncio
from contextlib import suppress
from typing import TYPE_CHECKING, Final

from apiext.meta.log import get_logger
from apiext.storage.interface import InvalidObjectError, KeyNotFoundError, Preconditions

from . import conditions
from .codec import CRDCodec
from .feed import FAILURES, Feed
from .finalizer import Finalizer
from .naming import taken_names
from .reconcile import depends_on_schemas, reconciled

if TYPE_CHECKING:
    from apiext.meta.wire import Object
    from apiext.storage.interface import Codec, Item, Store

    from .catalog import Catalog
    from .definition import Definition
    from .finalizer import Instances

_LOG: Final = get_logger(__name__)
_FIRST_PAUSE: Final = 0.05
_LONGEST_PAUSE: Final = 30.0
_DOUBLINGS: Final = 10
"""After so many the longest pause has been reached."""


class Controllers:
    """Runs everything that acts on definitions by itself.

    `instances` finds and deletes the instances of definitions.
    """

    __slots__ = ("_attempts", "_feed", "_finalizer", "_queue", "_queued", "_store", "_tasks", "catalog", "codec")

    def __init__(self, store: Store, catalog: Catalog, instances: Instances, *, codec: Codec | None = None) -> None:
        self.catalog = catalog
        self._store = store
        self.codec = codec or CRDCodec()
        self._feed = Feed(store, self.codec, catalog, self._changed)
        self._finalizer = Finalizer(store, self.codec, instances, seen=self.observe, gone=self._feed.gone)
        self._queue: asyncio.Queue[str] = asyncio.Queue()
        self._queued: set[str] = set()
        self._attempts: dict[str, int] = {}
        self._tasks: list[asyncio.Task[None]] = []

    async def start(self) -> None:
        """Read all definitions and act on them from now on; the catalogue is filled on return. Raises what the store raises."""
        revision = await self._feed.list()
        self._tasks = [
            asyncio.create_task(self._feed.follow(revision), name="definitions-feed"),
            asyncio.create_task(self._work(), name="definitions-reconcile"),
        ]

    async def close(self) -> None:
        """Stop; what was begun can be taken up by the next start."""
        await self._finalizer.close()
        for task in self._tasks:
            task.cancel()
        for task in self._tasks:
            with suppress(asyncio.CancelledError):
                await task
        self._tasks.clear()

    def observe(self, item: Item) -> None:
        """Hear of a definition from whoever just wrote it, ahead of the watch."""
        self._feed.seen(item)

    def forget(self, item: Item) -> None:
        """Hear of a definition's removal from whoever removed it; the item has the revision of that."""
        self._feed.gone(item.key, item.revision)

    def _changed(self, name: str, definition: Definition | None) -> None:
        if definition is None:
            # Its names are free for others.
            self._enqueue_group(name.partition(".")[2], besides=name)
            return
        self._enqueue(name)
        if definition.is_terminating and conditions.has_cleanup_finalizer(definition.head):
            self._finalizer.finalize(definition)

    def _enqueue(self, name: str) -> None:
        if name not in self._queued:
            self._queued.add(name)
            self._queue.put_nowait(name)

    def _enqueue_group(self, group: str, *, besides: str) -> None:
        for definition in self.catalog.all():
            if definition.group == group and definition.name != besides:
                self._enqueue(definition.name)

    async def _work(self) -> None:
        while True:
            name = await self._queue.get()
            self._queued.discard(name)
            try:
                await self._sync(name)
            except FAILURES as error:
                self._retry(name, error)
            except Exception as error:  # noqa: BLE001 -- one definition must not stop the work on all others
                _LOG.exception("a definition cannot be brought up to date", definition=name)
                self._retry(name, error)
            else:
                self._attempts.pop(name, None)

    def _retry(self, name: str, error: Exception) -> None:
        attempt = self._attempts.get(name, 0)
        self._attempts[name] = attempt + 1
        pause = min(_FIRST_PAUSE * 2 ** min(attempt, _DOUBLINGS), _LONGEST_PAUSE)
        _LOG.warning("the status of a definition cannot be written", definition=name, error=str(error), retry_after=pause)
        asyncio.get_running_loop().call_later(pause, self._enqueue, name)

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
