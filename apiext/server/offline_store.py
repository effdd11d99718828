"""Reads the documents about stored objects directly from a store; its server may be running."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from apiext.admission.attributes import Admission
from apiext.conversion.factory import ConverterFactory
from apiext.definitions.catalog import Catalog
from apiext.definitions.codec import RESOURCE
from apiext.definitions.definition_informer import FAILURES, DefinitionInformer
from apiext.server.composition.storage_backend import open_for_reading
from apiext.server.start_error import StartError
from apiext.serving.cache import ServingCache
from apiext.serving.instance_guard import InstanceGuards
from apiext.serving.stored_documents import StoredDocuments
from apiext.storage.factory import StoreFactory
from apiext.workers.pool import WorkerPool

if TYPE_CHECKING:
    from contextlib import AsyncExitStack

    from apiext.server.options.options import StorageOptions

_IDLE_SECONDS: Final = 60.0


async def open_stored(options: StorageOptions, stack: AsyncExitStack) -> StoredDocuments:
    """Return the documents about the stored objects of a store; `stack` closes it.

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
    try:
        await informer.read()
    except FAILURES as error:
        raise StartError(str(error)) from error
    cache = ServingCache(stores, Admission(), InstanceGuards(informer, stores.key_prefix(RESOURCE)), ConverterFactory(), workers)
    stack.push_async_callback(cache.close)
    return StoredDocuments(catalog, cache, workers)
