"""Errors of values whose type differs from their schema's (apiserver pkg/cel/common/valuesunstructured.go)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from apiext.schema.model import Props

_EXPECTED: Final[dict[str, tuple[tuple[type, ...], str]]] = {
    "object": ((dict,), "a map for the provided schema with type=object"),
    "array": ((list,), "an array for the provided schema with type=array"),
    "string": ((str,), "string"),
    "number": ((int, float), "float"),
    "integer": ((int,), "int"),
    "boolean": ((bool,), "bool"),
}
_GO_TYPES: Final = {bool: "bool", int: "int64", float: "float64", str: "string", list: "[]interface {}", dict: "map[string]interface {}"}


def type_mismatch(schema: Props, value: Any) -> str:
    """Return the evaluation error of a value with a wrong type; empty for the right type. Do not check members."""
    if value is None:
        return "" if schema.get("nullable") is True else "invalid data, got null for schema with nullable=false"
    if schema.get("x-kubernetes-int-or-string") is True:
        return "" if type(value) in {int, str} else "invalid data, expected XIntOrString value to be either a string or integer"
    kind = schema.get("type") or ""
    types, name = _EXPECTED.get(kind, ((), ""))
    if not types or type(value) in types:
        return ""
    actual = "" if kind in {"object", "array"} else f", got {_GO_TYPES[type(value)]}"
    return f"invalid data, expected {name}{actual}"
