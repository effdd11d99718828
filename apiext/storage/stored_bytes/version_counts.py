"""Counts the versions in which a resource's objects are stored, from their bytes. Decodes no object."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from apiext.base.scheduling.time_slice import Pace, paced
from apiext.storage import stored_object
from apiext.storage.backend import CompactedError
from apiext.storage.paged_reads import pages

if TYPE_CHECKING:
    from apiext.base.meta.gvk import GroupResource
    from apiext.storage.backend import Backend, KeyValue
    from apiext.storage.cacher.cached_store import CachedStore

UNKNOWN: Final = ""
"""The version of objects that are encrypted, cannot be parsed, or have another group's apiVersion."""


@dataclass(frozen=True, slots=True)
class StoredCounts:
    """The number of a resource's stored objects by version, at one revision of the store."""

    by_version: Mapping[str, int]
    """Numbers above 0 by version name in the stored bytes, including UNKNOWN and versions that the definition lacks."""
    revision: int

    def of(self, version: str) -> int:
        """Return the number of objects stored in a version."""
        return self.by_version.get(version, 0)

    def at_most(self, version: str) -> int:
        """Return the number of objects that may be stored in a version, including those of unknown version."""
        return self.of(version) + self.unknown

    @property
    def unknown(self) -> int:
        """Return the number of objects whose version is unknown."""
        return self.of(UNKNOWN)

    @property
    def total(self) -> int:
        """Return the number of all objects."""
        return sum(self.by_version.values())


class StoredVersions:
    """Reads the stored versions of one resource: from its loaded watch cache, otherwise from the backend.

    Raises:
        BackendError: from every method, when the backend does not answer.
    """

    def __init__(self, *, backend: Backend, prefix: str, resource: GroupResource, store: CachedStore | None = None) -> None:
        """Create a reader of the keys below a prefix, which ends with a slash."""
        self._backend = backend
        self._prefix = prefix
        self._group = resource.group
        self._store = store

    async def counts(self) -> StoredCounts:
        """Return the exact numbers, at a revision not older than the call."""
        cache = await self._store.latest_cache() if self._store is not None else None
        if cache is not None:
            return self._counts(cache.totals.api_versions, cache.revision)
        while True:
            try:
                return await self._scan()
            except CompactedError:
                continue

    def known(self) -> StoredCounts | None:
        """Return the watch cache's numbers, which may be stale. Return None if it is not loaded."""
        if self._store is None or not self._store.cache.loaded:
            return None
        return self._counts(self._store.cache.totals.api_versions, self._store.cache.revision)

    async def keys(self, version: str) -> AsyncGenerator[str]:
        """Yield the keys ("namespace/name" or "name") of the objects stored in a version, in order. The version may be UNKNOWN.

        An object written during the iteration may be missing.
        """
        async for key, _, stored in self._objects():
            if stored == version:
                yield key

    async def revisions(self) -> AsyncGenerator[tuple[str, int]]:
        """Yield the keys of all objects with their revisions, in order.

        An object written during the iteration appears in its old or new state.
        """
        async for key, revision, _ in self._objects():
            yield key, revision

    async def _objects(self) -> AsyncGenerator[tuple[str, int, str]]:
        """Yield key, revision and version of each object."""
        cache = await self._store.latest_cache() if self._store is not None else None
        if cache is not None:
            async for entry in paced(cache.range("")):
                yield entry.key, entry.revision, self._version(entry.api_version)
            return
        pace, start = Pace(), ""
        while True:
            try:
                async for page in pages(self._backend, self._prefix, start=start):
                    for pair in page.items:
                        await pace.checkpoint()
                        yield pair.key[len(self._prefix) :], pair.revision, self._version(stored_object.api_version(pair.value))
                        start = f"{pair.key}\0"
            except CompactedError:
                continue
            return

    async def get(self, key: str) -> KeyValue | None:
        """Return an object's stored bytes, under its complete key, and their revision. Return None if there is none."""
        pair, _ = await self._backend.get(self._prefix + key)
        return pair

    async def page(self, after: str, limit: int) -> tuple[Sequence[KeyValue], str]:
        """Return the next objects after a key in order ("": the first ones), under complete keys.

        The second result is the last one's key, "" if none follow.
        """
        start = f"{self._prefix}{after}\0" if after else ""
        result = await self._backend.list(self._prefix, start=start, limit=limit)
        return result.items, result.items[-1].key.removeprefix(self._prefix) if result.more else ""

    async def _scan(self) -> StoredCounts:
        """Count in the backend. Raises CompactedError."""
        pace, counts, revision = Pace(), dict[str, int](), 0
        async for page in pages(self._backend, self._prefix):
            revision = revision or page.revision
            for pair in page.items:
                api_version = stored_object.api_version(pair.value)
                counts[api_version] = counts.get(api_version, 0) + 1
                await pace.checkpoint()
        return self._counts(counts, revision)

    def _counts(self, by_api_version: Mapping[str, int], revision: int) -> StoredCounts:
        counts: dict[str, int] = {}
        for api_version, number in by_api_version.items():
            version = self._version(api_version)
            counts[version] = counts.get(version, 0) + number
        return StoredCounts(counts, revision)

    def _version(self, api_version: str) -> str:
        """Return the version name in an apiVersion, UNKNOWN for another group."""
        group, _, version = api_version.rpartition("/")
        return version if group == self._group else UNKNOWN
