"""Work that one of the live servers on a store does at a time."""

from __future__ import annotations

import asyncio
from contextlib import suppress
from typing import TYPE_CHECKING

import orjson

from apiext.storage.backend import BackendError
from apiext.storage.replicas.host_records import HostRecords
from apiext.storage.replicas.roll_call import FAREWELL_SECONDS

if TYPE_CHECKING:
    from apiext.storage.backend import Backend
    from apiext.storage.replicas.roll_call import Replicas


class ReplicaLock:
    """A record that names the server which does the work. Another one takes it over when that server is gone.

    A server that was taken for dead may continue beside its successor: the work must bear that.
    """

    def __init__(self, backend: Backend, prefix: str, replicas: Replicas, name: str) -> None:
        self._backend = backend
        self._replicas = replicas
        self._key = HostRecords(backend, prefix).key(name)
        self._record = _record(replicas.id)

    async def acquire(self) -> bool:
        """Report whether this server holds the lock now; take it if it is free, or if its holder is not alive.

        Raises:
            BackendError: the store does not answer.
        """
        pair, _ = await self._backend.get(self._key)
        if pair is not None and pair.value == self._record:
            return True
        if pair is None:
            result = await self._backend.create(self._key, self._record)
        elif pair.value in {_record(replica.id) for replica in await self._replicas.roll_call()}:
            return False
        else:
            result = await self._backend.update(self._key, self._record, expected=pair.revision)
        # another task of this server may have been faster
        return result.succeeded or (result.current is not None and result.current.value == self._record)

    async def release(self) -> None:
        """Free the lock if this server holds it and the store answers soon."""
        with suppress(BackendError, TimeoutError):
            async with asyncio.timeout(FAREWELL_SECONDS):
                pair, _ = await self._backend.get(self._key)
                if pair is not None and pair.value == self._record:
                    await self._backend.delete(self._key, expected=pair.revision)


def _record(holder: str) -> bytes:
    return orjson.dumps({"holder": holder}) + b"\n"
