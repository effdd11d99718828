"""Reads the documents about stored objects directly from a store; its server may be running."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from apiext.api.admission.attributes import Admission
from apiext.api.serving.cache import ServingCache
from apiext.api.serving.instance_guard import InstanceGuards
from apiext.api.serving.stored_documents import StoredDocuments
from apiext.base.workers.pool import WorkerPool
from apiext.resources.conversion.factory import ConverterFactory
from apiext.resources.conversion.known import Origin
from apiext.resources.definitions.catalog import Catalog
from apiext.resources.definitions.codec import RESOURCE
from apiext.resources.definitions.definition_informer import DefinitionInformer
from apiext.resources.definitions.stored_conversions import read_conversions
from apiext.server.composition.storage_backend import open_for_reading
from apiext.server.start_error import StartError
from apiext.storage.factory import StoreFactory
from apiext.storage.watch_events import FAILURES

if TYPE_CHECKING:
    from contextlib import AsyncExitStack

    from apiext.server.options.options import StorageOptions

_IDLE_SECONDS: Final = 60.0


@dataclass(frozen=True, slots=True)
class OfflineParts:
    """The parts of a server over a store that is only read."""

    catalog: Catalog
    cache: ServingCache
    workers: WorkerPool


async def open_stored(options: StorageOptions, stack: AsyncExitStack) -> StoredDocuments:
    """Return the documents about the stored objects of a store; `stack` closes it.

    Raises:
        StartError: the store cannot be opened or read.
    """
    parts = await open_offline(options, stack)
    return StoredDocuments(parts.catalog, parts.cache, parts.workers)


async def open_offline(options: StorageOptions, stack: AsyncExitStack) -> OfflineParts:
    """Return the parts over a store; `stack` closes it. The definitions are read once.

    Raises:
        StartError: the store cannot be opened or read.
    """
    backend = await open_for_reading(options)
    stack.push_async_callback(backend.close)
    workers = WorkerPool(idle_seconds=_IDLE_SECONDS)
    stack.push_async_callback(workers.close)
    stores = StoreFactory(backend, prefix=options.prefix, watch_cache=False, compaction_interval=0)
    catalog = Catalog()
    informer = DefinitionInformer(stores.store(RESOURCE), catalog)
    converters = ConverterFactory()
    try:
        await informer.read()
        converters.known.replace(Origin.OBJECT, await read_conversions(stores))
    except FAILURES as error:
        raise StartError(str(error)) from error
    cache = ServingCache(stores, Admission(), InstanceGuards(informer, stores.key_prefix(RESOURCE)), converters, workers)
    stack.push_async_callback(cache.close)
    return OfflineParts(catalog, cache, workers)
