"""JSON as the reference reads and writes it: integers up to int64, other numbers as float64, sorted keys, HTML-safe.

Mirrors apimachinery pkg/util/json and the unstructured JSON scheme. Objects are plain dicts.
"""

from __future__ import annotations

import re
import secrets
from typing import Any

import orjson

from apiext.meta import deep, go_format

Object = dict[str, Any]
"""A Kubernetes object, or any JSON object, as a dict."""

_MAX_INT64 = 2**63 - 1
_EXACT = 2**53
# Every digit as "0", so that a look for fixed bytes finds numbers: much quicker than a pattern on the data itself.
_DIGITS = bytes(ord("0") if ord("0") <= code <= ord("9") else code for code in range(256))
_LONG_INTEGER = b"0" * 19
_BEFORE_NUMBER = frozenset(b":,[- \t\r\n")
# Patterns that begin with fixed bytes are quick to miss.
_WHOLE_FLOAT = re.compile(rb"\.0(?:$|[,\]}])")
_EXPONENT = re.compile(rb"e[+-][0-9]")
# a number, not part of a longer string, whose shortest form may differ from Go's
_ODD_FLOAT = re.compile(rb"(?:^|[:,\[])-?(?:[0-9]+\.0(?:$|[,\]}])|[0-9.]+[eE]|0\.0000)")
# Levels that orjson may refuse to read and to write.
_DEEP_READ = 1000
_DEEP_WRITTEN = 250
# Nobody can guess it, so no text of a value holds it.
_MARK = secrets.token_hex(16)
_HTML = ((b"<", b"\\u003c"), (b">", b"\\u003e"), (b"&", b"\\u0026"))
_SEPARATORS = ((b"\xe2\x80\xa8", b"\\u2028"), (b"\xe2\x80\xa9", b"\\u2029"))


def loads(data: bytes) -> Any:
    """Parse JSON; a whole-number float such as 1.0 stays a float. Raises ValueError on malformed input."""
    parsed = _parsed(data)
    digits = data.translate(_DIGITS)
    if not _may_have_long_number(digits):
        return parsed
    try:
        return _narrow(parsed)
    except RecursionError:
        return deep.copied(parsed, _narrow)


def _parsed(data: bytes) -> Any:
    try:
        return orjson.loads(data)
    except orjson.JSONDecodeError:
        if data.count(b"[") + data.count(b"{") < _DEEP_READ:
            raise
    return deep.loads(data)


def _may_have_long_number(digits: bytes) -> bool:
    """Whether many digits stand where a number begins; those that begin a string are no number, and far more frequent."""
    at = digits.find(_LONG_INTEGER)
    while at > 0 and digits[at - 1] not in _BEFORE_NUMBER:
        at = digits.find(_LONG_INTEGER, at + len(_LONG_INTEGER))
    return at >= 0


def _narrow(item: Any) -> Any:
    """Turn integers outside int64 into floats, as Go's parser does."""
    if isinstance(item, dict):
        return {key: _narrow(member) for key, member in item.items()}
    if isinstance(item, list):
        return [_narrow(member) for member in item]
    if type(item) is int and not -_MAX_INT64 - 1 <= item <= _MAX_INT64:
        return float(item)
    return item


def dumps(obj: Any, *, sort_keys: bool = True) -> bytes:
    """Compact JSON with sorted keys, numbers and escapes as Go's encoder writes them, without a final newline."""
    option = orjson.OPT_SORT_KEYS if sort_keys else 0
    try:
        data = orjson.dumps(obj, option=option)
    except orjson.JSONEncodeError:
        if deep.depth(obj) < _DEEP_WRITTEN:
            raise
        return _html_safe(_unmarked(deep.dumps(obj, option | orjson.OPT_PASSTHROUGH_SUBCLASS, _gofloats, _go_float)))
    if _may_have_odd_float(data) and _ODD_FLOAT.search(data):
        data = _unmarked(orjson.dumps(_gofloats(obj), option=option | orjson.OPT_PASSTHROUGH_SUBCLASS, default=_go_float))
    return _html_safe(data)


def _may_have_odd_float(data: bytes) -> bool:
    if _WHOLE_FLOAT.search(data):
        return True
    if not _EXPONENT.search(data):
        return False
    digits = data.translate(_DIGITS)
    return b"0e-0" in digits or b"0e+0" in digits


def _html_safe(data: bytes) -> bytes:
    for plain, escaped in _HTML:
        if plain in data:
            data = data.replace(plain, escaped)
    if not data.isascii():
        for plain, escaped in _SEPARATORS:
            data = data.replace(plain, escaped)
    return data


class _Float(float):
    """A float that the encoder hands back to be written in Go's form."""


def _gofloats(item: Any) -> Any:
    if isinstance(item, dict):
        return {key: _gofloats(member) for key, member in item.items()}
    if isinstance(item, list):
        return [_gofloats(member) for member in item]
    if type(item) is float:
        # Go writes whole numbers without a fraction, as integers are written.
        return int(item) if abs(item) < _EXACT and item.is_integer() and item else _Float(item)
    return item


def _go_float(item: Any) -> str:
    """The number between marks; orjson's own fragments are not to be trusted among many brackets, see deep."""
    return f"{_MARK}{json_number(item)}{_MARK}"


def _unmarked(data: bytes) -> bytes:
    mark = _MARK.encode()
    return data.replace(b'"' + mark, b"").replace(mark + b'"', b"")


def json_number(number: float) -> str:
    """A number as Go's encoding/json writes it."""
    text = go_format.number(number, min_exponent=-6)
    # encoding/json cleans e-09 to e-9, but keeps e+21
    return re.sub(r"e-0(\d)$", r"e-\1", text)


def pretty(data: bytes) -> bytes:
    """JSON bytes indented by two spaces, as `?pretty=1` prints them.

    What is nested deeper than some 250 levels stays in one line: indented it would be hundreds of times as long.
    """
    try:
        return _html_safe(orjson.dumps(orjson.loads(data), option=orjson.OPT_INDENT_2))
    except (orjson.JSONDecodeError, orjson.JSONEncodeError):
        return data
