"""Keeps in the store by which conversion rules the servers on it convert, so that a restart or another server does not refuse them."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Final

from apiext.base.meta.log import get_logger
from apiext.resources.definitions.stored_conversions import RULES_IN_USE
from apiext.storage.backend import BackendError
from apiext.storage.replicas.host_records import HostRecords

if TYPE_CHECKING:
    from apiext.resources.conversion.known import KnownConversions

_LOG: Final = get_logger(__name__)
_RETRY_SECONDS: Final = 5.0


class RecordedRules:
    """The record of the rules in use: digests by the name of the CRD."""

    def __init__(self, known: KnownConversions, records: HostRecords) -> None:
        self._known = known
        self._records = records
        self._changed = asyncio.Event()
        known.in_use.changed = self._changed.set

    async def recall(self) -> None:
        """Take over what the servers have recorded. A store that does not answer gives nothing."""
        try:
            for recorded in await self._records.records(RULES_IN_USE):
                self._known.in_use.resume(recorded)
        except BackendError as error:
            _LOG.warning("conversion rules in use not read", error=str(error))

    async def run(self) -> None:
        """Record each change, and take over those of other servers, until cancelled."""
        while True:
            await self._changed.wait()
            self._changed.clear()
            try:
                await self._exchange()
            except BackendError as error:
                _LOG.warning("conversion rules in use not recorded, retrying", error=str(error))
                await asyncio.sleep(_RETRY_SECONDS)
                self._changed.set()

    async def _exchange(self) -> None:
        """Read and write the record. Raises BackendError."""
        await self._records.change(RULES_IN_USE, self._exchanged)

    def _exchanged(self, recorded: dict[str, str]) -> dict[str, str]:
        """Take over what is recorded, and return what to record."""
        current = {one.name: one.digest for one in self._known}
        self._known.in_use.resume({name: digest for name, digest in recorded.items() if current.get(name) == digest})
        # other servers may know Conversions that have not been listed here, or cannot be read
        is_partial = bool(self._known.missing or self._known.unread)
        kept = {name: digest for name, digest in recorded.items() if is_partial or name in current}
        return kept | self._known.in_use.digests(current.keys())
