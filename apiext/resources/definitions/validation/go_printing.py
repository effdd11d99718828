"""Bad values as the reference's errors print them: with Go's field names, since its internal types have no JSON names.

Mirrors the structs of apiextensions-apiserver pkg/apis/apiextensions/types*.go.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from apiext.base.meta.encoding import json_codec
from apiext.base.meta.field import Printed
from apiext.base.meta.golang.struct_type import Struct
from apiext.base.meta.golang.type_model import GoType, Map, Pointer, Slice
from apiext.resources.definitions import types

if TYPE_CHECKING:
    from apiext.base.meta.encoding.json_codec import Object
    from apiext.schema.model import Props

_VERSIONS: Final = Slice(types.version(Pointer(types.SCHEMA), types.column("JSONPath")))
_SPECIAL_NAMES: Final = {"id": "ID", "url": "URL", "jsonPath": "JSONPath"}


def _go_name(json_name: str) -> str:
    """Return the name of a Go field, such as XListType for x-kubernetes-list-type."""
    words = json_name.removeprefix("$").replace("x-kubernetes-", "x-").split("-")
    return _SPECIAL_NAMES.get(json_name) or "".join(word[0].upper() + word[1:] for word in words)


def _go_names(struct: Struct) -> dict[str, str]:
    return {name: _go_name(name) for name in struct.by_name}


def _schema_fields() -> dict[str, str]:
    fields = _go_names(types.SCHEMA)
    before_nullable = ("id", "$schema", "$ref", "description", "type", "nullable")
    return {name: fields[name] for name in before_nullable} | fields


SCHEMA_FIELDS: Final = _schema_fields()
"""Go names of a schema's fields by JSON name, in the order of the internal struct; v1 orders `nullable` differently."""


def versions(items: list[Object] | None) -> Printed | None:
    """Print spec.versions; None if it is null."""
    return None if items is None else _print(_VERSIONS, items)


def schema(props: Props) -> Printed:
    """Print a JSONSchemaProps."""
    return _print(types.SCHEMA, props)


def rule(value: Object) -> Printed:
    """Print a ValidationRule."""
    return _print(types.RULE, value)


def items_value(value: Any) -> Printed:
    """Print the `items` of a schema."""
    return _print(types.SCHEMA_OR_ARRAY, value)


def _print(go_type: GoType, value: Any) -> Printed:
    return Printed(json_codec.dumps(_to_go(go_type, value), sort_keys=False).decode())


def _to_go(go_type: GoType, value: Any) -> Any:
    """Return a canonical value with Go's names and all fields."""
    if isinstance(go_type, types.NonNilPointer) or (isinstance(go_type, Pointer) and value is not None):
        return _to_go(go_type.to, value)
    if isinstance(go_type, types.SchemaOrList):
        member = "Property" if go_type.list_type is types.STRINGS else "JSONSchemas"
        return {"Schema": _schema(value), member: _to_go(go_type.list_type, value) if isinstance(value, list) else None}
    if value is None:
        return None
    if isinstance(go_type, types.SchemaOrBool):
        return {"Allows": value is not False, "Schema": _schema(value)}
    if isinstance(go_type, Struct):
        names = SCHEMA_FIELDS if go_type is types.SCHEMA else _go_names(go_type)
        return {go_name: _field(go_type.by_name[name].type, name, value) for name, go_name in names.items()}
    if isinstance(go_type, Slice):
        return [_to_go(go_type.of, item) for item in value]
    if isinstance(go_type, Map):
        return {name: _to_go(go_type.of, value[name]) for name in sorted(value)}
    return value


def _field(go_type: GoType, name: str, struct: Props) -> Any:
    if name in struct:
        return _to_go(go_type, struct[name])
    return None if isinstance(go_type, Pointer) else go_type.canonical(None)


def _schema(value: Any) -> Any:
    return _to_go(types.SCHEMA, value) if isinstance(value, dict) else None
