"""Forgetting old revisions, a little at a time."""

from __future__ import annotations

import asyncio
import sqlite3
from collections.abc import Callable
from typing import Final

from apiext.storage.backend import FutureRevisionError
from apiext.storage.sqlite import schema
from apiext.storage.sqlite.reads import Reads
from apiext.storage.sqlite.writer import Writer

_WINDOW: Final = 250
"""Revisions whose past is removed in one transaction: writers wait for it for some milliseconds."""


class Compaction:
    """Removes what no read and no watch may ask for any more. The file does not shrink: its free pages are used again."""

    def __init__(self, writer: Writer, reads: Reads) -> None:
        self._writer = writer
        self._reads = reads
        self._one = asyncio.Lock()

    async def compact(self, revision: int, latest: int) -> None:
        """As `Backend.compact`. When it is interrupted, the next one goes on where it stopped."""
        if revision > latest:
            raise FutureRevisionError(latest)
        async with self._one:
            if revision <= self._reads.compacted:
                return
            # First nobody may begin to read what is about to go.
            self._reads.compacted = revision
            await self._writer.run(lambda connection: _announce(connection, revision))
            low = self._reads.forgotten()
            while low < revision:
                high = min(low + _WINDOW, revision)
                await self._writer.run(_forget(low, high))
                low = high


def _announce(connection: sqlite3.Connection, revision: int) -> None:
    connection.execute(schema.SET_COMPACTED, (revision,))


def _forget(low: int, high: int) -> Callable[[sqlite3.Connection], None]:
    def job(connection: sqlite3.Connection) -> None:
        connection.execute(schema.FORGET_REPLACED, (low, high))
        connection.execute(schema.FORGET_DELETED, (low, high))
        connection.execute(schema.SET_FORGOTTEN, (high,))

    return job
