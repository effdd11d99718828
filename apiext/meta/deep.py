"""JSON values nested deeper than the JSON library and Python's own recursion go: the same work with bounded recursion.

Mirrors what Go's encoding/json does to such values. Nothing here is quick: whoever comes here has been refused elsewhere.
"""

from __future__ import annotations

import itertools
import re
import secrets
from collections.abc import Callable, Iterable, Iterator
from typing import Any, Final

import orjson

MAX_DEPTH: Final = 10_000
"""Levels of objects and arrays that the reference reads."""

_BAND: Final = 100
"""Levels that are read and written at once; few enough for everybody's recursion."""
_NESTED: Final = frozenset({dict, list})
_TOKEN: Final = re.compile(rb'"(?:[^"\\]|\\.)*+"|[\[\]{}]', re.DOTALL)
_STRING: Final = re.compile(rb'"(?:[^"\\]|\\.)*+"', re.DOTALL)
_NO_BRACKETS: Final = bytes(code for code in range(256) if code not in b"[]{}")
_STEPS: Final = bytes(code in b"[{" for code in range(256))
_OPENING: Final = b"[{"
_CLOSING: Final = b"]}"


class DepthError(ValueError):
    """A value nested deeper than MAX_DEPTH."""


def same_type(value: Any) -> Any:
    """A scalar as it is."""
    return value


def copied(value: Any, change: Callable[[Any], Any] = same_type) -> Any:
    """A value that shares no object or list with the one given, its scalars changed."""
    top = [value]
    pending: list[Any] = [top]
    while pending:
        inner = pending.pop()
        for key, member in _members(inner):
            if type(member) in _NESTED:
                inner[key] = fresh = member.copy()
                pending.append(fresh)
            else:
                inner[key] = change(member)
    return top[0]


def without_nulls(value: Any) -> Any:
    """A copy whose objects have no member that is null; in lists, nulls stay."""
    top = copied(value)
    for level in levels(top):
        for inner in level:
            if type(inner) is dict:
                for key in [key for key, member in inner.items() if member is None]:
                    del inner[key]
    return top


def equal(one: Any, other: Any) -> bool:
    """Whether two JSON values are equal: true is not 1, and 1 is not 1.0."""
    pending = [(one, other)]
    while pending:
        left, right = pending.pop()
        if type(left) is not type(right):
            return False
        if type(left) not in _NESTED:
            if left != right:
                return False
        elif len(left) != len(right) or (type(left) is dict and left.keys() != right.keys()):
            return False
        else:
            pending += [(member, right[key]) for key, member in _members(left)]
    return True


def depth(value: Any) -> int:
    """Levels of objects and lists."""
    return sum(1 for _ in levels(value))


def is_too_deep(value: Any) -> bool:
    """Whether the value, once written, could not be read again; quick for what is not deep."""
    try:
        orjson.dumps(value)
    except orjson.JSONEncodeError:
        return depth(value) > MAX_DEPTH
    return False


def _members(inner: Any) -> Any:
    return inner.items() if type(inner) is dict else enumerate(inner)


def _inside(inner: Any) -> list[Any]:
    return [member for member in (inner.values() if type(inner) is dict else inner) if type(member) in _NESTED]


def levels(value: Any) -> Iterator[list[Any]]:
    """The objects and lists of each level, from the top."""
    level = [value] if type(value) in _NESTED else []
    while level:
        yield level
        level = [member for inner in level for member in _inside(inner)]


def _offset(counts: Iterable[int]) -> int:
    """Where bands begin, so that they are few: one of the first levels, given how many objects and lists each has.

    Whatever the value, this makes bands of at most one in _BAND of its objects and lists.
    """
    sums = [0] * _BAND
    for number, count in enumerate(counts):
        sums[number % _BAND] += count
    return min(range(_BAND), key=sums.__getitem__)


# --- writing ----------------------------------------------------------------------------------------------------------


def dumps(value: Any, option: int, change: Callable[[Any], Any], default: Callable[[Any], Any] | None = None) -> bytes:
    """The value as JSON; `change` prepares scalars, `option` and `default` are orjson's."""
    found = list(levels(value))
    offset = _offset(map(len, found))
    return _Writer(found[offset::_BAND], option, change, default).run(value, offset)


class _Writer:
    """Writes the bands of a value one by one, with marks in the place of the next deeper ones, and joins them.

    orjson's own fragments are of no use here: 3.13 writes past its buffer when many brackets are closed after a long one.
    """

    __slots__ = ("_bands", "_change", "_default", "_mark", "_numbers", "_option")

    def __init__(self, bands: list[list[Any]], option: int, change: Callable[[Any], Any], default: Callable[[Any], Any] | None) -> None:
        self._bands = [inner for band in bands for inner in band]
        self._numbers = {id(inner): number for number, inner in enumerate(self._bands)}
        self._option = option
        self._change = change
        self._default = default
        # Nobody can guess it, so no text of the value holds it.
        self._mark = secrets.token_hex(16)

    def run(self, value: Any, offset: int) -> bytes:
        """The JSON of a value whose first band is above the level `offset`."""
        marks = re.compile(rb'"%b([0-9]+)"' % self._mark.encode())
        texts = [marks.split(self._written(inner, _BAND)) for inner in self._bands]
        pieces: list[bytes] = []
        pending = [iter(marks.split(self._written(value, offset)))]
        while pending:
            piece = next(pending[-1], None)
            if piece is None:
                pending.pop()
                continue
            pieces.append(piece)
            number = next(pending[-1], None)
            if number is not None:
                pending.append(iter(texts[int(number)]))
        return b"".join(pieces)

    def _written(self, value: Any, levels: int) -> bytes:
        return orjson.dumps(self._top(value, levels), option=self._option, default=self._default)

    def _top(self, value: Any, levels: int) -> Any:
        """The upper levels of a value, with marks for all below."""
        if type(value) not in _NESTED:
            return self._change(value)
        if levels == 0:
            return f"{self._mark}{self._numbers[id(value)]}"
        if type(value) is dict:
            return {key: self._top(member, levels - 1) for key, member in value.items()}
        return [self._top(member, levels - 1) for member in value]


# --- reading ----------------------------------------------------------------------------------------------------------


def loads(data: bytes) -> Any:
    """Parse JSON.

    Raises:
        ValueError: it is not JSON, or nested too deeply (DepthError).
    """
    brackets = _STRING.sub(b"", data).translate(None, _NO_BRACKETS)
    counts = [0] * (MAX_DEPTH + 1)
    for depth in itertools.accumulate(brackets.translate(_STEPS), _stepped, initial=0):
        if depth > MAX_DEPTH:
            raise DepthError
        counts[depth] += 1
    return _Reader(data, _offset(counts[1:])).run()


def _stepped(depth: int, step: int) -> int:
    return depth + 1 if step else depth - 1


class _Reader:
    """Parses the bands of a text from the innermost outwards; a band has `[number]` where the next deeper ones were.

    Below the lowest level of a band no other list or object can stand, so that these are told from all else.
    """

    __slots__ = ("_bands", "_data", "_done", "_offset", "_pieces")

    def __init__(self, data: bytes, offset: int) -> None:
        self._data = data
        self._offset = offset or _BAND
        self._bands: list[Any] = []
        self._pieces: list[list[bytes]] = [[]]
        self._done = 0

    def run(self) -> Any:
        """The value. Raises ValueError."""
        level, first = 0, self._offset
        for token in _TOKEN.finditer(self._data):
            mark = token.group()
            if mark in _OPENING:
                if level >= first and (level - first) % _BAND == 0:
                    self._take_until(token.start())
                    self._pieces.append([])
                level += 1
            elif mark in _CLOSING:
                level -= 1
                if level >= first and (level - first) % _BAND == 0:
                    self._take_until(token.end())
                    self._close()
        self._take_until(len(self._data))
        if len(self._pieces) > 1:
            msg = "unexpected end of JSON input"
            raise ValueError(msg)
        return self._parsed(first)

    def _take_until(self, end: int) -> None:
        self._pieces[-1].append(self._data[self._done : end])
        self._done = end

    def _close(self) -> None:
        self._bands.append(self._parsed(_BAND))
        self._pieces[-1].append(b"[%d]" % (len(self._bands) - 1))

    def _parsed(self, levels: int) -> Any:
        """The band that ends here, with the deeper ones in their places."""
        value = orjson.loads(b"".join(self._pieces.pop()))
        lowest: list[Any] = [value] if type(value) in _NESTED else []
        for _ in range(levels - 1):
            if not lowest:
                return value
            lowest = [member for inner in lowest for member in _inside(inner)]
        for inner in lowest:
            for key, member in _members(inner):
                if type(member) is list:
                    inner[key] = self._bands[member[0]]
        return value
