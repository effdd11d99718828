"""Informer of CustomResourceDefinitions: lists and watches the store, and keeps the catalog up to date.

All changes of definitions reach the catalog through this informer, and other parts through `Catalog.subscribe`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from apiext.base.meta.log import get_logger
from apiext.resources.definitions.codec import RESOURCE, CRDCodec
from apiext.resources.definitions.definition import Definition
from apiext.storage.errors import KeyNotFoundError
from apiext.storage.interface import EventType, ListOptions
from apiext.storage.store_times import untimed
from apiext.storage.watch_events import StoreInformer

if TYPE_CHECKING:
    from apiext.resources.definitions.catalog import Catalog
    from apiext.storage.interface import Event, Item, Store

_LOG: Final = get_logger(__name__)


class DefinitionInformer(StoreInformer):
    """Keeps a catalog equal to the definitions in the store."""

    def __init__(self, store: Store, catalog: Catalog) -> None:
        self.codec = CRDCodec()
        super().__init__(store, self.codec, str(RESOURCE))
        self.catalog = catalog

    def observe(self, item: Item) -> None:
        """Put a definition that was just read or written into the catalog, before its watch event arrives."""
        known = self.catalog.get(item.key)
        if known is not None and known.revision >= item.revision:
            # each write is observed twice, by its request and by its watch event
            return
        definition = _definition(item)
        if definition is not None:
            self.catalog.put(definition)

    def forget(self, name: str, revision: int) -> None:
        """Remove a definition that was deleted at a revision from the catalog, before its watch event arrives."""
        self.catalog.remove(name, revision)

    async def refresh(self, name: str) -> None:
        """Read a definition from the store into the catalog, before its watch events arrive.

        Raises:
            BackendError, StorageError: the read failed.
        """
        known = self.catalog.get(name)
        try:
            # work of the server, as its watch, and not of the request that needs it
            with untimed():
                found = await self.store.get(name, self.codec)
            self.observe(found)
        except KeyNotFoundError:
            if known is not None:
                # The revision of the deletion is unknown, but above the known one. The watch event brings it.
                self.forget(name, known.revision)

    async def read(self) -> int:
        """List all definitions into the catalog. Return the revision of the list. Raises as `start`."""
        result = await self.store.list("", self.codec, ListOptions())
        definitions = [definition for item in result.items if (definition := _definition(item)) is not None]
        self.catalog.replace(definitions, result.revision)
        return result.revision

    def apply(self, event: Event) -> None:
        """Take a change, and the revision of a bookmark."""
        if event.item is not None:
            if event.type is EventType.DELETED:
                self.forget(event.item.key, event.revision)
            else:
                self.observe(event.item)
        self.catalog.advance(event.revision)


def _definition(item: Item) -> Definition | None:
    """Return the definition in an item. If the stored object is not a valid definition, log an error and return None."""
    try:
        return Definition.from_item(item)
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        _LOG.error("invalid stored definition ignored", definition=item.key, error=str(error))
        return None
