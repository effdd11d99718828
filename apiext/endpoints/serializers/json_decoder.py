"""JSON bodies, decoded as in the reference: tolerated input, errors, and duplicate fields.

Mirrors apimachinery pkg/runtime/serializer/json and sigs.k8s.io/json.
"""

from __future__ import annotations

import hashlib
import math
import re
import sys
from collections.abc import Iterator, Sequence
from typing import Any, Final

import orjson

from apiext.meta.encoding import json_codec, json_values
from apiext.meta.encoding.json_syntax import EXCEEDED_DEPTH, syntax_error
from apiext.meta.golang import formatting
from apiext.meta.limits import MAX_DEPTH, is_enough

_NUMBER: Final = re.compile(rb'"(?:[^"\\]|\\.)*+"|(-?[0-9][0-9.]*+(?:[eE][0-9+-]*+)?)', re.DOTALL)
_REPORTED_NUMBER: Final = re.compile(r"(?<=cannot unmarshal number )[-0-9]\S*(?= into Go struct field )")
_PLAIN: Final = re.compile(rb"-?[0-9]{1,20}")
_MIN_OVERFLOW_DIGITS: Final = 300
"""Least number of digits of a number without an exponent that exceeds float64."""
MAX_FLOAT: Final = sys.float_info.max
_MAX_FLOAT_TEXT: Final = str(MAX_FLOAT).encode()
_BAD_BYTE: Final = re.compile("[\udc80-\udcff]")
_ESCAPE: Final = re.compile(rb"\\u[dD][89abAB][0-9a-fA-F]{2}\\u[dD][c-fC-F][0-9a-fA-F]{2}|\\(u[dD][89a-fA-F][0-9a-fA-F]{2})|\\.")
_SURROGATE: Final = re.compile(rb"\\u[dD][89a-fA-F]")
_KINDS: Final = frozenset({"kind", "apiVersion"})
_FIRST_BYTE: Final = re.compile(rb"\s*([^\s])")
_TYPES_BY_FIRST_BYTE: Final = (
    dict.fromkeys((b"%c" % code for code in b"-0123456789"), "number")
    | dict.fromkeys((b"t", b"f"), "bool")
    | {b"[": "array", b"{": "object"}
)
"""Go type of a value by its first byte."""
_STRUCTURE: Final = re.compile(rb'"(?:[^"\\]|\\.)*+"|[\[\]{},:]', re.DOTALL)


class BodyDecodeError(ValueError):
    """A body that cannot be decoded; the text is the reference's."""


class DepthError(BodyDecodeError):
    """A body nested deeper than MAX_DEPTH. `value` is the parsed body, None if the parser stopped."""

    def __init__(self, value: Any = None) -> None:
        super().__init__(f"nested deeper than {MAX_DEPTH} levels")
        self.value = value


class NumberError(BodyDecodeError):
    """A body with a number beyond float64.

    `value` is the body with MAX_FLOAT in the place of such numbers, `number` the first of them as it was sent.
    """

    def __init__(self, number: str, value: Any) -> None:
        super().__init__(f"json: cannot unmarshal number {number} into Go value of type float64")
        self.number = number
        self.value = value


def parse(data: bytes) -> Any:
    """Parse JSON; invalid UTF-8 and lone surrogates become U+FFFD as in Go.

    Raises:
        BodyDecodeError: the data is not JSON, is nested deeper than MAX_DEPTH (DepthError), or has a number beyond float64
            (NumberError).
    """
    try:
        return _parse_plain(data)
    except DepthError:
        raise
    except ValueError:
        return _parse_tolerant(data)


def parse_normalized(data: bytes) -> tuple[Any, bytes]:
    """Parse JSON as `parse` does. Return the value, and valid JSON for every parser: the data itself if possible.

    Raises:
        BodyDecodeError: as `parse`.
    """
    try:
        return _parse_plain(data), data
    except DepthError:
        raise
    except ValueError:
        return normalized(_parse_tolerant(data))


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


def normalized(value: Any) -> tuple[Any, bytes]:
    """Return a value after writing and parsing it, and its JSON."""
    data = json_codec.dumps(value, sort_keys=False)
    return json_codec.loads(data), data


def _parse_tolerant(data: bytes) -> Any:
    problem = syntax_error(data)
    if problem == EXCEEDED_DEPTH:
        raise DepthError
    if problem:
        raise BodyDecodeError(problem)
    # Go replaces each invalid byte.
    clean = _BAD_BYTE.sub("\ufffd", data.decode("utf-8", "surrogateescape")).encode()
    valid = _ESCAPE.sub(lambda escape: b"\\ufffd" if escape[1] else escape[0], clean) if _SURROGATE.search(clean) else clean
    try:
        return json_codec.loads(valid)
    except ValueError:
        return _parse_bounded(valid)


def _parse_bounded(data: bytes) -> Any:
    """Parse JSON with numbers beyond float64. Raises NumberError."""
    beyond: list[bytes] = []

    def bounded(match: re.Match[bytes]) -> bytes:
        """Replace a number beyond float64 by the greatest float64; strings and other numbers stay."""
        text = match[1]
        if not text or (len(text) < _MIN_OVERFLOW_DIGITS and b"e" not in text and b"E" not in text) or math.isfinite(float(text)):
            return match[0]
        beyond.append(text)
        return b"-%b" % _MAX_FLOAT_TEXT if text.startswith(b"-") else _MAX_FLOAT_TEXT

    parsed = json_codec.loads(_NUMBER.sub(bounded, data))
    if beyond:
        raise NumberError(beyond[0].decode(), parsed)
    return parsed


def duplicate_fields(data: bytes, parsed: Any) -> list[str]:
    """Return messages about duplicate fields of JSON that `parse` accepted, in the order of the body."""
    return find_duplicates(data) if may_have_duplicates(data, parsed) else []


def find_duplicates(data: bytes) -> list[str]:
    """Return the messages of `duplicate_fields`, always from a scan of the whole JSON."""
    paths: dict[str, None] = {}
    for stack, is_duplicate, _ in _fields(data):
        here = stack[-1]
        if is_duplicate and here.at not in here.reported:
            here.reported.add(str(here.at))
            paths["".join(map(_Open.step, stack)).removeprefix(".")] = None
            if is_enough(paths):
                break
    return [f"duplicate field {formatting.quote(path)}" for path in paths]


def in_body_order(data: bytes, messages: Sequence[str]) -> list[str]:
    """Return messages about unknown and duplicate fields in the order in which a decoder finds the fields."""
    wanted = {_target_of(message): message for message in messages}
    ranks: dict[str, int] = {}
    for stack, is_duplicate, _ in _fields(data):
        message = wanted.pop((_path_hash(stack, len(stack) - 1).digest(), is_duplicate), None)
        if message is not None:
            ranks[message] = len(ranks)
            if not wanted:
                break
    return sorted(messages, key=lambda message: ranks.get(message, len(ranks)))


def mistyped_kind(data: bytes) -> tuple[str, str]:
    """Return the first `kind` or `apiVersion` of an object that is neither string nor null, and its Go type; "" and "" if there is none."""
    for stack, _, end in _fields(data):
        if len(stack) == 1 and stack[0].at in _KINDS:
            first = _FIRST_BYTE.match(data, end)
            if first and first[1] in _TYPES_BY_FIRST_BYTE:
                return str(stack[0].at), _TYPES_BY_FIRST_BYTE[first[1]]
    return "", ""


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

    __slots__ = ("above", "at", "reported", "seen")

    def __init__(self, *, is_object: bool) -> None:
        self.at: str | int = "" if is_object else 0
        self.above: hashlib.blake2b | None = None
        """Hash of the path that leads here, computed on demand."""
        self.seen: set[str] = set()
        self.reported: set[str] = set()

    def step(self) -> str:
        """Return the last step of the path of the current field."""
        return f"[{self.at}]" if isinstance(self.at, int) else f".{self.at}"


def _fields(data: bytes) -> Iterator[tuple[list[_Open], bool, int]]:
    """Yield all fields: the open objects and arrays around each, whether its name was seen before, and the offset of its value."""
    stack: list[_Open] = []
    text = b""
    for token in _STRUCTURE.finditer(data):
        mark = token.group()
        if mark == b":":
            here = stack[-1]
            here.at = orjson.loads(text) if b"\\" not in text and text.isascii() else _parse_tolerant(text)
            yield stack, here.at in here.seen, token.end()
            here.seen.add(str(here.at))
        elif mark in {b"{", b"["}:
            stack.append(_Open(is_object=mark == b"{"))
        elif mark in {b"}", b"]"}:
            stack.pop()
        elif mark != b",":
            text = mark
        elif isinstance(stack[-1].at, int):
            stack[-1].at += 1


def _path_hash(stack: list[_Open], level: int) -> hashlib.blake2b:
    """Hash the path of a level's current field. The hashes of the levels above are kept, since paths can be long."""
    here = stack[level]
    if here.above is None:
        here.above = _path_hash(stack, level - 1) if level else hashlib.blake2b()
    extended = here.above.copy()
    extended.update(formatting.quote(here.step())[1:-1].encode())
    return extended


def _target_of(message: str) -> tuple[bytes, bool]:
    """Return the hash of the path in a message, and whether the message is about a duplicate."""
    word, _, quoted = message.partition(" field ")
    begin = "" if quoted.startswith('"[') else "."
    return hashlib.blake2b((begin + quoted[1:-1]).encode()).digest(), word == "duplicate"


def with_sent_number(message: str, data: bytes) -> str:
    """Return the message about a number that a field cannot hold, with the number as it was sent."""
    reported = _REPORTED_NUMBER.search(message)
    if reported is None:
        return message
    for match in _NUMBER.finditer(data):
        text = match[1]
        if (
            text
            and max(-MAX_FLOAT, min(float(text), MAX_FLOAT)) == float(reported[0])
            and not (_PLAIN.fullmatch(text) and -(2**63) <= int(text) < 2**63)
        ):
            return message.replace(reported[0], text.decode(), 1)
    return message
