"""Finds duplicate keys in CBOR, which the library names without their place."""

from __future__ import annotations

from typing import Final

_BYTES: Final = 2
_TEXT: Final = 3
_ARRAY: Final = 4
_MAP: Final = 5
_TAG: Final = 6
"""Major types of items (RFC 8949, section 3.1)."""
_BREAK: Final = 0xFF
_INFORMATION: Final = 0x1F
_ONE_BYTE: Final = 24
_INDEFINITE: Final = 31


class _Open:
    """An array or map whose items are read: how many are left (negative: until the break), and the keys of a map."""

    __slots__ = ("keys", "left", "read")

    def __init__(self, left: int, *, is_map: bool) -> None:
        self.left = left
        self.read = 0
        self.keys: set[tuple[int, bytes]] | None = set() if is_map else None


def place_of_duplicate(data: bytes) -> int:
    """Return the place of the first pair with a text or byte string as key that its map has already, 0 if there is none.

    The data is well-formed up to there.
    """
    stack: list[_Open] = []
    at = 0
    while at < len(data):
        if data[at] == _BREAK:
            stack.pop()
            at += 1
        else:
            start, (kind, length, at) = at, _head(data, at)
            if kind == _TAG:
                continue
            if kind in {_BYTES, _TEXT}:
                at = _end(data, at) if length < 0 else at + length
                here = stack[-1] if stack else None
                if here is not None and here.keys is not None and not here.read % 2:
                    key = kind, data[at - length : at] if length >= 0 else data[start:at]
                    if key in here.keys:
                        return here.read // 2
                    here.keys.add(key)
            elif kind in {_ARRAY, _MAP} and length:
                stack.append(_Open(length if kind == _ARRAY else 2 * length, is_map=kind == _MAP))
                continue
        _close(stack)
    return 0


def _close(stack: list[_Open]) -> None:
    """Count an item that is complete, and the arrays and maps that it completes."""
    while stack:
        here = stack[-1]
        here.read += 1
        here.left -= 1
        if here.left:
            return
        stack.pop()


def _head(data: bytes, at: int) -> tuple[int, int, int]:
    """Return the major type of an item, its argument (-1: indefinite length), and where its content begins."""
    kind, information = data[at] >> 5, data[at] & _INFORMATION
    at += 1
    if information < _ONE_BYTE:
        return kind, information, at
    if information == _INDEFINITE:
        return kind, -1, at
    width = 1 << (information - _ONE_BYTE)
    return kind, int.from_bytes(data[at : at + width]), at + width


def _end(data: bytes, at: int) -> int:
    """Return the end of a string of indefinite length, from its first chunk on."""
    while at < len(data) and data[at] != _BREAK:
        _, length, at = _head(data, at)
        at += length
    return at + 1
