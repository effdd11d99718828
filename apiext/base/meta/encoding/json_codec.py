"""JSON as the reference reads and writes it: integers up to int64, other numbers as float64, sorted keys, HTML-safe.

Mirrors apimachinery pkg/util/json and the unstructured JSON scheme. Objects are plain dicts.
"""

from __future__ import annotations

import json
import re
import secrets
from typing import Any

import orjson

from apiext.base.meta.encoding import json_values, utf8
from apiext.base.meta.golang import formatting

Object = dict[str, Any]
"""A Kubernetes object, or any JSON object."""

_MAX_INT64 = 2**63 - 1
_EXACT = 2**53
"""Magnitude up to which every integer is exact in float64."""
# Every digit becomes "0", so that a search for fixed bytes finds numbers; that is much faster than a pattern on the data.
_DIGITS = bytes(ord("0") if ord("0") <= code <= ord("9") else code for code in range(256))
_LONG_INTEGER = b"0" * 19
"""As many digits as the greatest int64 has."""
_BEFORE_NUMBER = frozenset(b":,[- \t\r\n")
# Patterns that begin with fixed bytes fail fast.
_WHOLE_FLOAT = re.compile(rb"\.0(?:$|[,\]}])")
_EXPONENT = re.compile(rb"e[+-][0-9]")
# The start of a number outside strings, up to ".0" or "e": a float whose shortest form may differ from Go's.
_NUMBER_BEFORE = re.compile(rb"(?:^|[:,\[])-?[0-9.]+\Z")
_NEGATIVE_ZERO = re.compile(rb"-0[,\]}]")
_TEXT_OR_NUMBER = re.compile(rb'"(?:[^"\\]|\\.)*+"|(-?[0-9][0-9.eE+-]*)')
_NUMBER_BYTES = 32
"""Upper bound of the length of such a number."""
_NO_MEMORY = "Not enough memory"
"""The beginning of orjson's message when it cannot allocate."""
# Random, so that no string of a value contains it.
_MARK = secrets.token_hex(16)
_HTML = ((b"<", b"\\u003c"), (b">", b"\\u003e"), (b"&", b"\\u0026"))
_SEPARATORS = ((b"\xe2\x80\xa8", b"\\u2028"), (b"\xe2\x80\xa9", b"\\u2029"))


def loads(data: bytes, *, narrow: bool = True) -> Any:
    """Parse JSON; a whole-number float such as 1.0 stays a float.

    Without `narrow`, integers between int64 and uint64 stay integers; they are not searched for.

    Raises:
        ValueError: the data is not JSON, or nested deeper than orjson reads (1,024 levels).
        MemoryError: the process may not have the memory to parse it.
    """
    parsed = _parse(data)
    return json_values.transform(parsed, _narrow) if narrow and _may_have_long_number(data.translate(_DIGITS)) else parsed


def _parse(data: bytes) -> Any:
    try:
        return orjson.loads(data)
    except orjson.JSONDecodeError as error:
        if error.msg.startswith(_NO_MEMORY):
            raise MemoryError(error.msg) from error
        raise


def _may_have_long_number(digits: bytes) -> bool:
    """Return whether 19 digits follow a character that may precede a number. Long digits within strings rarely do."""
    at = digits.find(_LONG_INTEGER)
    while at > 0 and digits[at - 1] not in _BEFORE_NUMBER:
        at = digits.find(_LONG_INTEGER, at + len(_LONG_INTEGER))
    return at >= 0


def _narrow(item: Any) -> Any:
    """Turn an integer outside int64 into a float, as Go's parser does."""
    if type(item) is int and not -_MAX_INT64 - 1 <= item <= _MAX_INT64:
        return float(item)
    return item


def dumps(obj: Any, *, sort_keys: bool = True, typed: bool = False) -> bytes:
    """Return compact JSON with sorted keys, numbers and escapes as Go's encoder writes them, without a final newline.

    U+FFFD replaces each byte of a string that is not UTF-8 (surrogateescape). With `typed`, floats have a fraction or an exponent, so
    that `loads` returns the same types; `untyped` turns this form into the other.

    Raises:
        TypeError: the value is no JSON value.
    """
    option = orjson.OPT_SORT_KEYS if sort_keys else 0
    try:
        data = orjson.dumps(obj, option=option)
    except orjson.JSONEncodeError:
        shown = obj if typed else json_values.transform(obj, _marked)
        marked = json.dumps(shown, sort_keys=sort_keys, ensure_ascii=False, separators=(",", ":"))
        return _html_safe(_unmarked(utf8.replaced(marked).encode()))
    if not typed and may_be_typed(data):
        data = _unmarked(orjson.dumps(json_values.transform(obj, _marked), option=option))
    return _html_safe(data)


def untyped(data: bytes) -> bytes:
    """Return JSON that `dumps` wrote with `typed` as it writes it without, and keep a final newline. Other JSON stays unchanged."""
    if not may_be_typed(data):
        return data
    return dumps(loads(data), sort_keys=False) + data[len(data.rstrip(b"\n")) :]


def may_be_typed(data: bytes) -> bool:
    """Return whether compact JSON may have a float that Go writes differently: as an integer, or with another exponent."""
    # most data has neither, and finding fixed bytes is much faster than a pattern
    if data.find(b".0") < 0 and data.find(b"e-") < 0 and data.find(b"e+") < 0:
        return False
    return any(
        _NUMBER_BEFORE.search(data, max(0, found.start() - _NUMBER_BYTES), found.start())
        for pattern in (_WHOLE_FLOAT, _EXPONENT)
        for found in pattern.finditer(data)
    )


def _html_safe(data: bytes) -> bytes:
    # `in` tries the bytes as an integer first, which costs an exception
    if data.find(b"<") >= 0 or data.find(b">") >= 0 or data.find(b"&") >= 0:
        for plain, escaped in _HTML:
            data = data.replace(plain, escaped)
    if not data.isascii():
        for plain, escaped in _SEPARATORS:
            data = data.replace(plain, escaped)
    return data


def _marked(item: Any) -> Any:
    """Return a float in Go's form between marks, which `_unmarked` removes with the quotes; return other values unchanged."""
    if type(item) is not float:
        return item
    # Go writes whole numbers without a fraction.
    if item and abs(item) < _EXACT and item.is_integer():
        return int(item)
    # encoding/json shortens e-09 to e-9, but keeps e+21.
    number = re.sub(r"e-0(\d)$", r"e-\1", formatting.number(item, min_exponent=-6))
    return f"{_MARK}{number}{_MARK}"


def _unmarked(data: bytes) -> bytes:
    mark = _MARK.encode()
    return data.replace(b'"' + mark, b"").replace(mark + b'"', b"")


def pretty(data: bytes) -> bytes:
    """Return JSON indented by two spaces, as `?pretty=1` prints it.

    Numbers stay as they are spelled. A value nested deeper than 254 levels stays on one line.
    """
    special = _has_special_number(data)
    try:
        value = _parse(_TEXT_OR_NUMBER.sub(_mark_number, data) if special else data)
        indented = _html_safe(orjson.dumps(value, option=orjson.OPT_INDENT_2))
    except (orjson.JSONDecodeError, orjson.JSONEncodeError):
        return data
    return _unmarked(indented) if special else indented


def _has_special_number(data: bytes) -> bool:
    """Return whether JSON in Go's form may have a number that Python spells differently."""
    return may_be_typed(data) or _NEGATIVE_ZERO.search(data) is not None or _may_have_long_number(data.translate(_DIGITS))


def _mark_number(found: re.Match[bytes]) -> bytes:
    """Return a number as a string between marks, which `_unmarked` removes; return a string unchanged."""
    return found[0] if found[1] is None else b'"%b%b%b"' % (_MARK.encode(), found[1], _MARK.encode())
