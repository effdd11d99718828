"""Nodes of a structural schema by the steps of a place, and whether a value has the type of its node."""

from __future__ import annotations

from typing import Any, Final

from apiext.base.meta.objectmeta import canonical
from apiext.schema.model import Structural
from apiext.schema.pruning import META_FIELDS

ANYTHING: Final = Structural({"x-kubernetes-preserve-unknown-fields": True})
"""The schema of values that have none."""
NOTHING: Final = Structural({"type": "null"})
"""The schema of values that must not exist."""
TEXT: Final = Structural({"type": "string"})
_TEXTS: Final = {"type": "object", "additionalProperties": {"type": "string"}}
_METADATA: Final = Structural(
    {
        "type": "object",
        "properties": {name: {"type": "string"} for name in ("name", "generateName", "namespace")}
        | {"labels": _TEXTS, "annotations": _TEXTS, "finalizers": {"type": "array", "items": {"type": "string"}}},
    },
)
"""The members of embedded metadata that can be restored one by one."""
_TYPES: Final = {"object": (dict,), "array": (list,), "string": (str,), "integer": (int,), "number": (int, float), "boolean": (bool,)}


def child(schema: Structural, name: str) -> Structural:
    """Return the schema of a member of an object: NOTHING if pruning removes it."""
    if schema.embedded and name in META_FIELDS:
        return _METADATA if name == "metadata" else TEXT
    found = schema.properties.get(name)
    if found is not None:
        return found
    if schema.additional is not None:
        return schema.additional
    return ANYTHING if schema.has_additional or schema.preserve else NOTHING


def items_of(schema: Structural) -> Structural:
    """Return the schema of the items of a list."""
    return schema.items or (ANYTHING if schema.preserve else NOTHING)


def is_typed(value: Any, schema: Structural) -> bool:
    """Return whether a value and all below it have the types that their schemas name. Other keywords do not count."""
    kind = type(value)
    if schema is NOTHING:
        return False
    if value is None:
        return schema.nullable or not _names_type(schema)
    if schema.raw.get("x-kubernetes-int-or-string") is True:
        return kind is int or kind is str
    if _names_type(schema) and kind not in _TYPES.get(schema.raw["type"], ()):
        return False
    if kind is list:
        return all(is_typed(item, items_of(schema)) for item in value)
    return kind is not dict or (_is_readable(value, schema) and all(_is_typed_member(schema, *member) for member in value.items()))


def _is_typed_member(schema: Structural, name: str, value: Any) -> bool:
    # `_is_readable` knows all of embedded metadata
    return (schema.embedded and name == "metadata") or is_typed(value, child(schema, name))


def _names_type(schema: Structural) -> bool:
    return bool(schema.raw.get("type"))


def _is_readable(value: dict[str, Any], schema: Structural) -> bool:
    """Return whether the metadata of an embedded resource has the types of ObjectMeta."""
    if not schema.embedded or "metadata" not in value:
        return True
    try:
        canonical.coerce({"metadata": value["metadata"]})
    except ValueError:
        return False
    return True
