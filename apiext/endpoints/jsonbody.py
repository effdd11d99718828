"""JSON bodies as the reference reads them: what Go's parser bears, what it refuses, and which fields stand twice.

Mirrors apimachinery pkg/runtime/serializer/json and sigs.k8s.io/json.
"""

from __future__ import annotations

import math
import re
import sys
from collections.abc import Iterator, Sequence
from collections.abc import Set as AbstractSet
from typing import Any, Final

import orjson

from apiext.endpoints.jsonsyntax import syntax_error
from apiext.meta import goformat, wire

_MAX_STRICT: Final = 100
_NUMBER: Final = re.compile(rb'"(?:[^"\\]|\\.)*+"|(-?[0-9][0-9.]*+(?:[eE][0-9+-]*+)?)', re.DOTALL)
_TOLD: Final = re.compile(r"(?<=cannot unmarshal number )[-0-9]\S*(?= into Go struct field )")
_PLAIN: Final = re.compile(rb"-?[0-9]{1,20}")
_LONG: Final = 300
"""Digits that a number without an exponent has at least where no float64 can hold it."""
GREATEST: Final = sys.float_info.max
_GREATEST: Final = str(GREATEST).encode()
_BAD_BYTE: Final = re.compile("[\udc80-\udcff]")
_ESCAPE: Final = re.compile(rb"\\u[dD][89abAB][0-9a-fA-F]{2}\\u[dD][c-fC-F][0-9a-fA-F]{2}|\\(u[dD][89a-fA-F][0-9a-fA-F]{2})|\\.")
_STRUCTURE: Final = re.compile(rb'"(?:[^"\\]|\\.)*+"|[\[\]{},:]', re.DOTALL)


class DecodeError(ValueError):
    """A body that cannot be read; the text is the reference's."""


class NumberError(DecodeError):
    """A body whose kind can be told, but which holds a number that cannot be read.

    `value` is the body with GREATEST in the place of such numbers, `number` the first of them as it stands.
    """

    def __init__(self, number: str, value: Any) -> None:
        super().__init__(f"json: cannot unmarshal number {number} into Go value of type float64")
        self.number = number
        self.value = value


def parse(data: bytes) -> Any:
    """Parse JSON; invalid UTF-8 and lone surrogates become U+FFFD as in Go.

    Raises:
        DecodeError: it is not JSON, too deep, or holds a number that no float64 can.
    """
    try:
        return wire.loads(data)
    except ValueError:
        return _parse_tolerant(data)


def _parse_tolerant(data: bytes) -> Any:
    problem = syntax_error(data)
    if problem:
        raise DecodeError(problem)
    # Go replaces each bad byte by itself.
    clean = _BAD_BYTE.sub("\ufffd", data.decode("utf-8", "surrogateescape")).encode()
    numbers = _Numbers()
    parsed = wire.loads(_NUMBER.sub(numbers.bounded, _ESCAPE.sub(_replaced, clean)))
    if numbers.first:
        raise NumberError(numbers.first, parsed)
    return parsed


class _Numbers:
    """Puts what float64 can hold in the place of numbers that it cannot."""

    __slots__ = ("first",)

    def __init__(self) -> None:
        self.first = ""

    def bounded(self, match: re.Match[bytes]) -> bytes:
        """The number, or text, as it can be read."""
        text = match[1]
        if not text or (len(text) < _LONG and b"e" not in text and b"E" not in text) or math.isfinite(float(text)):
            return match[0]
        self.first = self.first or text.decode()
        return b"-%b" % _GREATEST if text.startswith(b"-") else _GREATEST


def _replaced(escape: re.Match[bytes]) -> bytes:
    return b"\\ufffd" if escape[1] else escape[0]


def duplicate_fields(data: bytes, parsed: Any) -> list[str]:
    """Messages about fields that stand twice in JSON that `parse` has taken, in their order."""
    if not _may_have_duplicates(data, parsed):
        return []
    paths: dict[str, None] = {}
    for path, _ in _fields(data):
        paths[path] = None
        if len(paths) == _MAX_STRICT:
            break
    return [f"duplicate field {goformat.quote(path)}" for path in paths]


def in_order(data: bytes, messages: Sequence[str]) -> list[str]:
    """Messages about unknown and duplicate fields of a body in the order in which a decoder comes upon them."""
    names = frozenset(message.removesuffix('"').rpartition(".")[2].rpartition('"')[2] for message in messages)
    ranks: dict[str, int] = {}
    for path, again in _fields(data, names):
        ranks.setdefault(f"{'duplicate' if again else 'unknown'} field {goformat.quote(path)}", len(ranks))
    return sorted(messages, key=lambda message: ranks.get(message, len(ranks)))


def _may_have_duplicates(data: bytes, parsed: Any) -> bool:
    """Compare the number of colons before and after parsing, which drops duplicates and leaves texts as they are."""
    # one byte is found much quicker than several, and hardly any body has escapes
    if b"\\" in data and (b"\\u003a" in data or b"\\u003A" in data):
        return True
    try:
        return data.count(b":") != orjson.dumps(parsed).count(b":")
    except (TypeError, ValueError):
        return True


class _Open:
    """An object or array that is being scanned: the key or index that the scan has come to, and the keys before."""

    __slots__ = ("at", "seen")

    def __init__(self, *, is_object: bool) -> None:
        self.at: str | int = "" if is_object else 0
        self.seen: set[str] = set()


def _fields(data: bytes, names: AbstractSet[str] = frozenset()) -> Iterator[tuple[str, bool]]:
    """The paths of fields that stand where a field of the name was before (some more than once), and of those with one of the names."""
    stack: list[_Open] = []
    text = b""
    for token in _STRUCTURE.finditer(data):
        mark = token.group()
        if mark == b":":
            here = stack[-1]
            here.at = orjson.loads(text) if b"\\" not in text and text.isascii() else _parse_tolerant(text)
            again = here.at in here.seen
            if again or here.at in names:
                yield _path(stack), again
            here.seen.add(str(here.at))
        elif mark in {b"{", b"["}:
            stack.append(_Open(is_object=mark == b"{"))
        elif mark in {b"}", b"]"}:
            stack.pop()
        elif mark != b",":
            text = mark
        elif isinstance(stack[-1].at, int):
            stack[-1].at += 1


def _path(stack: list[_Open]) -> str:
    return "".join(f"[{here.at}]" if isinstance(here.at, int) else f".{here.at}" for here in stack).removeprefix(".")


def as_spelled(message: str, data: bytes) -> str:
    """What is said of a number that a field cannot hold, with the number as it stands in the body."""
    told = _TOLD.search(message)
    if told is None:
        return message
    for match in _NUMBER.finditer(data):
        text = match[1]
        if (
            text
            and max(-GREATEST, min(float(text), GREATEST)) == float(told[0])
            and not (_PLAIN.fullmatch(text) and -(2**63) <= int(text) < 2**63)
        ):
            return message.replace(told[0], text.decode(), 1)
    return message


def go_kind(item: Any) -> str:
    """A JSON value's type as Go's errors name it."""
    if isinstance(item, str):
        return "string"
    if isinstance(item, bool):
        return "bool"
    if isinstance(item, int | float):
        return "number"
    return "array" if isinstance(item, list) else "object"
