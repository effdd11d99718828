"""The way of definitions from the store into the catalogue: a list, then a watch from there on, for ever."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, Protocol

from apiext.definitions.definition import Definition
from apiext.meta.backoff import Backoff
from apiext.meta.errors import StatusError
from apiext.meta.log import get_logger
from apiext.storage.backend import BackendError
from apiext.storage.interface import EventType, ListOptions, StorageError, WatchOptions

if TYPE_CHECKING:
    from apiext.definitions.catalog import Catalog
    from apiext.storage.interface import Codec, Event, Item, Store, Watch

_LOG: Final = get_logger(__name__)
_FIRST_PAUSE: Final = 0.05
_LONGEST_PAUSE: Final = 5.0
FAILURES: Final = (BackendError, StorageError, StatusError)


class Observer(Protocol):
    """Who hears of definitions that were changed or removed (None)."""

    def __call__(self, name: str, definition: Definition | None) -> None:
        """Hear of it."""
        ...


class Feed:
    """Keeps a catalogue up with the store."""

    __slots__ = ("_catalog", "_changed", "_codec", "_store", "_watch")

    def __init__(self, store: Store, codec: Codec, catalog: Catalog, changed: Observer) -> None:
        self._store = store
        self._codec = codec
        self._catalog = catalog
        self._changed = changed
        self._watch: Watch | None = None

    async def list(self) -> int:
        """Read all definitions; the revision they were read at. Raises what the store raises."""
        result = await self._store.list("", self._codec, ListOptions())
        definitions = [definition for item in result.items if (definition := read(item)) is not None]
        before = {definition.name: definition.revision for definition in self._catalog.all()}
        self._catalog.replace(definitions, result.revision)
        for definition in definitions:
            if before.pop(definition.name, -1) < definition.revision:
                self._changed(definition.name, definition)
        for name in before:
            self._changed(name, None)
        return result.revision

    async def follow(self, revision: int) -> None:
        """Follow changes after a revision until cancelled, whatever happens to the store."""
        backoff = Backoff(_FIRST_PAUSE, _LONGEST_PAUSE)
        while True:
            try:
                if revision < 0:
                    revision = await self.list()
                backoff.reset()
                await self._stream(revision)
            except FAILURES as error:
                _LOG.warning("definitions cannot be followed", error=str(error), retry_after=backoff.next)
            except Exception:  # noqa: BLE001 -- without the feed, nothing new would be served until the next start
                _LOG.exception("definitions cannot be followed", retry_after=backoff.next)
            await backoff.pause()
            revision = -1

    async def _stream(self, revision: int) -> None:
        options = WatchOptions(resource_version=str(revision), allow_bookmarks=True)
        self._watch = await self._store.watch("", self._codec, options)
        try:
            async for batch in self._watch:
                for event in batch:
                    if event.type is EventType.ERROR:
                        return
                    self._apply(event)
        finally:
            self._watch.close()
            self._watch = None

    def _apply(self, event: Event) -> None:
        if event.item is not None:
            if event.type is EventType.DELETED:
                self.gone(event.item.key, event.revision)
            else:
                self.seen(event.item)
        self._catalog.advance(event.revision)

    def seen(self, item: Item) -> None:
        """Take over the state of a definition, from whoever knows of it."""
        definition = read(item)
        if definition is not None and self._catalog.put(definition):
            self._changed(definition.name, definition)

    def gone(self, name: str, revision: int) -> None:
        """Take over that a definition was removed."""
        if self._catalog.remove(name, revision):
            self._changed(name, None)


def read(item: Item) -> Definition | None:
    """The definition in an item; None, and a line in the log, if what is stored is no valid definition."""
    try:
        return Definition.from_item(item)
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        _LOG.error("a stored definition cannot be used", definition=item.key, error=str(error))
        return None
