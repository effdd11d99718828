"""Whether the result of an expression fits the schema of the field that it sets."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from apiext.schema.cel.types import BOOL, BYTES, DOUBLE, DURATION, DYN, INT, NULL, STRING, TIMESTAMP, UINT

if TYPE_CHECKING:
    from apiext.schema.cel.declarations import DeclaredTypes
    from apiext.schema.cel.types import CelType
    from apiext.schema.model import Structural

_SCALARS: Final = {
    "string": frozenset({STRING, BYTES, DURATION, TIMESTAMP}),
    "integer": frozenset({INT, UINT}),
    "number": frozenset({INT, UINT, DOUBLE}),
    "boolean": frozenset({BOOL}),
}
_INTEGER_OR_TEXT: Final = frozenset({INT, UINT, STRING})


def fits(kind: CelType, schema: Structural, types: DeclaredTypes) -> bool:
    """Return whether values of a type may be values of a schema. `types` are those of the schema that expressions read."""
    if kind == DYN or (kind == NULL and schema.nullable):
        return True
    if kind.name == "optional_type":
        return fits(kind.parameters[0], schema, types)
    if schema.raw.get("x-kubernetes-int-or-string") is True:
        return kind in _INTEGER_OR_TEXT
    expected = schema.raw.get("type")
    if expected is None:
        return schema.preserve
    if expected == "array":
        return kind.name == "list" and schema.items is not None and fits(kind.parameters[0], schema.items, types)
    return _fits_object(kind, schema, types) if expected == "object" else kind in _SCALARS[expected]


def _fits_object(kind: CelType, schema: Structural, types: DeclaredTypes) -> bool:
    if kind.name == "map":
        key, value = kind.parameters
        return key in {STRING, DYN} and (schema.additional is None or fits(value, schema.additional, types))
    if kind.name not in types:
        return False
    fields = types.declaration(kind.name).fields
    for identifier, field in fields.items():
        # what the target does not specify is pruned
        target = schema.properties.get(field.property) or schema.additional
        found = types.field(kind.name, identifier)
        if target is not None and found is not None and not fits(found, target, types):
            return False
    return True
