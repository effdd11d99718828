"""JSON bodies, decoded as in the reference: tolerated input, errors, and duplicate fields.

Mirrors apimachinery pkg/runtime/serializer/json and sigs.k8s.io/json.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any, Final

import orjson

from apiext.base.meta.encoding import json_codec, json_values
from apiext.base.meta.encoding.json_syntax import EXCEEDED_DEPTH, syntax_error, with_replacements
from apiext.base.meta.golang import formatting
from apiext.base.meta.limits import MAX_DEPTH, is_enough

_STRUCTURE: Final = re.compile(rb'"(?:[^"\\]|\\.)*+"|[\[\]{},:]', re.DOTALL)


class BodyDecodeError(ValueError):
    """A body that cannot be decoded; the text is the reference's."""


class DepthError(BodyDecodeError):
    """A body nested deeper than MAX_DEPTH. `value` is the parsed body, None if the parser stopped."""

    def __init__(self, value: Any = None) -> None:
        super().__init__(f"nested deeper than {MAX_DEPTH} levels")
        self.value = value


def parse(data: bytes) -> Any:
    """Parse JSON; invalid UTF-8 and lone surrogates become U+FFFD as in Go.

    Raises:
        BodyDecodeError: the data is not JSON, is nested deeper than MAX_DEPTH (DepthError), or has a number beyond float64.
    """
    try:
        return _parse_plain(data)
    except DepthError:
        raise
    except ValueError:
        return _parse_tolerant(data)


def parse_unique(data: bytes) -> tuple[Any, bool]:
    """Parse JSON as `parse`. Return the value, and whether the JSON surely has no duplicate fields.

    Raises:
        BodyDecodeError: as `parse`.
    """
    try:
        value = json_codec.loads(data, narrow=False)
        # the writer refuses integers outside int64, so `loads` need not search for them
        written = orjson.dumps(value, option=orjson.OPT_STRICT_INTEGER)
    except (TypeError, ValueError):
        value = parse(data)
        return value, not may_have_duplicates(data, value)
    return _not_deep(data, value), _has_all_fields(data, written)


def _parse_plain(data: bytes) -> Any:
    return _not_deep(data, json_codec.loads(data))


def _not_deep(data: bytes, value: Any) -> Any:
    """Return the parsed value. Raise DepthError if it is nested deeper than MAX_DEPTH."""
    if _may_be_deep(data) and json_values.is_deeper(value, MAX_DEPTH):
        raise DepthError(value)
    return value


def _may_be_deep(data: bytes) -> bool:
    """Return whether JSON has more than MAX_DEPTH opening brackets."""
    # `replace` uses memchr and stops at the last replacement; `count` compares every byte
    rest = data.replace(b"{", b"", MAX_DEPTH + 1).replace(b"[", b"", MAX_DEPTH + 1)
    return len(data) - len(rest) > MAX_DEPTH


def normalized(value: Any) -> Any:
    """Return a value after writing and parsing it."""
    return json_codec.loads(json_codec.dumps(value, sort_keys=False))


def _parse_tolerant(data: bytes) -> Any:
    problem = syntax_error(data)
    if problem == EXCEEDED_DEPTH:
        raise DepthError
    if problem:
        raise BodyDecodeError(problem)
    try:
        return json_codec.loads(with_replacements(data))
    except ValueError as error:
        raise BodyDecodeError("json: cannot unmarshal a number beyond float64") from error


def duplicate_fields(data: bytes, parsed: Any) -> list[str]:
    """Return messages about duplicate fields of JSON that `parse` accepted, in the order of the body."""
    return find_duplicates(data) if may_have_duplicates(data, parsed) else []


def find_duplicates(data: bytes) -> list[str]:
    """Return the messages of `duplicate_fields`, always from a scan of the whole JSON."""
    paths: dict[str, None] = {}
    for stack, is_duplicate in _fields(data):
        here = stack[-1]
        if is_duplicate and here.at not in here.reported:
            here.reported.add(str(here.at))
            paths["".join(map(_Open.step, stack)).removeprefix(".")] = None
            if is_enough(paths):
                break
    return [f"duplicate field {formatting.quote(path)}" for path in paths]


def may_have_duplicates(data: bytes, parsed: Any) -> bool:
    """Return whether parsed JSON may have duplicate fields."""
    try:
        return not _has_all_fields(data, orjson.dumps(parsed))
    except (TypeError, ValueError):
        return True


def _has_all_fields(data: bytes, written: bytes) -> bool:
    """Return whether the JSON of a parsed value surely has all fields of the original JSON.

    If the texts differ, compare the numbers of their colons: parsing drops duplicate fields, but keeps strings.
    """
    # only white space can follow in the original
    if data.startswith(written):
        return True
    # A search for one byte is much faster than for several, and few bodies have escapes.
    if b"\\" in data and (b"\\u003a" in data or b"\\u003A" in data):
        return False
    return data.count(b":") == written.count(b":")


class _Open:
    """An open object or array of a scan: its current key or index, the keys so far, and the reported duplicates."""

    __slots__ = ("at", "reported", "seen")

    def __init__(self, *, is_object: bool) -> None:
        self.at: str | int = "" if is_object else 0
        self.seen: set[str] = set()
        self.reported: set[str] = set()

    def step(self) -> str:
        """Return the last step of the path of the current field."""
        return f"[{self.at}]" if isinstance(self.at, int) else f".{self.at}"


def _fields(data: bytes) -> Iterator[tuple[list[_Open], bool]]:
    """Yield all fields: the open objects and arrays around each, and whether its name was seen before."""
    stack: list[_Open] = []
    text = b""
    for token in _STRUCTURE.finditer(data):
        mark = token.group()
        if mark == b":":
            here = stack[-1]
            here.at = orjson.loads(text) if b"\\" not in text and text.isascii() else _parse_tolerant(text)
            yield stack, here.at in here.seen
            here.seen.add(str(here.at))
        elif mark in {b"{", b"["}:
            stack.append(_Open(is_object=mark == b"{"))
        elif mark in {b"}", b"]"}:
            stack.pop()
        elif mark != b",":
            text = mark
        elif isinstance(stack[-1].at, int):
            stack[-1].at += 1
