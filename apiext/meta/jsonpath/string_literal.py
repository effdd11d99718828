"""The text in a Go string literal (strconv.UnquoteChar)."""

from __future__ import annotations

import re
from typing import Final

from apiext.meta.encoding import utf8

_PIECE: Final = re.compile(
    r"""([^\\]+)|\\(?:([abfnrtv\\'"])|(?:x([0-9a-fA-F]{2}))|(?:u([0-9a-fA-F]{4}))|(?:U([0-9a-fA-F]{8}))|([0-7]{3}))""", re.DOTALL
)
_SIMPLE: Final = {"a": 7, "b": 8, "f": 12, "n": 10, "r": 13, "t": 9, "v": 11, "\\": 92, "'": 39, '"': 34}
_MAX_BYTE: Final = 0xFF
_MAX_CODE_POINT: Final = 0x10FFFF
_SURROGATES: Final = range(0xD800, 0xE000)


def unquote(inner: str, quote: str) -> str:
    r"""Return the text between two quotes: escapes are replaced, and U+FFFD stands for each byte of \x or \377 that is not UTF-8.

    Raises:
        ValueError: an escape is unknown, or the quote is not escaped; the message is Go's.
    """
    if "\\" not in inner and quote not in inner:
        return inner
    data = bytearray()
    at = 0
    while at < len(inner):
        match = _PIECE.match(inner, at)
        if match is None:
            raise ValueError("invalid syntax")
        data += _bytes(match, quote)
        at = match.end()
    return utf8.replaced(data.decode("utf-8", "surrogateescape"))


def _bytes(match: re.Match[str], quote: str) -> bytes:
    text, simple, byte, *wide, octal = match.groups()
    if text is not None:
        if quote in text:
            raise ValueError("invalid syntax")
        return text.encode("utf-8", "surrogatepass")
    if simple is not None:
        if simple in "'\"" and simple != quote:
            raise ValueError("invalid syntax")
        return bytes((_SIMPLE[simple],))
    code = int(octal, 8) if octal else int(byte or wide[0] or wide[1], 16)
    if byte or octal:
        if code > _MAX_BYTE:
            raise ValueError("invalid syntax")
        return bytes((code,))
    if code > _MAX_CODE_POINT or code in _SURROGATES:
        raise ValueError("invalid syntax")
    return chr(code).encode()
