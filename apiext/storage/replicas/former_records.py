"""Moves the records of earlier releases from `<prefix>/apiext.dev/` to `<prefix>/apiext/`."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Final

from apiext.base.meta.log import get_logger
from apiext.storage.paged_reads import latest_pages
from apiext.storage.replicas import server_keys
from apiext.storage.replicas.host_records import HostRecords
from apiext.storage.replicas.replica import is_server_record

if TYPE_CHECKING:
    from collections.abc import Sequence

    from apiext.storage.backend import Backend, KeyValue

KEPT: Final = ("host", "revision-base")
"""Records that stay at the former place, too. They never change, and a server of an earlier release that is started again would record
other ones: another cluster's definitions, or revisions that go back. No object has such a key: that of a CRD has a further segment."""
_MOVED: Final = ("conversion-rules-in-use", "event-expiry", "host-authentication", "host-conversions")
LOCKS: Final = ("migration", "storage-version-migrations")
"""The locks that servers of earlier releases take."""
_TOGETHER: Final = 64
"""Concurrent deletions."""

_LOG: Final = get_logger(__name__)


class FormerRecords:
    """The records that servers of earlier releases left.

    Raises:
        BackendError: from every method, when the backend does not answer.
    """

    def __init__(self, backend: Backend, prefix: str) -> None:
        self._backend = backend
        self._records = HostRecords(backend, prefix)
        self._root = server_keys.former_root(prefix)

    async def move(self) -> None:
        """Copy each record unless the present place has a later one, and delete those of no use. Call it while no earlier release runs."""
        if not (await self._backend.list(self._root, limit=1)).items:
            return
        for name in (*KEPT, *_MOVED):
            await self._copy(name)
        useless = [await self._stored(name) for name in (*_MOVED, *LOCKS)]
        done = await self._delete([pair for pair in useless if pair is not None])
        async for page in latest_pages(self._backend, f"{self._root}{server_keys.COMPANIONS}"):
            done += await self._delete([pair for pair in page if not pair.value])
        async for page in latest_pages(self._backend, f"{self._root}{server_keys.REPLICAS}"):
            done += await self._delete([pair for pair in page if is_server_record(pair.value)])
        if done:
            _LOG.info("records of earlier releases moved", deleted=done)

    async def _copy(self, name: str) -> None:
        former = await self._stored(name)
        if former is None:
            return
        key = self._records.key(name)
        present, _ = await self._backend.get(key)
        # the outcome does not matter: what another server has written meanwhile is later
        if present is None:
            await self._backend.create(key, former.value)
        elif present.revision < former.revision and present.value != former.value:
            await self._backend.update(key, former.value, expected=present.revision)

    async def _stored(self, name: str) -> KeyValue | None:
        return (await self._backend.get(self._records.former_key(name)))[0]

    async def _delete(self, pairs: Sequence[KeyValue]) -> int:
        """Delete keys that are unchanged. Return their number."""
        for first in range(0, len(pairs), _TOGETHER):
            chosen = pairs[first : first + _TOGETHER]
            await asyncio.gather(*(self._backend.delete(pair.key, expected=pair.revision) for pair in chosen))
        return len(pairs)
