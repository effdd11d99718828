"""The record of a restoration that is under way: no server may use the store before it ends."""

from __future__ import annotations

from typing import Final

from apiext.storage.backend import Backend, BackendError
from apiext.storage.replicas.host_records import HostRecords

RESTORE_RECORD: Final = "restore"
"""Name of the record."""


async def refuse_unfinished_restore(backend: Backend, prefix: str) -> None:
    """Check that a store is not being restored.

    Raises:
        BackendError: it is, or the store does not answer.
    """
    records = HostRecords(backend, prefix)
    for record in await records.pairs(RESTORE_RECORD):
        raise BackendError(f"the store has an unfinished restoration ({record.key}): repeat apiext restore")
