"""Finds damage in a write-ahead log, which SQLite takes for its end (https://www.sqlite.org/fileformat2.html, "The Write-Ahead Log")."""

from __future__ import annotations

from struct import Struct
from typing import IO, TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

_HEAD: Final = Struct(">8xI4x8s8x")
"""Size of a page, and the salts that the log's frames have."""
_FRAME: Final = Struct(">4xI8s8x")
"""Pages of the file after a commit (0 within a transaction), and salts."""
_CERTAIN_COMMITS: Final = 2
"""A power failure tears the last transaction, which was not acknowledged; one before it had reached the disk."""


def lacks_commits(log: Path, frames: int) -> bool:
    """Report whether acknowledged transactions follow the frames that SQLite has accepted after a crash: one of them is damaged.

    Raises:
        OSError: the log cannot be read.
    """
    with log.open("rb") as file:
        data = file.read(_HEAD.size)
        if len(data) < _HEAD.size:
            return False
        page_size, salts = _HEAD.unpack(data)
        size = _FRAME.size + page_size
        file.seek(_HEAD.size + frames * size)
        commits = sum(1 for pages, found in _frames(file, size) if pages > 0 and found == salts)
        return commits >= _CERTAIN_COMMITS


def _frames(file: IO[bytes], size: int) -> Iterator[tuple[int, bytes]]:
    """Yield what the frames from a place on begin with."""
    while len(data := file.read(_FRAME.size)) == _FRAME.size:
        yield _FRAME.unpack(data)
        file.seek(size - _FRAME.size, 1)
