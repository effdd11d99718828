"""Opens SQLite stores for the time of a block."""

from collections.abc import AsyncGenerator, Iterator
from contextlib import asynccontextmanager, contextmanager
from pathlib import Path
from typing import Final

from apiext.storage.sqlite.backend import SQLiteBackend

PREFIX: Final = "/registry/"


@asynccontextmanager
async def opened(path: Path, *, deadline: float = 10) -> AsyncGenerator[SQLiteBackend]:
    """Open a backend for the block."""
    backend = await SQLiteBackend.open(path, deadline=deadline)
    try:
        yield backend
    finally:
        await backend.close()


@contextmanager
def short_deadline(backend: SQLiteBackend) -> Iterator[None]:
    """Let writes fail after 0.1 s within the block; elsewhere the deadline leaves time for a busy disk."""
    writer, usual = backend._writer, backend._writer._deadline
    writer._deadline = 0.1
    yield
    writer._deadline = usual
