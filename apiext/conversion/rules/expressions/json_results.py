"""JSON of what expressions return."""

from __future__ import annotations

import base64
import math
from typing import Any

from apiext.conversion.rules.operations.operation import MISSING
from apiext.meta.encoding import json_values
from apiext.schema.cel.ast import Uint
from apiext.schema.cel.errors import CelError
from apiext.schema.cel.escaping import unescape
from apiext.schema.cel.standard.conversions import to_text
from apiext.schema.cel.standard.kinds import type_of
from apiext.schema.cel.values.json_values import MistypedJson, ObjectValue, UnknownJson
from apiext.schema.cel.values.run_time_values import Duration, OptionalValue, Timestamp

_EXACT_INTEGER = 2.0**53


def json_result(value: Any) -> Any:
    """Return a result as JSON that shares no object or list with what the expression read; MISSING for an empty optional.

    Raises:
        CelError: it has none.
    """
    if type(value) in {str, bool, int} or value is None:
        return value
    if isinstance(value, OptionalValue):
        return json_result(value.value) if value.present else MISSING
    if isinstance(value, float):
        return _number(value)
    if isinstance(value, list):
        return [item for item in map(json_result, value) if item is not MISSING]
    if isinstance(value, dict):
        return _object(value)
    if isinstance(value, UnknownJson):
        return json_values.copy(value.json)
    return _scalar(value)


def _number(value: float) -> int | float:
    if not math.isfinite(value):
        raise CelError(f"{value} is no number of JSON")
    return int(value) if value.is_integer() and abs(value) <= _EXACT_INTEGER else value


def _object(value: dict[Any, Any]) -> dict[str, Any]:
    names = value
    if isinstance(value, ObjectValue):
        names = {unescape(name) or name: member for name, member in value.items()} | value.unknown
    found = {}
    for name, member in names.items():
        if not isinstance(name, str):
            raise CelError(f"a key of type {type_of(name)} is no key of JSON")
        result = json_result(member)
        if result is not MISSING:
            found[name] = result
    return found


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
