"""Opens SQLite stores for the time of a block."""

from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Final

from apiext.storage.sqlite.backend import SQLiteBackend
from apiext.storage.sqlite.database_file import StoreFile

PREFIX: Final = "/registry/"


@asynccontextmanager
async def opened(path: Path, *, deadline: float = 10, file: StoreFile | None = None) -> AsyncGenerator[SQLiteBackend]:
    """Open a backend for the block, over a file if that is open already."""
    backend = SQLiteBackend(file, deadline=deadline) if file else await SQLiteBackend.open(path, deadline=deadline)
    try:
        yield backend
    finally:
        await backend.close()
