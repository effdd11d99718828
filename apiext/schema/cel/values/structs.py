"""Objects that expressions make of a type's name: `Object.spec{...}` and `JSONPatch{...}` (apiserver pkg/cel/mutation)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

from apiext.schema.cel.errors import CelError
from apiext.schema.cel.types import CelType
from apiext.schema.cel.values.run_time_values import OpaqueValue

JSON_PATCH: Final = "JSONPatch"
OBJECT: Final = "Object"
_TEXTS: Final = ("op", "path", "from")
"""Fields of an operation that must be texts."""
_GO_TYPES: Final[dict[type, str]] = {bool: "bool", int: "int64", float: "float64", bytes: "[]uint8", type(None): "structpb.NullValue"}


@dataclass(frozen=True, slots=True, eq=False)
class StructValue(OpaqueValue):
    """An object of a named type. `==` is not CEL's equality; see `equality.py`."""

    cel_type: CelType  # type: ignore[misc]
    fields: Mapping[str, Any]

    def __getitem__(self, name: object) -> Any:
        """Return a field; an absent one is null, or an empty text."""
        if self.cel_type.name == JSON_PATCH and name in _TEXTS:
            return self.fields.get(str(name), "")
        return self.fields.get(str(name))

    def has(self, name: object) -> bool:
        """Return whether a field is set."""
        if self.cel_type.name == JSON_PATCH and name in _TEXTS:
            return bool(self[name])
        return name in self.fields


def make_struct(kind: CelType, fields: Mapping[str, Any]) -> StructValue:
    """Return an object with these fields.

    Raises:
        CelError: A field of an operation has a wrong type.
    """
    if kind.name == JSON_PATCH:
        for name in _TEXTS:
            value = fields.get(name, "")
            if not isinstance(value, str):
                found = _GO_TYPES.get(type(value), type(value).__name__)
                raise CelError(f"unexpected type {found} for JSONPatchType '{name}' field")
    return StructValue(kind, fields)
