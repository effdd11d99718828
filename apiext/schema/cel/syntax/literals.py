"""Values of literals (cel-go parser/unescape.go)."""

from __future__ import annotations

import re
from typing import Final

from apiext.schema.cel.ast import Uint
from apiext.schema.cel.syntax.tokens import ESCAPE

_ESCAPED: Final = re.compile(ESCAPE)
_SIMPLE_ESCAPES: Final = {"a": 7, "b": 8, "f": 12, "n": 10, "r": 13, "t": 9, "v": 11}
_MAX_CODE_POINT: Final = 0x10FFFF
_SURROGATES: Final = range(0xD800, 0xE000)
_INT_RANGE: Final = range(-(2**63), 2**63)
_UINT_RANGE: Final = range(2**64)


class BadEscapeError(Exception):
    """An invalid escape sequence. The text is cel-go's."""


def literal_value(kind: str, text: str) -> bool | float | str | bytes | None:
    """Return the value of a token of a literal, a number with its sign.

    Raises:
        BadEscapeError: An escape sequence names no character.
        ValueError: A number is out of range.

    """
    match kind:
        case "int":
            return _bounded(text, _INT_RANGE)
        case "uint":
            return Uint(_bounded(text[:-1], _UINT_RANGE))
        case "float":
            value = float(text)
            if value in {float("inf"), float("-inf")}:
                raise ValueError
            return value
        case "string":
            return _unquote_string(text)
        case "bytes":
            return _unquote_bytes(text)
        case "true" | "false":
            return kind == "true"
        case _:
            return None


def _bounded(text: str, allowed: range) -> int:
    value = int(text, 16 if "0x" in text else 10)
    if value not in allowed:
        raise ValueError
    return value


def _unquote_string(literal: str) -> str:
    body, raw = _body(literal)
    return body if raw or "\\" not in body else _ESCAPED.sub(lambda match: _character(match.group()), body)


def _unquote_bytes(literal: str) -> bytes:
    body, raw = _body(literal[1:])
    if raw or "\\" not in body:
        return body.encode()
    value = bytearray()
    position = 0
    for match in _ESCAPED.finditer(body):
        if match.group()[1] in "uU":
            raise BadEscapeError("unable to unescape string")
        value += body[position : match.start()].encode()
        value.append(_code_point(match.group()))
        position = match.end()
    return bytes(value + body[position:].encode())


def _body(literal: str) -> tuple[str, bool]:
    literal = literal.replace("\r\n", "\n").replace("\r", "\n")
    raw = literal[0] in "rR"
    if raw:
        literal = literal[1:]
    quotes = 3 if literal[:3] in {'"""', "'''"} and len(literal) >= 6 else 1
    return literal[quotes:-quotes], raw


def _code_point(escape: str) -> int:
    letter = escape[1]
    if letter in "xXuU" or letter in "0123":
        return int(escape.lstrip("\\xXuU"), 8 if letter in "0123" else 16)
    return _SIMPLE_ESCAPES.get(letter, ord(letter))


def _character(escape: str) -> str:
    value = _code_point(escape)
    if value > _MAX_CODE_POINT or value in _SURROGATES:
        raise BadEscapeError("invalid unicode code point")
    return chr(value)
