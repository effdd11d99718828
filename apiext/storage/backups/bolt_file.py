"""Reads a file of etcd's storage engine: the B+ trees of its buckets, in the order of their keys (go.etcd.io/bbolt, format 2).

A snapshot of etcd is such a file. All numbers are little-endian.
"""

from __future__ import annotations

import mmap
import struct
from struct import Struct
from typing import TYPE_CHECKING, Final

from apiext.storage.backups.stored_pairs import BackupError

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

_MAGIC: Final = 0xED0CDAED
_VERSION: Final = 2
_PAGE: Final = Struct("<QHHI")
"""Head of a page: its number, flags, number of elements, and number of pages that continue it."""
_META: Final = Struct("<IIIIQQQQQQ")
"""Magic, version, page size, flags, root bucket (page, sequence), freelist, end of pages, transaction, checksum."""
_CHECKED_BYTES: Final = 56
"""Bytes of a meta page's content that its checksum covers."""
_BRANCH: Final = Struct("<IIQ")
"""Position and size of a key, and the page below."""
_LEAF: Final = Struct("<IIII")
"""Flags, position of the key, sizes of key and value."""
_BUCKET: Final = Struct("<QQ")
"""Root page of a bucket (0: its page follows), and its sequence."""
_IS_BRANCH: Final = 0x01
_IS_LEAF: Final = 0x02
_IS_BUCKET: Final = 0x01
_MAX_DEPTH: Final = 64
_PAGE_SIZES: Final = tuple(1 << shift for shift in range(10, 17))
_FNV_OFFSET: Final = 0xCBF29CE484222325
_FNV_PRIME: Final = 0x100000001B3

Place = tuple[int, int]
"""Offset in the file and length of bytes."""


def is_bolt(path: Path) -> bool:
    """Report whether a file begins as a database of bbolt does.

    Raises:
        OSError: it cannot be read.
    """
    with path.open("rb") as file:
        start = file.read(_PAGE.size + 4)
    return len(start) == _PAGE.size + 4 and int.from_bytes(start[_PAGE.size :], "little") == _MAGIC


class BoltFile:
    """A file that does not change. Its pages are mapped into memory, not read at once.

    Raises:
        BackupError: from every method, if the file is damaged.
    """

    def __init__(self, path: Path) -> None:
        """Open a file.

        Raises:
            BackupError: it cannot be read, or has no valid meta page.
        """
        self._path = path
        try:
            with path.open("rb") as file:
                self._data = mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)
        except (OSError, ValueError) as error:
            raise BackupError(f"{path} cannot be read: {getattr(error, 'strerror', None) or error}") from error
        found = [meta for meta in map(self._meta, (0, *_PAGE_SIZES)) if meta is not None]
        if not found:
            self._data.close()
            raise BackupError(f"{path} is not a snapshot of etcd, or it is damaged: it has no valid meta page")
        _, self._page_size, self._root = max(found)

    def close(self) -> None:
        """Unmap the file."""
        self._data.close()

    def bytes_at(self, place: Place) -> bytes:
        """Return the bytes at a place."""
        start, length = place
        return self._data[start : start + length]

    def items(self, bucket: bytes) -> Iterator[tuple[bytes, Place]]:
        """Yield the keys of a bucket of the top level, with the places of their values, in order. A missing bucket is empty."""
        try:
            for flags, key, (start, _) in self._leaves(self._root * self._page_size, 0):
                if key == bucket and flags & _IS_BUCKET:
                    root, _ = _BUCKET.unpack_from(self._data, start)
                    page = root * self._page_size if root else start + _BUCKET.size
                    for _, item, place in self._leaves(page, 0):
                        if place[0] + place[1] > len(self._data):
                            raise self._damaged()
                        yield item, place
        except (struct.error, IndexError) as error:
            raise self._damaged() from error

    def _leaves(self, page: int, depth: int) -> Iterator[tuple[int, bytes, Place]]:
        """Yield flags, key and place of the value of each leaf element below a page, given by its offset."""
        data = self._data
        _, flags, count, _ = _PAGE.unpack_from(data, page)
        if depth > _MAX_DEPTH:
            raise self._damaged()
        first = page + _PAGE.size
        if flags & _IS_LEAF:
            for at in range(first, first + count * _LEAF.size, _LEAF.size):
                kind, position, key_size, value_size = _LEAF.unpack_from(data, at)
                start = at + position
                yield kind, data[start : start + key_size], (start + key_size, value_size)
        elif flags & _IS_BRANCH:
            for at in range(first, first + count * _BRANCH.size, _BRANCH.size):
                _, _, below = _BRANCH.unpack_from(data, at)
                yield from self._leaves(below * self._page_size, depth + 1)
        else:
            raise self._damaged()

    def _meta(self, offset: int) -> tuple[int, int, int] | None:
        """Return transaction, page size and root page of the meta page at an offset, None if it is not valid."""
        start = offset + _PAGE.size
        if start + _META.size > len(self._data):
            return None
        magic, version, page_size, _, root, _, _, _, transaction, checksum = _META.unpack_from(self._data, start)
        checked = self._data[start : start + _CHECKED_BYTES]
        is_valid = magic == _MAGIC and version == _VERSION and page_size in _PAGE_SIZES and checksum == _fnv(checked)
        return (transaction, page_size, root) if is_valid and offset in (0, page_size) else None

    def _damaged(self) -> BackupError:
        return BackupError(f"{self._path} is damaged: it has an invalid page")


def _fnv(data: bytes) -> int:
    """Return the 64-bit FNV-1a hash."""
    found = _FNV_OFFSET
    for byte in data:
        found = (found ^ byte) * _FNV_PRIME & 0xFFFFFFFFFFFFFFFF
    return found
