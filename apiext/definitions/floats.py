"""The numbers of definitions that are float64 in Go, which only CBOR tells from integers."""

from __future__ import annotations

from typing import Any, Final

from apiext.schema.keywords import SCHEMA_MAPS, of_kind

_FLOATS: Final = of_kind("number")
_SCHEMAS: Final = of_kind("schema", "schema or bool", "schema or schemas", "schemas")
"""Members of a schema that are schemas, or lists of them."""


def set_floats(value: Any) -> None:
    """Turn such numbers into floats, in place, in a definition, a list object, or the items of one; other objects stay as they are."""
    for definition in value if type(value) is list else value.get("items", (value,)):
        for version in definition.get("spec", {}).get("versions", ()):
            _set_in_schema((version.get("schema") or {}).get("openAPIV3Schema"))


def _set_in_schema(root: Any) -> None:
    pending = [root]
    while pending:
        schema = pending.pop()
        if type(schema) is list:
            pending += schema
        elif type(schema) is dict:
            schema.update((name, float(schema[name])) for name in _FLOATS if name in schema)
            pending += [schema[name] for name in _SCHEMAS if name in schema]
            for name in SCHEMA_MAPS:
                pending += schema.get(name, {}).values()
