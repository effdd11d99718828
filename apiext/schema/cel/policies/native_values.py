"""JSON of the objects that mutations make (apiserver pkg/cel/mutation/dynamic, cel-go ConvertToNative)."""

from __future__ import annotations

import base64
import math
from collections.abc import Iterator
from typing import Any, Final

from apiext.meta.golang.formatting import quote
from apiext.schema.cel.ast import Constant, Expression, ListLiteral, MapLiteral, StructLiteral, Uint
from apiext.schema.cel.errors import CelError
from apiext.schema.cel.standard.conversions import to_text
from apiext.schema.cel.standard.kinds import type_of
from apiext.schema.cel.values.run_time_values import Duration, Timestamp
from apiext.schema.cel.values.structs import StructValue

_SAFE_INT: Final = 2**53 - 1
"""The greatest integer that is a number in JSON, for which a double is enough; greater ones become texts."""


def mistyped_structs(value: Any, path: str) -> Iterator[str]:
    """Yield the faults of names of types: each must be the path of fields from the outermost object.

    Lists and maps between objects are no part of a path.
    """
    if isinstance(value, StructValue):
        if value.cel_type.name != path:
            expected = f"{quote(path)}, which matches field name path from root Object type"
            yield f"unexpected type name {quote(value.cel_type.name)}, expected {expected}"
        for name, member in value.fields.items():
            yield from mistyped_structs(member, f"{path}.{name}")
    elif isinstance(value, list):
        for member in value:
            yield from mistyped_structs(member, path)
    elif isinstance(value, dict):
        for member in value.values():
            yield from mistyped_structs(member, path)


class NullNumber(int):
    """A null that an expression has made: for the reference a number of no usable type."""


class OpaqueMap(dict[str, Any]):
    """A map inside a list or map that an expression has made: for the reference no map."""


class OpaqueList(list[Any]):
    """A list inside a list or map that an expression has made: for the reference no list."""


class TypedMap(dict[str, Any]):
    """A map of a Go object, which cannot be a value of a JSON patch."""


class TypedList(list[Any]):
    """A list of a Go object, which cannot be a value of a JSON patch."""


def typed_value(value: Any) -> Any:
    """Return JSON of an object that has a Go type in the reference: a parameter of a built-in kind, the request, the namespace."""
    if isinstance(value, dict):
        return TypedMap({name: typed_value(member) for name, member in value.items()})
    return TypedList(map(typed_value, value)) if isinstance(value, list) else value


def configuration_value(value: Any, node: Expression | None = None) -> Any:
    """Return a value of an apply configuration as JSON; `node` is the expression that made it.

    As in the reference, null, and what is inside lists and maps that the expression spells, fit few types of a schema.

    Raises:
        CelError: it has none.
    """
    if isinstance(value, StructValue):
        nodes = {field.name: field.value for field in node.fields} if isinstance(node, StructLiteral) else {}
        return {name: configuration_value(member, nodes.get(name)) for name, member in value.fields.items()}
    if isinstance(node, ListLiteral) and isinstance(value, list):
        return [_inner_value(member) for member in value]
    if isinstance(node, MapLiteral) and isinstance(value, dict):
        return {_key(key): _inner_value(member) for key, member in value.items()}
    if value is None and (node is None or isinstance(node, Constant)):
        return NullNumber(0)
    return _json(value, exact=True)


def _inner_value(value: Any) -> Any:
    if value is None:
        return NullNumber(0)
    if isinstance(value, StructValue):
        return configuration_value(value)
    found = _json(value, exact=True)
    return OpaqueMap(found) if isinstance(found, dict) else OpaqueList(found) if isinstance(found, list) else found


def operation_value(value: Any) -> Any:
    """Return the value of an operation of a JSON patch as JSON. Numbers are doubles on their way.

    Raises:
        CelError: it has none.
    """
    return _json(value, exact=False)


def _json(value: Any, *, exact: bool) -> Any:
    if value is None or isinstance(value, str | bool):
        return value
    if isinstance(value, int):
        return int(value) if exact or -_SAFE_INT <= value <= _SAFE_INT else str(int(value))
    if isinstance(value, float):
        return _double(value, exact=exact)
    if not exact and isinstance(value, TypedMap | TypedList):
        kind = "map(dyn, dyn)" if isinstance(value, TypedMap) else "list(dyn)"
        raise CelError(f"type conversion error from '{kind}' to '*structpb.Value'")
    if isinstance(value, bytes):
        return base64.b64encode(value).decode()
    if isinstance(value, list):
        return [_json(member, exact=exact) for member in value]
    if isinstance(value, StructValue):
        return {name: _json(member, exact=exact) for name, member in value.fields.items()}
    if isinstance(value, dict):
        return {_key(key): _json(member, exact=exact) for key, member in value.items()}
    if isinstance(value, Duration | Timestamp):
        return to_text(value)
    raise CelError(f"type conversion error from '{type_of(value)}' to '*structpb.Value'")


def _double(value: float, *, exact: bool) -> Any:
    if not math.isfinite(value):
        raise CelError(f"proto: google.protobuf.Value cannot have {_shown(value)}")
    return int(value) if not exact and value.is_integer() and abs(value) < 1e21 else value


def _shown(value: float) -> str:
    if math.isnan(value):
        return "NaN"
    return "+Inf" if value > 0 else "-Inf"


def _key(key: object) -> str:
    if isinstance(key, str):
        return key
    kind = "Uint" if isinstance(key, Uint) else type_of(key).name.capitalize()
    raise CelError(f'map key "{key}" is of type types.{kind}, not string')
