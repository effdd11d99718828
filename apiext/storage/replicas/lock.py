"""A lock between the servers on a store: one live server at a time does the work."""

from __future__ import annotations

import asyncio
from contextlib import suppress
from typing import TYPE_CHECKING

import orjson

from apiext.storage.backend import BackendError
from apiext.storage.replicas.call_folder import FAREWELL_SECONDS
from apiext.storage.replicas.former_records import LOCKS
from apiext.storage.replicas.host_records import HostRecords

if TYPE_CHECKING:
    from apiext.storage.backend import Backend
    from apiext.storage.replicas.roll_call import Replicas


class ReplicaLock:
    """A record with the server that does the work. Another server takes over when that one is gone.

    While servers of earlier releases run, the holder also has the record that they look at, if they know the lock. A server that seemed
    dead may continue beside its successor, and so may one that held the lock when an earlier release was started again. The work must
    tolerate that.
    """

    def __init__(self, backend: Backend, prefix: str, replicas: Replicas, name: str) -> None:
        self._backend = backend
        self._replicas = replicas
        records = HostRecords(backend, prefix)
        self._key, self._former_key = records.key(name), records.former_key(name)
        self._is_known = name in LOCKS
        """Whether servers of earlier releases take the lock, too."""
        self._record = _record(replicas.id)

    async def acquire(self) -> bool:
        """Take the lock if it is free or its holder dead. Report whether this server now holds it.

        Raises:
            BackendError: the store does not answer.
        """
        if not await self._take(self._key):
            return False
        if self._is_shared and not await self._take(self._former_key):
            await self._free(self._key)
            return False
        return True

    @property
    def _is_shared(self) -> bool:
        return self._is_known and self._replicas.has_former

    async def _take(self, key: str) -> bool:
        pair, _ = await self._backend.get(key)
        if pair is not None and pair.value == self._record:
            return True
        if pair is None:
            result = await self._backend.create(key, self._record)
        elif pair.value in {_record(replica.id) for replica in await self._replicas.roll_call()}:
            return False
        else:
            result = await self._backend.update(key, self._record, expected=pair.revision)
        # another task of this server may have been faster
        return result.succeeded or (result.current is not None and result.current.value == self._record)

    async def release(self) -> None:
        """Free the lock if this server holds it and the store answers soon."""
        with suppress(BackendError, TimeoutError):
            async with asyncio.timeout(FAREWELL_SECONDS):
                if self._is_shared:
                    await self._free(self._former_key)
                await self._free(self._key)

    async def _free(self, key: str) -> None:
        pair, _ = await self._backend.get(key)
        if pair is not None and pair.value == self._record:
            await self._backend.delete(key, expected=pair.revision)


def _record(holder: str) -> bytes:
    return orjson.dumps({"holder": holder}) + b"\n"
