"""Syntax errors of JSON in the words of Go's encoding/json, for data that the fast parser rejects.

Python's parser finds the place of the error; this module writes Go's message about it. Mirrors encoding/json (scanner.go) as vendored by
sigs.k8s.io/json.
"""

from __future__ import annotations

import json
import re
from itertools import accumulate
from typing import Final

from apiext.meta.golang import formatting
from apiext.meta.limits import MAX_DEPTH

EXCEEDED_DEPTH: Final = "exceeded max depth"
"""The message about more than MAX_DEPTH open objects and arrays."""
_UNEXPECTED_END: Final = "unexpected end of JSON input"
_IN_TOKEN: Final = re.compile("escape|^in literal|numeric")
"""Contexts of errors inside a token."""
_VALUE: Final = "looking for beginning of value"
_KEY: Final = "looking for beginning of object key string"
_CONTEXTS: Final = {
    "Expecting property name enclosed in double quotes": _KEY,
    "Illegal trailing comma before end of object": _KEY,
    "Illegal trailing comma before end of array": _VALUE,
    "Expecting ':' delimiter": "after object key",
    "Extra data": "after top-level value",
    "Invalid control character at": "in string literal",
}
"""Go's expectation by the error that Python's parser reports."""
_AFTER_VALUE: Final = {ord("["): "after array element", ord("{"): "after object key:value pair"}
"""Go's expectation after a value, by the bracket around it."""
_BROKEN_STRINGS: Final = frozenset({"Unterminated string starting at", "Invalid \\escape", "Invalid \\uXXXX escape"})

_PLAIN: Final = bytes(ord("?") if code >= 0x80 or code in b"NI" else code for code in range(256))
"""Equates all bytes beyond ASCII, and hides NaN and Infinity, which Python reads."""
_PARSER: Final = json.JSONDecoder(parse_int=len, parse_float=len)
"""Checks numbers and does not convert them."""
_SPACE: Final = re.compile(rb"[ \t\r\n]*")
_LITERAL: Final = {ord("t"): b"true", ord("f"): b"false", ord("n"): b"null"}
_OPEN_STRING: Final = re.compile(rb'"(?:[^"\\]|\\(?:["\\/bfnrt]|u[0-9a-fA-F]{4}))*+')
_HEX: Final = re.compile(rb"[0-9a-fA-F]{0,4}")
_STRING: Final = re.compile(rb'"(?:[^"\\]|\\.)*+(?:"|\\?\Z)', re.DOTALL)
_NOT_BRACKETS: Final = bytes(set(range(256)).difference(b"[]{}"))
_NESTING: Final = {ord("["): 1, ord("{"): 1, ord("]"): -1, ord("}"): -1}


def syntax_error(data: bytes) -> str:
    """Return the first syntax error, "" if Go accepts the data (it tolerates invalid UTF-8 and lone surrogates)."""
    try:
        _PARSER.decode(data.translate(_PLAIN).decode("ascii"))
    except json.JSONDecodeError as error:
        brackets = _brackets(data[: error.pos])
        return EXCEEDED_DEPTH if _is_too_deep(brackets) else _message(data, error.pos, error.msg, brackets)
    except RecursionError:
        return EXCEEDED_DEPTH
    return EXCEEDED_DEPTH if _is_too_deep(_brackets(data)) else ""


def _brackets(data: bytes) -> bytes:
    """Return the brackets outside of strings."""
    return _STRING.sub(b"", data).translate(None, _NOT_BRACKETS)


def _is_too_deep(brackets: bytes) -> bool:
    return len(brackets) > MAX_DEPTH and max(accumulate(map(_NESTING.__getitem__, brackets))) > MAX_DEPTH


def _innermost(brackets: bytes) -> int:
    """Return the last bracket that is not closed."""
    backwards = brackets[::-1]
    return next(bracket for bracket, level in zip(backwards, accumulate(map(_NESTING.__getitem__, backwards)), strict=True) if level > 0)


def _message(data: bytes, place: int, found: str, brackets: bytes) -> str:
    """Return Go's message about an error that Python's parser found at a place."""
    if found in _BROKEN_STRINGS:
        return _string_error(data, place)
    if found == "Expecting value":
        return _value_error(data, place)
    if found.startswith("Illegal trailing comma"):
        space = _SPACE.match(data, place + 1)
        place = space.end() if space else place
    if data[place - 1 : place].isdigit() and (broken := _number_error(data, place)):
        return broken
    return _invalid(data, place, _CONTEXTS.get(found) or _AFTER_VALUE[_innermost(brackets)])


def _invalid(data: bytes, place: int, context: str) -> str:
    if place < len(data):
        return f"invalid character {quote_char(data[place])} {context}"
    # At the end Go's scanner tries a space, which is valid between tokens and in strings.
    return f"invalid character ' ' {context}" if _IN_TOKEN.search(context) else _UNEXPECTED_END


def _value_error(data: bytes, place: int) -> str:
    """Return the error for text where no value begins, or for a number or literal that ends too soon."""
    first = data[place : place + 1]
    if first == b"-":
        return _invalid(data, place + 1, "in numeric literal")
    word = _LITERAL.get(first[0]) if first else None
    if word is None:
        return _invalid(data, place, _VALUE)
    at = next(at for at in range(len(word)) if data[place + at : place + at + 1] != word[at : at + 1])
    return _invalid(data, place + at, f"in literal {word.decode()} (expecting '{chr(word[at])}')")


def _string_error(data: bytes, place: int) -> str:
    """Return the error of an escape or of an unterminated string. `place` is the quote, the backslash or the `u` after it."""
    begun = _OPEN_STRING.match(data, place)
    escape = begun.end() if begun else place - (data[place] == ord("u"))
    if escape == len(data):
        return _UNEXPECTED_END
    if data[escape + 1 : escape + 2] != b"u":
        return _invalid(data, escape + 1, "in string escape code")
    digits = _HEX.match(data, escape + 2)
    end = digits.end() if digits else escape + 2
    return _UNEXPECTED_END if end == escape + 6 else _invalid(data, end, "in \\u hexadecimal character escape")


def _number_error(data: bytes, place: int) -> str:
    """Return the error of a number with a point or an exponent at `place` and no digit after it, else ""."""
    number = data[len(data[:place].rstrip(b"0123456789.eE+-")) : place].lower()
    mark = data[place : place + 1]
    if mark == b"." and b"." not in number and b"e" not in number:
        return _invalid(data, place + 1, "after decimal point in numeric literal")
    if mark in {b"e", b"E"} and b"e" not in number:
        signed = data[place + 1 : place + 2] in {b"+", b"-"}
        return _invalid(data, place + 1 + signed, "in exponent of numeric literal")
    return ""


def quote_char(char: int) -> str:
    """Return a byte as the errors show it."""
    if char == ord("'"):
        return "'\\''"
    if char == ord('"'):
        return "'\"'"
    return f"'{formatting.quote(chr(char))[1:-1]}'"
