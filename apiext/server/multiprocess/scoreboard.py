"""Counters in memory that the supervisor and all workers share: connections and signs of life of each worker, and replaced workers.

Each number has one writer. Reads and writes of an aligned number are atomic.
"""

from __future__ import annotations

import mmap
import os
import struct
import threading
import zlib
from typing import TYPE_CHECKING, Final

from apiext.server.multiprocess.metric_sums import FamilyRecord, cumulative, decode_families, encode_families, sum_families

if TYPE_CHECKING:
    from collections.abc import Sequence

_HEAD: Final = 2
_SLOT: Final = 3


class Scoreboard:
    """The shared numbers. Processes that the creator forks share them."""

    def __init__(self, workers: int) -> None:
        self._memory = mmap.mmap(-1, 8 * (_HEAD + _SLOT * workers))
        self._numbers = memoryview(self._memory).cast("Q")

    # --- written by the supervisor --------------------------------------------------------------------------------------

    @property
    def replaced(self) -> int:
        """Workers that ended unexpectedly and were replaced."""
        return self._numbers[0]

    @replaced.setter
    def replaced(self, count: int) -> None:
        self._numbers[0] = count

    @property
    def ledger_version(self) -> int:
        """Grows before and after each change of the counters of ended workers; odd during a change."""
        return self._numbers[1]

    @ledger_version.setter
    def ledger_version(self, version: int) -> None:
        self._numbers[1] = version

    def clear(self, worker: int) -> None:
        """Forget the connections of an ended worker."""
        self._numbers[self._at(worker)] = self._numbers[self._at(worker) + 1] = 0

    # --- written by a worker --------------------------------------------------------------------------------------------

    def publish(self, worker: int, *, received: int, connections: int) -> None:
        """Set the connections that a worker has received in all, and those that are open."""
        at = self._at(worker)
        self._numbers[at + 1] = connections
        self._numbers[at] = received

    def beat(self, worker: int) -> None:
        """Count a sign of life of a worker."""
        self._numbers[self._at(worker) + 2] += 1

    def beats(self, worker: int) -> int:
        """Return the number of signs of life of a worker."""
        return self._numbers[self._at(worker) + 2]

    def received(self, worker: int) -> int:
        """Return the number of connections that a worker has received in all."""
        return self._numbers[self._at(worker)]

    def connections(self, worker: int) -> int:
        """Return the number of open connections of a worker."""
        return self._numbers[self._at(worker) + 1]

    @staticmethod
    def _at(worker: int) -> int:
        return _HEAD + _SLOT * worker


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
