"""JSON bodies as the reference reads them: what Go's parser bears, what it refuses, and which fields stand twice.

Mirrors apimachinery pkg/runtime/serializer/json and sigs.k8s.io/json.
"""

from __future__ import annotations

import json
import re
from typing import Any, Final

import orjson

from apiext.endpoints.jsonsyntax import syntax_error
from apiext.meta import goformat, wire

MAX_DEPTH: Final = 250
"""Levels of objects and arrays that a body may have; what is deeper could not be written as JSON again."""
_MAX_STRICT: Final = 100
_SURROGATE: Final = re.compile("[\ud800-\udfff]")
_NUMBER: Final = re.compile(rb'"(?:[^"\\]|\\.)*+"|(-?[0-9][0-9.eE+-]*)', re.DOTALL)


class DecodeError(ValueError):
    """A body that cannot be read; the text is the reference's."""


class DepthError(DecodeError):
    """A body that is nested too deeply."""

    def __init__(self) -> None:
        super().__init__("exceeded max depth")


class NumberError(DecodeError):
    """A body whose kind can be told, but which holds a number that cannot be read."""


def parse(data: bytes) -> Any:
    """Parse JSON; invalid UTF-8 and lone surrogates become U+FFFD as in Go.

    Raises:
        DecodeError: it is not JSON, too deep, or holds a number that no float64 can.
    """
    try:
        parsed = wire.loads(data)
    except RecursionError as error:
        raise DepthError from error
    except ValueError:
        return _parse_tolerant(data)
    # Infinity, which a number beyond float64 becomes, is written as null.
    if check_depth(parsed).count(b"null") != data.count(b"null"):
        _check_numbers(data)
    return parsed


def _parse_tolerant(data: bytes) -> Any:
    problem = syntax_error(data)
    if problem:
        raise DecodeError(problem)
    _check_numbers(data)
    try:
        # Go replaces each bad byte by itself.
        parsed = json.loads(data.decode("utf-8", "surrogateescape"))
        clean = _without_surrogates(parsed)
    except RecursionError as error:
        raise DepthError from error
    check_depth(clean)
    return clean


def _without_surrogates(item: Any) -> Any:
    if isinstance(item, str):
        return _SURROGATE.sub("\ufffd", item)
    if isinstance(item, dict):
        return {_SURROGATE.sub("\ufffd", key): _without_surrogates(member) for key, member in item.items()}
    if isinstance(item, list):
        return [_without_surrogates(member) for member in item]
    if type(item) is int and not -(2**63) <= item < 2**63:
        return float(item)
    return item


def _check_numbers(data: bytes) -> None:
    """Refuse numbers outside float64. Raises DecodeError."""
    for match in _NUMBER.finditer(data):
        text = match.group(1)
        if text and float(text) in {float("inf"), float("-inf")}:
            raise NumberError(f"json: cannot unmarshal number {text.decode()} into Go value of type float64")


def check_depth(item: Any) -> bytes:
    """Refuse what is nested deeper than can be written again. Raises DecodeError. What was written tells more about it."""
    try:
        # The writer's own limit is 254.
        return orjson.dumps([[[[item]]]])
    except TypeError as error:
        raise DepthError from error


class _Pairs(tuple[tuple[str, Any], ...]):
    """An object with all its members, those that stand twice too."""

    __slots__ = ()


def duplicate_fields(data: bytes, parsed: Any) -> list[str]:
    """Messages about fields that stand twice in JSON that `parse` has taken, in their order."""
    if not _may_have_duplicates(data, parsed):
        return []
    try:
        pairs = json.loads(data.decode("utf-8", "replace"), object_pairs_hook=_Pairs)
    except (ValueError, RecursionError):
        return []
    found: dict[str, None] = {}
    _find_duplicates(pairs, "", found)
    return [f"duplicate field {goformat.quote(path)}" for path in list(found)[:_MAX_STRICT]]


def _may_have_duplicates(data: bytes, parsed: Any) -> bool:
    """Compare the number of colons before and after parsing, which drops duplicates and leaves texts as they are."""
    # one byte is found much quicker than several, and hardly any body has escapes
    if b"\\" in data and (b"\\u003a" in data or b"\\u003A" in data):
        return True
    try:
        return data.count(b":") != orjson.dumps(parsed).count(b":")
    except (TypeError, ValueError):
        return True


def _find_duplicates(item: Any, path: str, found: dict[str, None]) -> None:
    if len(found) >= _MAX_STRICT:
        return
    if isinstance(item, _Pairs):
        seen: set[str] = set()
        for key, member in item:
            below = f"{path}.{key}" if path else key
            if key in seen:
                found[below] = None
            seen.add(key)
            _find_duplicates(member, below, found)
    elif isinstance(item, list):
        for index, member in enumerate(item):
            _find_duplicates(member, f"{path}[{index}]", found)


def go_kind(item: Any) -> str:
    """A JSON value's type as Go's errors name it."""
    if isinstance(item, str):
        return "string"
    if isinstance(item, bool):
        return "bool"
    if isinstance(item, int | float):
        return "number"
    return "array" if isinstance(item, list) else "object"
