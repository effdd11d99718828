"""JSON bodies as the reference reads them: what Go's parser bears, what it refuses, and which fields stand twice.

Mirrors apimachinery pkg/runtime/serializer/json and sigs.k8s.io/json.
"""

from __future__ import annotations

import itertools
import math
import re
import secrets
import sys
from collections.abc import Iterator, Sequence
from typing import Any, Final

import orjson

from apiext.endpoints.serializers.json_syntax import syntax_error
from apiext.meta import go_format, json_codec

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
_MODULUS: Final = secrets.randbits(128) | 1 << 127 | 1
"""Of the digests of paths; nobody can guess it, so that nobody can make two paths look the same."""
_KINDS: Final = frozenset({"kind", "apiVersion"})
_FIRST: Final = re.compile(rb"\s*([^\s])")
_BEGINNINGS: Final = (
    dict.fromkeys((b"%c" % code for code in b"-0123456789"), "number")
    | dict.fromkeys((b"t", b"f"), "bool")
    | {b"[": "array", b"{": "object"}
)
"""What values are, by their first byte."""
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
        return json_codec.loads(data)
    except ValueError:
        return _parse_tolerant(data)


def _parse_tolerant(data: bytes) -> Any:
    problem = syntax_error(data)
    if problem:
        raise DecodeError(problem)
    # Go replaces each bad byte by itself.
    clean = _BAD_BYTE.sub("\ufffd", data.decode("utf-8", "surrogateescape")).encode()
    numbers = _Numbers()
    parsed = json_codec.loads(_NUMBER.sub(numbers.bounded, _ESCAPE.sub(_replaced, clean)))
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
    for stack, again in _fields(data):
        here = stack[-1]
        if again and here.at not in here.told:
            here.told.add(str(here.at))
            paths["".join(map(_Open.step, stack)).removeprefix(".")] = None
            if len(paths) == _MAX_STRICT:
                break
    return [f"duplicate field {go_format.quote(path)}" for path in paths]


def in_order(data: bytes, messages: Sequence[str]) -> list[str]:
    """Messages about unknown and duplicate fields of a body in the order in which a decoder comes upon them."""
    wanted = {_wanted(message): message for message in messages}
    ranks: dict[str, int] = {}
    for stack, again in _fields(data):
        message = wanted.pop((_digest(stack), again), None)
        if message is not None:
            ranks[message] = len(ranks)
            if not wanted:
                break
    return sorted(messages, key=lambda message: ranks.get(message, len(ranks)))


def wrong_kind(data: bytes) -> tuple[str, str]:
    """The first `kind` or `apiVersion` of an object in JSON that is neither text nor null, and what it is in Go; "" where there is none."""
    depth, name = 0, b""
    for token in _STRUCTURE.finditer(data):
        mark = token.group()
        if mark == b":":
            if depth == 1 and (key := _parse_tolerant(name)) in _KINDS:
                first = _FIRST.match(data, token.end())
                if first and first[1] in _BEGINNINGS:
                    return key, _BEGINNINGS[first[1]]
        elif mark in {b"{", b"["}:
            depth += 1
        elif mark in {b"}", b"]"}:
            depth -= 1
        elif mark != b",":
            name = mark
    return "", ""


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
    """An object or array that is being scanned: the key or index that the scan has come to, the keys before, and those told twice."""

    __slots__ = ("at", "digest", "seen", "told")

    def __init__(self, *, is_object: bool) -> None:
        self.at: str | int = "" if is_object else 0
        self.digest: int | None = None
        """Of the path that leads here, once somebody has asked for it."""
        self.seen: set[str] = set()
        self.told: set[str] = set()

    def step(self) -> str:
        """The last part of the path of what the scan has come to."""
        return f"[{self.at}]" if isinstance(self.at, int) else f".{self.at}"


def _fields(data: bytes) -> Iterator[tuple[list[_Open], bool]]:
    """All fields, each as what is open around it, and whether a field of the name was there before."""
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


def _digest(stack: list[_Open]) -> int:
    """What tells the path of a field, as messages quote it, from all others; made of that of what is around, since paths may be long."""
    known = len(stack) - 1
    while known and stack[known].digest is None:
        known -= 1
    digest = stack[known].digest or 0
    for above, below in itertools.pairwise(stack[known:]):
        digest = below.digest = _extended(digest, above.step())
    return _extended(digest, stack[-1].step())


def _extended(digest: int, text: str) -> int:
    quoted = go_format.quote(text)[1:-1].encode()
    return ((digest << 8 * len(quoted)) + int.from_bytes(quoted)) % _MODULUS


def _wanted(message: str) -> tuple[int, bool]:
    """The digest of the path that a message is about, and whether it says that the field is there twice."""
    word, _, quoted = message.partition(" field ")
    begin = "" if quoted.startswith('"[') else "."
    return int.from_bytes((begin + quoted[1:-1]).encode()) % _MODULUS, word == "duplicate"


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
