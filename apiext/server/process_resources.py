"""System resources of the process: the limit of open files, and free memory that the C library keeps."""

from __future__ import annotations

import asyncio
import gc
import resource
from typing import Final

from apiext.scheduling.backoff import Backoff
from apiext.scheduling.ticks import until_tick
from apiext.workers.free_memory import resident_bytes, trimmer

_INTERVAL: Final = 10.0
"""Seconds between looks at the process's memory."""
_GROWTH: Final = 32 << 20
"""Growth in bytes before the first search for free memory. A search blocks allocations, for 25 ms with 200 MiB of small pieces."""
_NOTABLE: Final = 8 << 20
"""Growth, or returned memory, in bytes: above it, the next search is soon."""
_MOST_LOOKS: Final = 32
"""Maximum of looks between two searches."""


def raise_open_files_limit() -> None:
    """Raise the limit of open files to its maximum, as Go programs do. The usual soft limit of 1,024 is too small for a server."""
    _, maximum = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (maximum, maximum))


async def return_free_memory() -> None:
    """Return free memory to the system periodically while the process is larger than at its start, until cancelled.

    Only glibc needs and offers this. It does not report how much it keeps, so the process searches; searches become rare while the process
    neither grows nor returns memory.
    """
    trim = trimmer()
    if trim is None:
        return
    enough = resident_bytes() + _GROWTH
    kept = looks = 0
    backoff = Backoff(1, _MOST_LOOKS)
    while True:
        await until_tick(_INTERVAL)
        resident = resident_bytes()
        looks -= 1
        if resident > kept + _NOTABLE:
            backoff.reset()
        elif looks > 0:
            continue
        if resident <= enough:
            continue
        # an idle process creates no objects, so it starts no collection by itself
        gc.collect(1)
        await asyncio.to_thread(trim, 0)
        kept = resident_bytes()
        if resident > kept + _NOTABLE:
            backoff.reset()
        looks = int(backoff.take())
