"""The embedded backend over a file that goes bad while it is open."""

import asyncio
import sqlite3
from pathlib import Path
from typing import cast

import pytest

from apiext.storage.backend import UnavailableError
from apiext.storage.sqlite.backend import SQLiteBackend

PREFIX = "/registry/"


class _Unreadable:
    """A connection to a file that was damaged while it was open."""

    in_transaction = False

    def execute(self, _statement: str, _parameters: object = ()) -> None:
        """Raises what SQLite raises."""
        raise sqlite3.DatabaseError("database disk image is malformed")


async def test_a_file_that_cannot_be_read_any_more(tmp_path: Path) -> None:
    """When a transaction cannot even begin, the writes fail with the reason instead of waiting for ever, and so do those after them."""
    backend = await SQLiteBackend.open(tmp_path / "store.db")
    await backend.create(PREFIX + "a", b"1")
    whole = backend._writer._connection
    backend._writer._connection = cast("sqlite3.Connection", _Unreadable())
    for name in "bc":
        async with asyncio.timeout(30):
            with pytest.raises(UnavailableError, match="malformed"):
                await backend.create(PREFIX + name, b"")
    backend._writer._connection = whole
    assert (await backend.create(PREFIX + "d", b"")).succeeded
    await backend.close()
