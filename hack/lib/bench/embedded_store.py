"""Measures the embedded store by itself."""

import asyncio
import tempfile
import time
from pathlib import Path
from typing import Final

from apiext.storage.sqlite.backend import SQLiteBackend

_ATTEMPTS: Final = 5


def open_milliseconds() -> float:
    """Return the shortest of several times to create and open a new store file."""
    with tempfile.TemporaryDirectory(prefix="apiext-bench-") as folder:
        return min(asyncio.run(_open(Path(folder) / f"{number}.db")) for number in range(_ATTEMPTS))


async def _open(path: Path) -> float:
    start = time.monotonic()
    backend = await SQLiteBackend.open(path)
    elapsed = time.monotonic() - start
    await backend.close()
    return elapsed * 1000
