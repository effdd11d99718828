"""Decodes the header blocks of requests (HPACK, RFC 7541) within limits.

hpack's own decoder takes four times as long for the request of a front proxy. Its tables are used here.
"""

from __future__ import annotations

import re
from collections import deque
from enum import Enum
from functools import lru_cache
from typing import TYPE_CHECKING, Final, NamedTuple

from hpack.exceptions import HPACKError
from hpack.huffman_table import HUFFMAN_COMPLETE, HUFFMAN_EMIT_SYMBOL, HUFFMAN_FAIL, HUFFMAN_TABLE
from hpack.table import HeaderTable

from apiext.base.http2.frames import COMPRESSION_ERROR, ENHANCE_YOUR_CALM, Http2ProtocolError

if TYPE_CHECKING:
    from apiext.server.http.request_parser import HeadLimits

TABLE_BYTES: Final = 4096
"""The size of the table that clients may fill: the default of SETTINGS."""
_ENTRY_BYTES: Final = 32
"""What an entry counts beside its name and value (RFC 7541, section 4.1)."""
_MAX_INTEGER_BYTES: Final = 5
_TOLERATED: Final = 4
"""A head with so many times the allowed fields is answered; one with more ends the connection."""
_CACHED_TEXTS: Final = 1024
_MAX_CACHED_BYTES: Final = 64

# The first byte of a field (RFC 7541, section 6).
_INDEXED: Final = 0x80
_INSERTED: Final = 0x40
_RESIZED: Final = 0x20
_HUFFMAN: Final = 0x80

_NAME: Final = re.compile(rb"[!#$%&'*+\-.^_`|~0-9a-z]+")
_BAD_VALUE: Final = re.compile(rb"[\x00\r\n]|^[ \t]|[ \t]$")
_OF_CONNECTIONS: Final = frozenset({b"connection", b"keep-alive", b"proxy-connection", b"transfer-encoding", b"upgrade"})


class Kind(Enum):
    """What a field is in a request."""

    REGULAR = "regular"
    PSEUDO = "pseudo"
    MALFORMED = "malformed"
    """RFC 9113, section 8.2: no request may have it."""


class HeaderField(NamedTuple):
    """A field of a header block."""

    kind: Kind
    name: str
    value: str
    raw: tuple[bytes, bytes]
    size: int
    """As it counts in tables and limits, in bytes."""


class LargeHeadError(Exception):
    """A block exceeds the limits. It was decoded to its end, so that later ones can be."""


class HeaderDecoder:
    """The decoder of a connection."""

    __slots__ = ("_entries", "_limit", "_limits", "_size", "changes")

    def __init__(self, limits: HeadLimits) -> None:
        self._limits = limits
        self._entries: deque[HeaderField] = deque()
        """The table, the latest entry first."""
        self._size = 0
        self._limit = TABLE_BYTES
        self.changes = 0
        """How often the table has changed: as long as it stays, equal blocks have equal fields."""

    def decode(self, block: bytes) -> list[HeaderField]:
        """Return the fields of a block.

        Raises:
            Http2ProtocolError: the block cannot be decoded.
            LargeHeadError: it has too many bytes or fields.
        """
        try:
            return self._decode(block)
        except (IndexError, HPACKError) as error:
            raise Http2ProtocolError("header block cannot be decoded", COMPRESSION_ERROR) from error

    def _decode(self, block: bytes) -> list[HeaderField]:
        fields: list[HeaderField] = []
        at, end, size, count = 0, len(block), 0, 0
        most_bytes, most_fields = self._limits
        while at < end:
            first = block[at]
            if first & _INDEXED:
                index, at = (first & 0x7F, at + 1) if first != 0xFF else _integer(block, at, 7)
                found = self._entry(index)
            elif first & _INSERTED:
                found, at = self._literal(block, at, 6)
                self._insert(found)
            elif first & _RESIZED:
                if count:
                    raise HPACKError("the table is resized within a block")
                limit, at = _integer(block, at, 5)
                self._resize(limit)
                continue
            else:
                found, at = self._literal(block, at, 4)
            count += 1
            size += found.size - _ENTRY_BYTES
            if size <= most_bytes and count <= most_fields:
                fields.append(found)
            elif count > _TOLERATED * most_fields:
                raise Http2ProtocolError("header block with too many fields", ENHANCE_YOUR_CALM)
        if len(fields) < count:
            raise LargeHeadError
        return fields

    def _entry(self, index: int) -> HeaderField:
        if index > len(_STATIC):
            return self._entries[index - len(_STATIC) - 1]
        if not index:
            raise HPACKError("index 0")
        return _STATIC[index - 1]

    def _literal(self, block: bytes, at: int, bits: int) -> tuple[HeaderField, int]:
        """Return a field that is given by its value, and by its name or the index of one."""
        index, at = _integer(block, at, bits)
        if index:
            name = self._entry(index).raw[0]
        else:
            name, at = _text(block, at)
        value, at = _text(block, at)
        return _field(name, value), at

    def _insert(self, field: HeaderField) -> None:
        self.changes += 1
        self._entries.appendleft(field)
        self._size += field.size
        self._shrink()

    def _resize(self, limit: int) -> None:
        if limit > TABLE_BYTES:
            raise HPACKError("the table is too large")
        self.changes += 1
        self._limit = limit
        self._shrink()

    def _shrink(self) -> None:
        while self._size > self._limit:
            self._size -= self._entries.pop().size


def _integer(block: bytes, at: int, bits: int) -> tuple[int, int]:
    """Return an integer that begins with the last bits of a byte, and where it ends (RFC 7541, section 5.1)."""
    most = (1 << bits) - 1
    value = block[at] & most
    at += 1
    if value < most:
        return value, at
    for shift in range(0, 7 * _MAX_INTEGER_BYTES, 7):
        byte = block[at]
        at += 1
        value += (byte & 0x7F) << shift
        if byte < 0x80:
            return value, at
    raise HPACKError("an integer is too large")


def _text(block: bytes, at: int) -> tuple[bytes, int]:
    """Return a text, and where it ends (RFC 7541, section 5.2)."""
    is_huffman = block[at] & _HUFFMAN
    size, at = _integer(block, at, 7)
    end = at + size
    if end > len(block):
        raise HPACKError("a text is longer than its block")
    data = block[at:end]
    if is_huffman:
        data = _known_text(data) if size <= _MAX_CACHED_BYTES else _decode_huffman(data)
    return data, end


def _decode_huffman(data: bytes) -> bytes:
    """Decode a text a byte at a time, by the table of hpack, which takes four bits at a time (RFC 7541, section 5.2)."""
    state, flags, parts = 0, HUFFMAN_COMPLETE, []
    for byte in data:
        state, flags, text = _STEPS.get(state | byte) or _step(state, byte)
        parts.append(text)
    if not flags & HUFFMAN_COMPLETE:
        raise HPACKError("a text does not end with its last symbol")
    return b"".join(parts)


_STEPS: Final[dict[int, tuple[int, int, bytes]]] = {}
"""The next state, its flags and the decoded bytes by state and byte, as they are needed; 256 states of 256 bytes at most."""


def _step(state: int, byte: int) -> tuple[int, int, bytes]:
    node, flags, text = state >> 8, 0, b""
    for bits in (byte >> 4, byte & 0x0F):
        node, flags, symbol = HUFFMAN_TABLE[node * 16 + bits]
        if flags & HUFFMAN_FAIL:
            raise HPACKError("a text has no such symbol")
        if flags & HUFFMAN_EMIT_SYMBOL:
            text += bytes((symbol,))
    found = _STEPS[state | byte] = node << 8, flags, text
    return found


_known_text: Final = lru_cache(_CACHED_TEXTS)(_decode_huffman)


def _field(name: bytes, value: bytes) -> HeaderField:
    kind = Kind.REGULAR
    if name[:1] == b":":
        kind = Kind.PSEUDO
    elif _NAME.fullmatch(name) is None or name in _OF_CONNECTIONS or (name == b"te" and value != b"trailers"):
        kind = Kind.MALFORMED
    if _BAD_VALUE.search(value) is not None:
        kind = Kind.MALFORMED
    text = value.decode("utf-8", "surrogateescape")
    return HeaderField(kind, name.decode("utf-8", "surrogateescape"), text, (name, value), len(name) + len(value) + _ENTRY_BYTES)


_STATIC: Final = tuple(_field(name, value) for name, value in HeaderTable.STATIC_TABLE)
