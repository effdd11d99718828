"""The body of a request as the reference reads it: of a given length, or in chunks.

Facts of Go's net/http (transfer.go, internal/chunked.go).
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final, Protocol

if TYPE_CHECKING:
    from aiohttp.streams import StreamReader

_HEXADECIMAL: Final = re.compile(rb"[0-9A-Fa-f]+")
_LONGEST_LINE: Final = 4096
"""Bytes, of the line before a chunk and of all that follows the last one."""
_MOST_DIGITS: Final = 16
_OVERHEAD: Final = 16
_MOST_OVERHEAD: Final = 16 * 1024
_NEWLINE: Final = b"\r\n"
_BLANKS: Final = b" \t"


class BrokenBodyError(Exception):
    """It goes on in a way in which none can; the message says how."""


class Body(Protocol):
    """Takes the bytes that belong to a body, and hands them to its reader."""

    reader: StreamReader
    ended: bool
    """Whether all of it has been taken."""

    def feed(self, data: bytes, start: int) -> int:
        """Take what belongs to the body from there on; where the rest starts. Raises BrokenBodyError."""
        ...


class SizedBody:
    """Whose length is known."""

    def __init__(self, reader: StreamReader, length: int) -> None:
        self.reader = reader
        self._left = length
        self.ended = False

    def feed(self, data: bytes, start: int) -> int:
        """See Body."""
        piece = data[start : start + self._left] if start or len(data) > self._left else data
        self._left -= len(piece)
        self.reader.feed_data(piece)
        if not self._left:
            self.ended = True
            self.reader.feed_eof()
        return start + len(piece)


class ChunkedBody:
    """Whose length is told piece by piece."""

    def __init__(self, reader: StreamReader) -> None:
        self.reader = reader
        self._line = b""
        """The part that is there of a line before a chunk, of the end of a chunk, or of what follows the last one."""
        self._left = 0
        """Bytes of the chunk that are still to come."""
        self._in_chunk = False
        self._in_trailer = False
        self._excess = 0
        """Bytes that are more than what chunks are granted besides their data."""
        self.ended = False

    def feed(self, data: bytes, start: int) -> int:
        """See Body."""
        # what a line began with is looked at again with its next part; it is short
        begun, self._line = self._line, b""
        at, whole, found = 0, begun + data[start:], list[bytes]()
        while not self.ended and (at < len(whole)):
            if self._left:
                piece = whole[at : at + self._left]
                found.append(piece)
                self._left -= len(piece)
                at += len(piece)
                continue
            end = self._step(whole, at)
            if end < 0:
                self._line, at = whole[at:], len(whole)
                break
            at = end
        self._hand_over(found)
        return start + at - len(begun)

    def _hand_over(self, found: list[bytes]) -> None:
        if found:
            self.reader.feed_data(b"".join(found))
        if self.ended:
            self.reader.feed_eof()

    def _step(self, data: bytes, at: int) -> int:
        """Where what comes next ends; negative where that is not there yet."""
        if self._in_chunk:
            return self._chunk_end(data, at)
        return self._trailer(data, at) if self._in_trailer else self._size(data, at)

    def _chunk_end(self, data: bytes, at: int) -> int:
        end = data[at : at + 2]
        if len(end) < len(_NEWLINE):
            return -1
        if end != _NEWLINE:
            raise BrokenBodyError("malformed chunked encoding")
        self._in_chunk = False
        return at + 2

    def _size(self, data: bytes, at: int) -> int:
        newline = data.find(b"\n", at, at + _LONGEST_LINE + 2)
        if newline < 0:
            if len(data) - at > _LONGEST_LINE:
                raise BrokenBodyError("header line too long")
            return -1
        line = data[at : newline + 1]
        if b"\r" not in line:
            raise BrokenBodyError("chunked line ends with bare LF")
        if line.index(b"\r") != len(line) - 2:
            raise BrokenBodyError("invalid CR in chunked line")
        self._left = _length(line[:-2])
        self._excess = max(0, self._excess + len(line) - _OVERHEAD - 2 * self._left)
        if self._excess > _MOST_OVERHEAD:
            raise BrokenBodyError("chunked encoding contains too much non-data")
        self._in_chunk, self._in_trailer = self._left > 0, not self._left
        return newline + 1

    def _trailer(self, data: bytes, at: int) -> int:
        if data.startswith(_NEWLINE, at):
            self.ended = True
            return at + 2
        end = data.find(b"\r\n\r\n", at, at + _LONGEST_LINE)
        if end < 0:
            if len(data) - at >= _LONGEST_LINE:
                raise BrokenBodyError("http: suspiciously long trailer after chunked body")
            return -1
        self.ended = True
        return end + 4


def _length(line: bytes) -> int:
    digits = line.rstrip(_BLANKS).partition(b";")[0]
    if not digits:
        raise BrokenBodyError("empty hex number for chunk length")
    if not _HEXADECIMAL.fullmatch(digits):
        raise BrokenBodyError("invalid byte in chunk length")
    if len(digits) > _MOST_DIGITS:
        raise BrokenBodyError("http chunk length too large")
    return int(digits, 16)
