"""Values of printer columns: what stands at their paths, as the types of the columns have it.

Mirrors apiextensions-apiserver pkg/registry/customresource/tableconvertor.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Final

from apiext.meta.encoding.json_codec import Object
from apiext.meta.jsonpath.meter import EvalError, Meter
from apiext.meta.jsonpath.paths import Path
from apiext.meta.jsonpath.steps import print_value

Value = Callable[[Object, Meter], Any]
"""Returns the value at a column's path, converted to its type; a date's timestamp, not its age. None if the meter is used up."""


def column_value(kind: str, path: Path) -> Value:
    """Return the function that finds the value of a column with a type and a path."""
    convert = _CONVERSIONS.get(kind, _none)

    def value(obj: Object, meter: Meter) -> Any:
        try:
            found = path(obj, meter)
        except EvalError:
            return None
        shown = convert(found[0]) if found else None
        return meter.show(shown) if isinstance(shown, str) else shown

    return value


def _none(_found: Any) -> Any:
    return None


def _string(value: Any) -> Any:
    return value if isinstance(value, str) else print_value(value)


def _integer(value: Any) -> Any:
    if isinstance(value, bool) or not isinstance(value, int | float):
        return None
    # Go's conversion of a float outside int64
    return int(value) if -(2**63) <= value < 2**63 else -(2**63)


def _number(value: Any) -> Any:
    return None if isinstance(value, bool) or not isinstance(value, int | float) else float(value)


def _boolean(value: Any) -> Any:
    return value if isinstance(value, bool) else None


def _date(value: Any) -> Any:
    """Return the timestamp at which an age begins."""
    if not isinstance(value, str):
        return None
    return "" if value == "null" else value


_CONVERSIONS: Final[Mapping[str, Callable[[Any], Any]]] = {
    "string": _string,
    "integer": _integer,
    "number": _number,
    "boolean": _boolean,
    "date": _date,
}
