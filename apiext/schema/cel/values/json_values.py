"""Run-time values for JSON that a dict cannot represent (apiserver pkg/cel/common/valuesunstructured.go)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from apiext.schema.cel.errors import CelError
from apiext.schema.cel.types import CelType
from apiext.schema.cel.values.run_time_values import OpaqueValue


@dataclass(frozen=True, slots=True, eq=False)
class UnknownJson(OpaqueValue):
    """JSON without type information from a schema. It supports comparisons only."""

    cel_type = CelType("unknown")
    json: Any

    def __eq__(self, other: object) -> bool:
        return isinstance(other, UnknownJson) and _same_json(self.json, other.json)

    __hash__ = None  # type: ignore[assignment]


def _same_json(left: Any, right: Any) -> bool:
    """Compare JSON of any depth; an integer differs from a double (Semantic.DeepEqual)."""
    pending = [(left, right)]
    while pending:
        left, right = pending.pop()
        if isinstance(left, dict) and isinstance(right, dict) and left.keys() == right.keys():
            pending += ((value, right[key]) for key, value in left.items())
        elif isinstance(left, list) and isinstance(right, list) and len(left) == len(right):
            pending += zip(left, right, strict=True)
        elif type(left) is not type(right) or isinstance(left, dict | list) or left != right:
            return False
    return True


class MistypedJson:
    """Stands for JSON without a run-time value in a converted list or map. Only a comparison raises the error."""

    __slots__ = ("error",)

    def __init__(self, error: CelError) -> None:
        self.error = error

    def __eq__(self, other: object) -> bool:
        """Raise the error."""
        raise self.error

    def __hash__(self) -> int:
        """Raise the error."""
        raise self.error


class ObjectValue(dict[str, Any]):
    """A converted object: its non-null fields by escaped name. Unknown fields count for equality only."""

    __slots__ = ("size", "unknown")

    def __init__(self, fields: dict[str, Any], unknown: dict[str, UnknownJson], size: int) -> None:
        super().__init__(fields)
        self.unknown = unknown
        self.size = size
        """Number of members in JSON; there may be fewer fields."""
