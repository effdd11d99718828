"""The latest metrics of each worker, and the counters of those that ended, in memory that all processes share.

Without them a sum of counters would fall when a worker ends or does not answer, and Prometheus takes a fall for a restart from zero.
"""

from __future__ import annotations

import os
import struct
import threading
import zlib
from typing import TYPE_CHECKING, Final

from apiext.server.multiprocess.metric_sums import FamilyRecord, cumulative, decode_families, encode_families, sum_families

if TYPE_CHECKING:
    from collections.abc import Sequence

    from apiext.server.multiprocess.scoreboard import Scoreboard

_HEADER: Final = struct.Struct("!QQI")
"""Number of the write, length and checksum of what follows."""
_ATTEMPTS: Final = 100


class SharedRecord:
    """Bytes with one process that writes. Its end in the middle of a write leaves the former bytes."""

    def __init__(self, name: str) -> None:
        self._files = [os.memfd_create(f"{name}-{part}") for part in "ab"]
        self._writing = threading.Lock()

    def write(self, data: bytes) -> None:
        """Replace the bytes."""
        # a scrape that is cancelled leaves a thread that still writes
        with self._writing:
            numbers = [self._head(file)[0] for file in self._files]
            older = self._files[numbers.index(min(numbers))]
            # invalid until it is complete
            os.ftruncate(older, 0)
            os.pwrite(older, data, _HEADER.size)
            os.pwrite(older, _HEADER.pack(max(numbers) + 1, len(data), zlib.crc32(data)), 0)

    def read(self) -> bytes:
        """Return the bytes, empty before the first write."""
        for _ in range(_ATTEMPTS):
            for number, file in sorted(((self._head(file)[0], file) for file in self._files), reverse=True):
                _, length, checksum = self._head(file)
                data = os.pread(file, length, _HEADER.size)
                if number and zlib.crc32(data) == checksum and len(data) == length:
                    return data
            if not any(self._head(file)[0] for file in self._files):
                return b""
        return b""

    @staticmethod
    def _head(file: int) -> tuple[int, int, int]:
        data = os.pread(file, _HEADER.size, 0)
        number, length, checksum = _HEADER.unpack(data) if len(data) == _HEADER.size else (0, 0, 0)
        return number, length, checksum


class MetricsLedger:
    """The records of all workers. The supervisor retires ended workers; each worker writes its own record."""

    def __init__(self, workers: int, scoreboard: Scoreboard) -> None:
        self._scoreboard = scoreboard
        self._records = [SharedRecord(f"metrics-{index + 1}") for index in range(workers)]
        self._ended = SharedRecord("metrics-ended")

    def write(self, worker: int, families: Sequence[FamilyRecord]) -> None:
        """Replace the metrics of a worker."""
        self._records[worker].write(encode_families(families))

    def read(self) -> list[list[FamilyRecord]]:
        """Return the metrics of all workers and the counters of ended ones."""
        found: list[bytes] = []
        for _ in range(_ATTEMPTS):
            version = self._scoreboard.ledger_version
            found = [record.read() for record in (self._ended, *self._records)]
            if version % 2 == 0 and version == self._scoreboard.ledger_version:
                break
        return [decode_families(data) for data in found if data]

    def retire(self, worker: int) -> None:
        """Add the counters of an ended worker to those of the others."""
        last = self._records[worker].read()
        if not last:
            return
        ended = self._ended.read()
        known = [decode_families(data) for data in (ended, last) if data]
        self._scoreboard.ledger_version += 1
        self._ended.write(encode_families(cumulative(sum_families(known))))
        self._records[worker].write(b"")
        self._scoreboard.ledger_version += 1

    def reset(self) -> None:
        """Forget the counters of ended workers."""
        self._ended.write(b"")
