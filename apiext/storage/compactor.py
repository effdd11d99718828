"""Forgetting the past: every interval, what was the latest revision an interval ago becomes the oldest one kept.

Mirrors apiserver pkg/storage/etcd3/compact.go.
"""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Final

from apiext.meta.log import get_logger
from apiext.storage.backend import BackendError, CompactedError, FutureRevisionError

if TYPE_CHECKING:
    from apiext.storage.backend import Backend

_LOG: Final = get_logger(__name__)


class Compactor:
    """Compacts a backend by age."""

    def __init__(self, *, backend: Backend, interval: float) -> None:
        self._backend = backend
        self._interval = interval

    async def run(self) -> None:
        """Compact for ever."""
        while True:
            try:
                await self.step()
            except BackendError as error:
                _LOG.warning("store cannot be compacted now", error=str(error))
            except Exception:  # noqa: BLE001 - or the store would grow for ever
                _LOG.exception("store cannot be compacted")
            await asyncio.sleep(self._interval)

    async def step(self) -> None:
        """Compact up to the revision that was the latest at the step before this one. Raises BackendError."""
        try:
            await self._backend.compact_aged()
        except (CompactedError, FutureRevisionError):
            # another server on the same store was first, or the store is not the one it was
            _LOG.debug("nothing to compact")
