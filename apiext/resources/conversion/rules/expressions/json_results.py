"""JSON of what expressions return."""

from __future__ import annotations

import base64
import math
from typing import Any, Final

from apiext.resources.conversion.rules.operations.operation import MISSING
from apiext.schema.cel.ast import Uint
from apiext.schema.cel.errors import CelError
from apiext.schema.cel.escaping import unescape
from apiext.schema.cel.standard.conversions import to_text
from apiext.schema.cel.standard.kinds import type_of
from apiext.schema.cel.values.json_values import MistypedJson, ObjectValue, UnknownJson
from apiext.schema.cel.values.run_time_values import Duration, OptionalValue, Timestamp

_EXACT_INTEGER = 2.0**53
_LONG_TEXT: Final = 64
_TEXT_UNIT: Final = 16
"""Characters of a long text that count as one value."""


class LargeResultError(Exception):
    """The results are too large."""


class JsonResults:
    """Makes JSON of results, up to a number of values: an expression may name a large list a thousand times at little cost."""

    __slots__ = ("_left",)

    def __init__(self, limit: int) -> None:
        """Allow so many values, with those in values; a long text counts as several."""
        self._left = limit

    def json(self, value: Any) -> Any:
        """Return a result as JSON that shares no object or list with what the expression read; MISSING for an empty optional.

        Raises:
            CelError: it has none.
            LargeResultError: it has more values than are left.
        """
        kind = type(value)
        if kind is str:
            if len(value) > _LONG_TEXT:
                self._count(len(value) // _TEXT_UNIT)
            return value
        if kind is bool or kind is int or value is None:
            return value
        if isinstance(value, OptionalValue):
            return self.json(value.value) if value.present else MISSING
        if isinstance(value, float):
            return _number(value)
        if isinstance(value, list):
            self._count(len(value))
            return [item for item in map(self.json, value) if item is not MISSING]
        if isinstance(value, dict):
            self._count(len(value))
            return self._object(value)
        return self._copy(value.json) if isinstance(value, UnknownJson) else _scalar(value)

    def _count(self, values: int) -> None:
        self._left -= values
        if self._left < 0:
            raise LargeResultError

    def _object(self, value: dict[Any, Any]) -> dict[str, Any]:
        names = value
        if isinstance(value, ObjectValue):
            names = {unescape(name) or name: member for name, member in value.items()} | value.unknown
        found = {}
        for name, member in names.items():
            if not isinstance(name, str):
                raise CelError(f"a key of type {type_of(name)} is no key of JSON")
            result = self.json(member)
            if result is not MISSING:
                found[name] = result
        return found

    def _copy(self, value: Any) -> Any:
        """Return a copy of a JSON value."""
        if type(value) is dict:
            self._count(len(value))
            return {name: self._copy(member) for name, member in value.items()}
        if type(value) is list:
            self._count(len(value))
            return [self._copy(item) for item in value]
        return self.json(value)


def _number(value: float) -> int | float:
    if not math.isfinite(value):
        raise CelError(f"{value} is no number of JSON")
    return int(value) if value.is_integer() and abs(value) <= _EXACT_INTEGER else value


def _scalar(value: Any) -> Any:
    if isinstance(value, Uint):
        return int(value)
    if isinstance(value, bytes):
        return base64.urlsafe_b64encode(value).decode()
    if isinstance(value, Duration | Timestamp):
        return to_text(value)
    if isinstance(value, MistypedJson):
        raise value.error
    raise CelError(f"a value of type {type_of(value)} has no form in JSON")
