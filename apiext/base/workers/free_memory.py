"""Free memory that the C library keeps: only glibc needs and offers to return it to the system."""

from __future__ import annotations

import resource
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Callable

_STATM: Final = Path("/proc/self/statm")
_USUAL: Final = 64 << 20
"""Bytes of a process that has nothing to return."""
_GROWTH: Final = 32 << 20
"""Growth in bytes between two searches of a worker process."""


def resident_bytes() -> int:
    """Return the bytes of memory that the process occupies."""
    return int(_STATM.read_text().split()[1]) * resource.getpagesize()


@cache
def trimmer() -> Callable[[int], int] | None:
    """Return the function of the C library that returns free memory, None if there is none."""
    # Imported here: most worker processes never grow.
    import ctypes

    return getattr(ctypes.CDLL(None), "malloc_trim", None)


class FreeMemory:
    """The free memory of a worker process, which may wait long for its next job."""

    def __init__(self) -> None:
        self._kept = _USUAL

    def give_back(self) -> None:
        """Return free memory to the system if the process has grown since the last time."""
        trim = trimmer()
        if trim is not None and resident_bytes() > self._kept + _GROWTH:
            trim(0)
            self._kept = max(_USUAL, resident_bytes())
