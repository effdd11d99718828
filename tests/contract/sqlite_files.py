"""Stores in files, for the block of a test."""

from collections.abc import AsyncGenerator, Iterator
from contextlib import asynccontextmanager, contextmanager
from pathlib import Path
from typing import Final

from apiext.storage.sqlite.backend import SQLiteBackend

PREFIX: Final = "/registry/"


@asynccontextmanager
async def opened(path: Path, *, deadline: float = 10) -> AsyncGenerator[SQLiteBackend]:
    """A backend for the block."""
    backend = await SQLiteBackend.open(path, deadline=deadline)
    try:
        yield backend
    finally:
        await backend.close()


@contextmanager
def impatient(backend: SQLiteBackend) -> Iterator[None]:
    """What cannot be written fails soon; the rest of a test has the time that a busy disk needs."""
    writer, usual = backend._writer, backend._writer._deadline
    writer._deadline = 0.1
    yield
    writer._deadline = usual
