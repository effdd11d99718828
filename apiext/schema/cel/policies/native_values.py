"""JSON of the objects that mutations make (apiserver pkg/cel/mutation/dynamic, cel-go ConvertToNative)."""

from __future__ import annotations

import base64
import math
from collections.abc import Iterator, Mapping
from types import MappingProxyType
from typing import Any, Final

from apiext.base.meta.golang.foreign_values import NullNumber, OpaqueList, OpaqueMap
from apiext.base.meta.golang.formatting import quote
from apiext.schema.cel.ast import Call, Comprehension, Constant, Expression, ListLiteral, MapLiteral, StructLiteral, Uint
from apiext.schema.cel.errors import CelError
from apiext.schema.cel.standard.conversions import to_text
from apiext.schema.cel.standard.kinds import type_of
from apiext.schema.cel.values.run_time_values import Duration, Timestamp
from apiext.schema.cel.values.structs import StructValue

_SAFE_INT: Final = 2**53 - 1
"""The greatest integer that is a number in JSON, for which a double is enough; greater ones become texts."""
_REQUEST_STRUCTS: Final = {
    "": "v1.AdmissionRequest",
    ".userInfo": "v1.UserInfo",
    **dict.fromkeys((".kind", ".requestKind"), "v1.GroupVersionKind"),
    **dict.fromkeys((".resource", ".requestResource"), "v1.GroupVersionResource"),
}


def origin(node: Expression | None, value: Any) -> Expression | None:
    """Return the literal or loop that made a list or map, None for a part of an object and the result of a function."""
    match node:
        case ListLiteral():
            fits = isinstance(value, list) and (bool(node.optional_indices) or len(node.elements) == len(value))
        case MapLiteral():
            fits = isinstance(value, dict) and len(node.entries) >= len(value)
        case Comprehension():
            fits = isinstance(value, list if isinstance(node.accu_init, ListLiteral) else dict)
            fits = fits and isinstance(node.accu_init, ListLiteral | MapLiteral)
        case Call(function="dyn", arguments=(inner,)):
            return origin(inner, value)
        case Call(function="_?_:_", arguments=(_, one, other)):
            return origin(one, value) or origin(other, value)
        case _:
            return None
    return node if fits else None


def member_origin(node: Expression, key: Any) -> Expression | None:
    """Return the node that made a member of a list or map, by its place or key and the node of `origin`; None for an unknown one."""
    match node:
        case ListLiteral() if not node.optional_indices:
            element: Expression = node.elements[key]
            return element
        case MapLiteral():
            return next((entry.value for entry in node.entries if isinstance(entry.key, Constant) and entry.key.value == key), None)
        case Comprehension():
            return _collected(node.loop_step)
    return None


def _collected(step: Expression) -> Expression | None:
    """Return what a step of map(), filter() or a transformation adds to the result."""
    match step:
        case Call(function="_?_:_", arguments=(_, added, _)):
            return _collected(added)
        case Call(function="_+_", arguments=(_, ListLiteral(elements=(element,)))):
            return element
        case Call(function="cel.@mapInsert", arguments=(_, _, value)):
            return value
    return None


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


class TypedMap(dict[str, Any]):
    """A map or struct of a Go object, which cannot be a value of a JSON patch."""

    go_type: str = ""
    """The type of a struct as Go prints it, empty for a map."""


class TypedList(list[Any]):
    """A list of a Go object, which cannot be a value of a JSON patch."""


def typed_value(value: Any, structs: Mapping[str, str] = MappingProxyType({}), path: str = "") -> Any:
    """Return JSON of an object that has a Go type in the reference: a parameter of a built-in kind, the request, the namespace.

    `structs` are the Go types of its structs by path, as far as they are known; the path of the object is empty.
    """
    if isinstance(value, dict):
        made = TypedMap({name: typed_value(member, structs, f"{path}.{name}") for name, member in value.items()})
        made.go_type = structs.get(path, "")
        return made
    return TypedList([typed_value(member) for member in value]) if isinstance(value, list) else value


def typed_object(obj: Any, version: str, kind: str) -> Any:
    """Return JSON of an object of a built-in kind as `typed_value` does."""
    shown = f"{version}.{kind}"
    return typed_value(obj, {"": shown, ".metadata": "v1.ObjectMeta", ".spec": f"{shown}Spec", ".status": f"{shown}Status"})


def typed_request(request: Any) -> Any:
    """Return JSON of the variable `request` as `typed_value` does. Its options are no Go object."""
    made = typed_value(request, _REQUEST_STRUCTS)
    made["options"] = request["options"]
    return made


def configuration_value(value: Any, node: Expression | None = None) -> Any:
    """Return a value of an apply configuration as JSON; `node` is the expression that made it.

    As in the reference, null, and what is inside lists and maps that the expression spells, fit few types of a schema.

    Raises:
        CelError: it has none.
    """
    if isinstance(value, StructValue):
        nodes = {field.name: field.value for field in node.fields} if isinstance(node, StructLiteral) else {}
        return {name: configuration_value(member, nodes.get(name)) for name, member in value.fields.items()}
    if (made := origin(node, value)) is not None:
        if isinstance(value, list):
            return [_inner_value(member, member_origin(made, place)) for place, member in enumerate(value)]
        return {_key(key): _inner_value(member, member_origin(made, key)) for key, member in value.items()}
    if isinstance(value, list):
        return [configuration_value(member) for member in value]
    if isinstance(value, dict):
        return {_key(key): configuration_value(member) for key, member in value.items()}
    return NullNumber(0) if value is None else _json(value, exact=True)


def _inner_value(value: Any, node: Expression | None) -> Any:
    if value is None:
        return NullNumber(0)
    if isinstance(value, StructValue):
        return configuration_value(value, node)
    found = _json(value, exact=True)
    if origin(node, value) is None:
        return found
    return OpaqueMap(found) if isinstance(found, dict) else OpaqueList(found)


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
        if isinstance(value, TypedMap) and value.go_type:
            raise CelError(f"type conversion error from struct type {value.go_type} to *structpb.Value")
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
