"""Follows the Conversions that are stored as custom resources, while their definition is served."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Final, Protocol, cast

from apiext.base.meta.log import get_logger
from apiext.base.scheduling.tasks import end_tasks
from apiext.resources.conversion.known import Origin
from apiext.resources.conversion.rules.model import DEFINITION
from apiext.storage.watch_events import FAILURES

if TYPE_CHECKING:
    from collections.abc import Mapping

    from apiext.api.endpoints.scopes.scope import Scope
    from apiext.api.serving.cache import ServingCache
    from apiext.base.meta.encoding.json_codec import Object
    from apiext.resources.conversion.known import KnownConversions
    from apiext.resources.definitions.catalog import Catalog
    from apiext.resources.definitions.definition import Definition
    from apiext.resources.registry.rest import ResourceRest
    from apiext.resources.registry.rest_informer import RestInformer
    from apiext.storage.interface import Item

_LOG: Final = get_logger(__name__)
NOT_READ: Final = "the Conversions cannot be read from the store"


def stored_scopes(cache: ServingCache, definition: Definition) -> Mapping[str, Scope]:
    """Return the scopes of the storage version of a definition."""
    return cache.storage_version(cache.info(definition)).scopes


class Statuses(Protocol):
    """Keeps the statuses of Conversions."""

    def put(self, conversion: Object) -> None:
        """Take a new state of a Conversion, which does not change afterwards."""
        ...

    def remove(self, name: str) -> None:
        """Forget a deleted Conversion."""
        ...


class StoredConversions:
    """Passes the Conversions of the store on as long as their definition is established. Without it, it does nothing."""

    def __init__(self, catalog: Catalog, cache: ServingCache, known: KnownConversions, statuses: Statuses) -> None:
        """Create the follower. Conversions are also passed on to `statuses`."""
        self._statuses = statuses
        self._catalog = catalog
        self._cache = cache
        self._known = known
        self._uid = ""
        """That of the definition that is followed."""
        self._informer: RestInformer | None = None
        self._ended: set[asyncio.Task[None]] = set()

    async def start(self) -> None:
        """Read the Conversions if their definition is served, and follow it from now on."""
        self._catalog.subscribe(self._on_change)
        informer = self._follow(self._catalog.get(DEFINITION))
        if informer is not None:
            try:
                await informer.start()
            except FAILURES as error:
                _LOG.warning("the Conversions cannot be read, retrying; no object is converted before", error=str(error))
                # without rules, objects would lose fields
                self._known.missing = NOT_READ
                informer.begin(self._known.settle)

    async def close(self) -> None:
        """Stop following."""
        await end_tasks(*self._ended)
        if self._informer is not None:
            await self._informer.close()

    def _on_change(self, old: Definition | None, new: Definition | None) -> None:
        changed = new or old
        if changed is not None and changed.name == DEFINITION:
            informer = self._follow(new)
            if informer is not None:
                informer.begin()

    def _follow(self, definition: Definition | None) -> RestInformer | None:
        """Return an informer for a new definition, which has to be started; None if the definition is not new."""
        uid = definition.uid if definition is not None and definition.is_established else ""
        if uid == self._uid:
            return None
        self._uid = uid
        self._end()
        self._known.replace(Origin.OBJECT, ())
        self._known.settle()
        if definition is None or not uid:
            return None
        # imported with the definition, which few servers have
        from apiext.resources.registry.rest_informer import RestInformer

        # a change of the definition does not concern the informer: the kind has one version
        rest = cast("ResourceRest", stored_scopes(self._cache, definition)[""].rest)
        self._informer = RestInformer(rest, self._put, self._remove)
        return self._informer

    def _end(self) -> None:
        if self._informer is None:
            return
        task = asyncio.create_task(self._informer.close())
        self._ended.add(task)
        task.add_done_callback(self._ended.discard)
        self._informer = None

    def _put(self, item: Item) -> None:
        obj = item.object()
        obj["metadata"].pop("managedFields", None)
        self._known.put(Origin.OBJECT, obj)
        self._statuses.put(obj)

    def _remove(self, key: str) -> None:
        self._known.remove(Origin.OBJECT, key)
        self._statuses.remove(key)
