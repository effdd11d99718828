"""Definitions and objects as a store has them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from apiext.storage import stored_object
from apiext.storage.backend import BackendError, CompactedError
from apiext.storage.factory import StoreFactory
from apiext.storage.paged_reads import pages
from apiext.tools.object_access.builtin_definitions import is_builtin
from apiext.tools.object_access.interface import RescueError
from apiext.tools.object_access.offline import OfflineObjects
from apiext.tools.releases.interface import Release, SourceError, SourceObject, is_wanted
from apiext.tools.releases.object_pages import paged

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, Awaitable, Callable, Collection, Sequence

    from apiext.resources.definitions.definition import Definition
    from apiext.storage.backend import Backend, KeyValue


class StoreSource:
    """Implements WholeSource over a backend. Bytes that cannot be read are objects with a problem."""

    def __init__(self, origin: str, backend: Backend, *, prefix: str, on_close: Callable[[], Awaitable[None]]) -> None:
        self._origin = origin
        self._backend = backend
        self._stores = StoreFactory(backend, prefix=prefix, watch_cache=False, compaction_interval=0)
        self._on_close = on_close

    @property
    def origin(self) -> str:
        """Implement ObjectSource.origin."""
        return self._origin

    async def release(self, names: Collection[str] | None = None, *, groups: Collection[str] = ()) -> Release:
        """Implement WholeSource.release: the stored definitions that can be read."""
        try:
            stored = await OfflineObjects(self._stores).definitions()
        except RescueError as error:
            raise SourceError(f"{self._origin}: {error}") from error
        found = [definition for definition in stored if not is_builtin(definition) and is_wanted(definition.name, names, groups)]
        return Release(self._origin, {definition.name: definition for definition in found}, is_live=True)

    async def count(self, definition: Definition) -> int | None:
        """Implement ObjectSource.count."""
        try:
            return await self._backend.count(self._stores.key_prefix(definition.resource))
        except BackendError as error:
            raise SourceError(f"{self._origin}: {error}") from error

    async def pages(self, definition: Definition) -> AsyncGenerator[Sequence[SourceObject]]:
        """Implement ObjectSource.pages. Read at one revision, unless the store compacts it meanwhile."""
        prefix, start = self._stores.key_prefix(definition.resource), ""
        while True:
            try:
                async for found in pages(self._backend, prefix, start=start):
                    for page in paged((_source_object(pair, prefix), len(pair.value)) for pair in found.items):
                        yield page
                    start = f"{found.items[-1].key}\0" if found.items else start
            except CompactedError:
                continue
            except BackendError as error:
                raise SourceError(f"{self._origin}: {error}") from error
            return

    async def close(self) -> None:
        """Implement ObjectSource.close."""
        await self._on_close()


def _source_object(pair: KeyValue, prefix: str) -> SourceObject:
    key = pair.key.removeprefix(prefix)
    try:
        obj = stored_object.loads(pair.value)
    except (ValueError, RecursionError) as error:
        encrypted = stored_object.encoding(pair.value) == "encrypted"
        return SourceObject(key, {}, is_stored=True, problem="is encrypted" if encrypted else f"cannot be parsed: {error}")
    if not isinstance(obj, dict):
        return SourceObject(key, {}, is_stored=True, problem="is not an object")
    return SourceObject(key, obj, is_stored=True)
