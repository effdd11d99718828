"""Syntax errors of JSON in the words of Go's encoding/json; used only for data that the fast parser rejects.

Mirrors encoding/json (scanner.go) as vendored by sigs.k8s.io/json.
"""

from __future__ import annotations

import re
from typing import Final

from apiext.meta import go_format
from apiext.meta.json_values import MAX_DEPTH

_SPACE: Final = re.compile(rb"[ \t\r\n]*")
_STRING: Final = re.compile(rb'"(?:[^"\\\x00-\x1f]|\\(?:["\\/bfnrt]|u[0-9a-fA-F]{4}))*+"')
_STRING_HEAD: Final = re.compile(rb'"(?:[^"\\\x00-\x1f]|\\(?:["\\/bfnrt]|u[0-9a-fA-F]{4}))*+')
_NUMBER: Final = re.compile(rb"-?(?:0|[1-9][0-9]*)(?:\.[0-9]+)?(?:[eE][+-]?[0-9]+)?")
_HEX: Final = re.compile(rb"[0-9a-fA-F]{0,4}")
EXCEEDED_DEPTH: Final = "exceeded max depth"
"""End of the message about more than MAX_DEPTH open objects and arrays."""
_IN_TOKEN: Final = re.compile("escape|^in literal|numeric")
"""Contexts of errors inside a token."""
_UNEXPECTED_END: Final = "unexpected end of JSON input"
_LITERALS: Final = {ord("t"): b"true", ord("f"): b"false", ord("n"): b"null"}


def syntax_error(data: bytes) -> str:
    """Return the first syntax error, "" if Go accepts the data (it tolerates invalid UTF-8 and lone surrogates)."""
    try:
        _Scanner(data).run()
    except _FoundError as found:
        return str(found)
    return ""


class _FoundError(Exception):
    """The error that ends a scan."""


class _Scanner:
    """Scans tokens; `_depth` is the number of open objects and arrays."""

    __slots__ = ("_data", "_depth", "_pos")

    def __init__(self, data: bytes) -> None:
        self._data = data
        self._pos = 0
        self._depth = 0

    def run(self) -> None:
        """Scan one value with nothing but space around it.

        Raises:
            _FoundError: the data is something else.
        """
        self._value()
        self._skip()
        if self._pos < len(self._data):
            raise self._invalid("after top-level value")

    def _skip(self) -> None:
        match = _SPACE.match(self._data, self._pos)
        self._pos = match.end() if match else self._pos

    def _peek(self) -> int:
        self._skip()
        if self._pos >= len(self._data):
            raise _FoundError(_UNEXPECTED_END)
        return self._data[self._pos]

    def _invalid(self, context: str) -> _FoundError:
        if self._pos < len(self._data):
            return _FoundError(f"invalid character {quote_char(self._data[self._pos])} {context}")
        # At the end Go's scanner tries a space, which is valid between tokens and in strings.
        return _FoundError(f"invalid character ' ' {context}" if _IN_TOKEN.search(context) else _UNEXPECTED_END)

    def _value(self) -> None:
        char = self._peek()
        if char in {ord("{"), ord("[")}:
            self._container(in_object=char == ord("{"))
        elif char == ord('"'):
            self._string()
        elif char == ord("-") or ord("0") <= char <= ord("9"):
            self._number()
        elif char in _LITERALS:
            self._literal(_LITERALS[char])
        else:
            raise self._invalid("looking for beginning of value")

    def _container(self, *, in_object: bool) -> None:
        """Scan an object or array."""
        self._depth += 1
        if self._depth > MAX_DEPTH:
            raise self._invalid(EXCEEDED_DEPTH)
        self._pos += 1
        end = ord("}") if in_object else ord("]")
        if self._peek() != end:
            while True:
                if in_object:
                    self._key()
                self._value()
                char = self._peek()
                if char == end:
                    break
                if char != ord(","):
                    raise self._invalid("after object key:value pair" if in_object else "after array element")
                self._pos += 1
        self._pos += 1
        self._depth -= 1

    def _key(self) -> None:
        if self._peek() != ord('"'):
            raise self._invalid("looking for beginning of object key string")
        self._string()
        if self._peek() != ord(":"):
            raise self._invalid("after object key")
        self._pos += 1

    def _literal(self, word: bytes) -> None:
        for expected in word:
            if self._pos >= len(self._data) or self._data[self._pos] != expected:
                raise self._invalid(f"in literal {word.decode()} (expecting '{chr(expected)}')")
            self._pos += 1

    def _string(self) -> None:
        match = _STRING.match(self._data, self._pos)
        if match:
            self._pos = match.end()
            return
        head = _STRING_HEAD.match(self._data, self._pos)
        self._pos = head.end() if head else self._pos
        if self._data[self._pos : self._pos + 1] != b"\\":
            raise self._invalid("in string literal")
        self._pos += 1
        if self._data[self._pos : self._pos + 1] != b"u":
            raise self._invalid("in string escape code")
        digits = _HEX.match(self._data, self._pos + 1)
        self._pos = digits.end() if digits else self._pos
        raise self._invalid("in \\u hexadecimal character escape")

    def _number(self) -> None:
        match = _NUMBER.match(self._data, self._pos)
        if match is None:
            self._pos += 1
            raise self._invalid("in numeric literal")
        self._pos = match.end()
        rest = self._data[self._pos : self._pos + 2]
        if rest[:1] == b"." and b"." not in match.group():
            self._pos += 1
            raise self._invalid("after decimal point in numeric literal")
        if rest[:1] in {b"e", b"E"} and b"e" not in match.group().lower():
            self._pos += 2 if rest[1:] in {b"+", b"-"} else 1
            raise self._invalid("in exponent of numeric literal")


def quote_char(char: int) -> str:
    """Return a byte as the errors show it."""
    if char == ord("'"):
        return "'\\''"
    if char == ord('"'):
        return "'\"'"
    return f"'{go_format.quote(chr(char))[1:-1]}'"
