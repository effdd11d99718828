"""Syntax errors of JSON, for data that the fast parser rejects.

Python's parser finds them; the common ones have the words of Go's encoding/json (scanner.go).
"""

from __future__ import annotations

import json
import re
from itertools import accumulate
from typing import Final

from apiext.base.meta.golang import formatting
from apiext.base.meta.limits import MAX_DEPTH

EXCEEDED_DEPTH: Final = "exceeded max depth"
"""The message about more than MAX_DEPTH open objects and arrays."""
_CONTEXTS: Final = {
    "Expecting value": "looking for beginning of value",
    "Expecting property name enclosed in double quotes": "looking for beginning of object key string",
    "Expecting ':' delimiter": "after object key",
    "Expecting ',' delimiter": "after a value",
    "Extra data": "after top-level value",
    "Invalid control character at": "in string literal",
}
"""What is expected at the place of an error, by the error that Python's parser reports."""
_PLAIN: Final = bytes(ord("?") if code >= 0x80 or code in b"NI" else code for code in range(256))
"""Equates all bytes beyond ASCII, and hides NaN and Infinity, which Python reads."""
_PARSER: Final = json.JSONDecoder(parse_int=len, parse_float=len)
"""Checks numbers and does not convert them."""
_BAD_BYTE: Final = re.compile("[\udc80-\udcff]")
_ESCAPE: Final = re.compile(rb"\\u[dD][89abAB][0-9a-fA-F]{2}\\u[dD][c-fC-F][0-9a-fA-F]{2}|\\(u[dD][89a-fA-F][0-9a-fA-F]{2})|\\.")
_SURROGATE: Final = re.compile(rb"\\u[dD][89a-fA-F]")
_STRING: Final = re.compile(rb'"(?:[^"\\]|\\.)*+(?:"|\\?\Z)', re.DOTALL)
_NOT_BRACKETS: Final = bytes(set(range(256)).difference(b"[]{}"))
_NESTING: Final = {ord("["): 1, ord("{"): 1, ord("]"): -1, ord("}"): -1}


def syntax_error(data: bytes) -> str:
    """Return the first syntax error, "" if Go accepts the data (it tolerates invalid UTF-8 and lone surrogates)."""
    try:
        _PARSER.decode(data.translate(_PLAIN).decode("ascii"))
    except json.JSONDecodeError as error:
        return EXCEEDED_DEPTH if _is_too_deep(data[: error.pos]) else _message(data, error)
    except RecursionError:
        return EXCEEDED_DEPTH
    return EXCEEDED_DEPTH if _is_too_deep(data) else ""


def with_replacements(data: bytes) -> bytes:
    """Return JSON without syntax errors as Go reads it: U+FFFD replaces each byte that is not UTF-8, and each lone surrogate."""
    clean = data if data.isascii() else _BAD_BYTE.sub("\ufffd", data.decode("utf-8", "surrogateescape")).encode()
    return _ESCAPE.sub(lambda escape: b"\\ufffd" if escape[1] else escape[0], clean) if _SURROGATE.search(clean) else clean


def _is_too_deep(data: bytes) -> bool:
    brackets = _STRING.sub(b"", data).translate(None, _NOT_BRACKETS)
    return len(brackets) > MAX_DEPTH and max(accumulate(map(_NESTING.__getitem__, brackets))) > MAX_DEPTH


def _message(data: bytes, error: json.JSONDecodeError) -> str:
    if error.pos == len(data) or error.msg == "Unterminated string starting at":
        return "unexpected end of JSON input"
    if error.msg not in _CONTEXTS:
        return str(error)
    return f"invalid character '{formatting.quote(chr(data[error.pos]))[1:-1]}' {_CONTEXTS[error.msg]}"
