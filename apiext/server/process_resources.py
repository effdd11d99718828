"""The process's use of system resources: open files, and memory that the C library keeps after a surge of work."""

from __future__ import annotations

import asyncio
import ctypes
import gc
import resource
from pathlib import Path
from typing import Final

from apiext.scheduling.backoff import Backoff

_INTERVAL: Final = 10.0
"""Seconds between looks at the process's memory."""
_GROWTH: Final = 32 << 20
"""Bytes that the process may grow without a search for free memory, which blocks allocations: 25 ms for 200 MiB in pieces."""
_NOTABLE: Final = 8 << 20
"""Bytes of growth, or of returned memory, after which the next search is soon."""
_MOST_LOOKS: Final = 32
"""Most looks between two searches."""
_STATM: Final = Path("/proc/self/statm")


def raise_open_files_limit() -> None:
    """Allow as many open files as the system permits, as Go programs do. The usual soft limit is 1,024, less than a server's clients."""
    _, maximum = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (maximum, maximum))


async def return_free_memory() -> None:
    """Return free memory to the system periodically while the process is larger than at its start, until cancelled.

    The C library does not say how much it keeps; only glibc needs and offers this. While the process neither grows nor has memory to
    return, the searches become rare.
    """
    trim = getattr(ctypes.CDLL(None), "malloc_trim", None)
    if trim is None:
        return
    enough = _resident() + _GROWTH
    kept = looks = 0
    backoff = Backoff(1, _MOST_LOOKS)
    while True:
        await asyncio.sleep(_INTERVAL)
        resident = _resident()
        looks -= 1
        if resident > kept + _NOTABLE:
            backoff.reset()
        elif looks > 0:
            continue
        if resident <= enough:
            continue
        # an idle process makes no objects that would start a collection
        gc.collect(1)
        await asyncio.to_thread(trim, 0)
        kept = _resident()
        if resident > kept + _NOTABLE:
            backoff.reset()
        looks = int(backoff.take())


def _resident() -> int:
    """Return the bytes of memory that the process occupies."""
    return int(_STATM.read_text().split()[1]) * resource.getpagesize()
