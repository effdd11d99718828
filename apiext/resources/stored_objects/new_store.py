"""A new embedded store, filled with the stored bytes of objects before a server uses it."""

from __future__ import annotations

from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, Final

from apiext.resources.definitions.codec import RESOURCE, CRDCodec
from apiext.storage.factory import StoreFactory
from apiext.storage.sqlite.backend import SQLiteBackend

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator
    from pathlib import Path

    from apiext.resources.definitions.definition import Definition

_DEADLINE_SECONDS: Final = 120.0


class NewStore:
    """Creates definitions and objects as bytes: uids, managedFields and stored versions stay.

    Raises:
        BackendError: from every method, if the store cannot be written.
    """

    def __init__(self, stores: StoreFactory) -> None:
        self._stores = stores

    async def add(self, definition: Definition, key: str, data: bytes) -> None:
        """Create an object of a definition. The key is "namespace/name" or "name"."""
        await self._stores.backend.create(self._stores.key_prefix(definition.resource) + key, data)

    async def define(self, definition: Definition) -> None:
        """Create a definition, after its objects."""
        await self._stores.backend.create(self._stores.key_prefix(RESOURCE) + definition.name, CRDCodec().encode(definition.object).stored)


@asynccontextmanager
async def new_store(path: Path) -> AsyncGenerator[NewStore]:
    """Yield the new store in a file, and close it at the end. Raises BackendError."""
    backend = await SQLiteBackend.open(path, deadline=_DEADLINE_SECONDS)
    try:
        yield NewStore(StoreFactory(backend, watch_cache=False, compaction_interval=0))
    finally:
        await backend.close()
