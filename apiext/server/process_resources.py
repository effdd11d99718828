"""System resources of the process: the limit of open files, and free memory that the C library keeps."""

from __future__ import annotations

import asyncio
import gc
import resource
import sys
import time
from typing import Final

from apiext.base.scheduling.backoff import Backoff
from apiext.base.scheduling.ticks import until_tick
from apiext.base.workers.free_memory import resident_bytes, trimmer

LOOK_SECONDS: Final = 10.0
"""Seconds between looks at the process's memory."""
_GROWTH: Final = 32 << 20
"""Growth in bytes before the first search for free memory. A search blocks allocations, for 25 ms with 200 MiB of small pieces."""
_NOTABLE: Final = 8 << 20
"""Growth, or returned memory, in bytes: above it, the next search is soon."""
_MOST_LOOKS: Final = 32
"""Maximum of looks between two searches."""
_LEAST_GARBAGE: Final = 8 << 20
"""Growth in bytes before a full collection; at least a sixteenth of the process's memory."""
_LASTING_LOOKS: Final = 6
"""Looks that must find the growth: what definitions and requests occupied for a while is freed without the collector."""
_COLLECTING: Final = 1 / 5_000
"""The largest part of the time that full collections may take. One takes 0.3 ms for every 1,000 objects, and holds the event loop."""


def raise_open_files_limit() -> None:
    """Raise the limit of open files to its maximum, as Go programs do. The usual soft limit of 1,024 is too small for a server."""
    _, maximum = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (maximum, maximum))


def share_of_open_files(share: int) -> int:
    """Return a part of the limit of open files of the process: one in `share`."""
    limit, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
    return sys.maxsize if limit == resource.RLIM_INFINITY else limit // share


class FullCollections:
    """Collects reference cycles of old objects when the process has grown for good.

    Requests and former definitions leave none (tests/integration/test_reference_cycles.py), so this is for those that nobody knows of.
    """

    def __init__(self) -> None:
        self._kept = resident_bytes()
        self._grown = 0
        """The latest looks, in a row, that found the growth."""
        self._earliest = 0.0
        """The monotonic time before which the next collection would cost too much."""

    def look(self, resident: int) -> None:
        """Collect if it is due; `resident` are the bytes that the process occupies."""
        self._kept = min(self._kept, resident)
        begin = time.monotonic()
        self._grown = self._grown + 1 if resident >= self._kept + max(_LEAST_GARBAGE, self._kept // 16) else 0
        if self._grown < _LASTING_LOOKS or begin < self._earliest:
            return
        self._grown = 0
        gc.collect()
        end = time.monotonic()
        self._earliest = end + (end - begin) / _COLLECTING
        self._kept = resident_bytes()


async def return_free_memory() -> None:
    """Collect old cycles, and return free memory to the system, while the process is larger than at its start, until cancelled.

    Only glibc needs and offers the latter: `ctypes`, 0.3 MiB, is loaded after the first growth. glibc does not report how much it keeps,
    so the process searches; searches become rare while the process neither grows nor returns memory.
    """
    enough = resident_bytes() + _GROWTH
    collections = FullCollections()
    kept = looks = 0
    backoff = Backoff(1, _MOST_LOOKS)
    while True:
        await until_tick(LOOK_SECONDS)
        resident = resident_bytes()
        collections.look(resident)
        looks -= 1
        if resident > kept + _NOTABLE:
            backoff.reset()
        elif looks > 0:
            continue
        if resident <= enough:
            continue
        trim = trimmer()
        if trim is None:
            enough = sys.maxsize  # cycles only, from now on
            continue
        # an idle process creates no objects, so it starts no collection by itself
        gc.collect(1)
        await asyncio.to_thread(trim, 0)
        kept = resident_bytes()
        if resident > kept + _NOTABLE:
            backoff.reset()
        looks = int(backoff.take())
