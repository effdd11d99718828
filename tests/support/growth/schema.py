"""Inputs of the formats, patterns and validators of schemas."""

import contextlib
from collections.abc import Callable
from typing import Any, Final

from apiext.base.meta import errors
from apiext.base.meta.encoding import json_values
from apiext.base.meta.gvk import GroupKind
from apiext.schema.compiled import CompiledSchema
from apiext.schema.pattern import PatternError, compile_pattern
from apiext.schema.strfmt.registry import format_checker
from tests.support.growth.measure import Case

_TEXTS: Final = (
    ("", "1", ""),
    ("", "a", ""),
    ("1", " ", ""),
    ("", "1 ", ""),
    ("", "1h", "!"),
    ("", "a.", "!"),
    ("", "a-", "!"),
    ("", "0:", ""),
    ("", '"', ""),
    ("", "(", ""),
    ("", "a@b.c,", ""),
    ("", "=?utf-8?q?=41?= ", ""),
    ("http://a/", "%41", "%"),
    ("", "0", "x"),
)
"""Beginning, repeated text and end of hostile strings."""
_FORMATS: Final = (
    "bsonobjectid", "uri", "email", "hostname", "ipv4", "ipv6", "cidr", "mac", "uuid", "isbn", "creditcard", "ssn", "hexcolor",
    "rgbcolor", "byte", "date", "duration", "datetime", "k8s-short-name", "k8s-long-name",
)  # fmt: skip


def _texts(size: int) -> list[str]:
    return [begin + repeated * size + end for begin, repeated, end in _TEXTS]


def _format(name: str) -> Case:
    check = format_checker(name)
    assert check is not None
    return Case(f"format {name}", _texts, lambda texts: list(map(check, texts)))


def _pattern(repeated: str) -> Case:
    def run(expression: str) -> None:
        with contextlib.suppress(PatternError):
            compile_pattern(expression)

    return Case(f"pattern {repeated}", lambda n: repeated * n, run)


_PATTERNS: Final = ("a", "a?", "a|", "(a", "(", "[a-z]", "[", "\\pL", "a{0,9}", "(?:a{0,90})", "(a*)*", "\\Q", "\\C\\", "{1,")


_TEXT: Final = {"type": "string"}


def _values(name: str, properties: Callable[[int], dict[str, Any]], value: Callable[[int], Any]) -> Case:
    """Return the case for decoding, defaulting and validating an object whose spec has the properties."""

    def run(pair: tuple[dict[str, Any], dict[str, Any]]) -> None:
        schema, obj = pair
        compiled = CompiledSchema({"type": "object", "properties": {"spec": {"type": "object", "properties": schema}}})
        compiled.coerce(obj, drop_invalid=True, report=True)
        compiled.default(obj)
        old = json_values.copy(obj)
        problems = compiled.validate_values(obj) + compiled.validate_values(obj, old)
        problems += compiled.validate_resources(obj) + compiled.validate_lists(obj)
        errors.invalid(GroupKind("a", "A"), "a", problems)

    return Case(f"values {name}", lambda n: (properties(n), {"metadata": {"name": "a"}, "spec": value(n)}), run)


def _array(items: dict[str, Any], **more: Any) -> dict[str, Any]:
    extensions = {f"x-kubernetes-{key.replace('_', '-')}": value for key, value in more.items() if key.startswith("list")}
    return {"a": {"type": "array", "items": items} | extensions | {key: more[key] for key in more if not key.startswith("list")}}


def _map(of: dict[str, Any]) -> dict[str, Any]:
    return {"a": {"type": "object", "additionalProperties": {"type": "object", "additionalProperties": of}}}


_EMBEDDED: Final = {"type": "object", "x-kubernetes-embedded-resource": True, "x-kubernetes-preserve-unknown-fields": True}
_NULLABLE: Final = {"type": "object", "additionalProperties": {"type": "string"}}
_KEYED: Final = {"type": "object", "properties": {"k": _TEXT, "v": {"type": "integer"}}}


def _resource() -> dict[str, Any]:
    return {"apiVersion": "a/v1", "kind": "A", "metadata": {"name": "!"}}


def _below_long_name(member: Any) -> Callable[[int], Any]:
    return lambda n: {"a": {"b" * n: {str(index): member for index in range(n)}}}


_VALUES: Final = (
    _values("wrong items", lambda _: _array(_TEXT), lambda n: {"a": [1] * n}),
    _values("unique", lambda _: _array({"type": "integer"}, uniqueItems=True), lambda n: {"a": list(range(n))}),
    _values("unique objects", lambda _: _array(_KEYED, uniqueItems=True), lambda n: {"a": [{"v": index} for index in range(n)]}),
    _values("set", lambda _: _array({"type": "integer"}, list_type="set"), lambda n: {"a": [*range(n), *range(n)]}),
    _values(
        "map",
        lambda _: _array(_KEYED, list_type="map", list_map_keys=["k"]),
        lambda n: {"a": [{"k": str(at % 9), "v": at} for at in range(n)]},
    ),
    _values(
        "map of two keys",
        lambda _: _array(_KEYED, list_type="map", list_map_keys=["k", "v"]),
        lambda n: {"a": [{"k": str(at), "v": "!"} for at in range(n)]},
    ),
    _values("enum", lambda n: _array(_TEXT | {"enum": list(map(str, range(n)))}), lambda n: {"a": list(map(str, range(n)))}),
    _values("outside enum", lambda n: _array(_TEXT | {"enum": list(map(str, range(n)))}), lambda n: {"a": [f"-{at}" for at in range(n)]}),
    _values("required", lambda n: {"a": {"type": "object", "required": list(map(str, range(n)))}}, lambda _: {"a": {}}),
    _values("anyOf", lambda n: {"a": {"anyOf": [{"enum": [at]} for at in range(n)], "type": "integer"}}, lambda _: {"a": -1}),
    _values("oneOf", lambda n: {"a": {"oneOf": [{"minimum": at} for at in range(n)], "type": "integer"}}, lambda n: {"a": n}),
    _values("allOf", lambda n: {"a": {"allOf": [{"minimum": at} for at in range(n)], "type": "integer"}}, lambda _: {"a": -1}),
    _values("unknown", lambda _: {"a": {"type": "object"}}, lambda n: {"a": {str(at): 1 for at in range(n)}}),
    _values("nulls", lambda _: {"a": _NULLABLE}, lambda n: {"a": {str(at): None for at in range(n)}}),
    _values("defaults", lambda n: {str(at): {"type": "object", "default": {}} for at in range(n)}, lambda _: {}),
    _values("wrong below a long name", lambda _: _map(_TEXT), _below_long_name(1)),
    _values("one wrong below a long name", lambda _: _map(_TEXT) | {"b": _TEXT}, lambda n: _below_long_name("a")(n) | {"b": 1}),
    _values("unknown below a long name", lambda _: _map({"type": "object"}), _below_long_name({"x": 1})),
    _values("resources below a long name", lambda _: _map(_EMBEDDED), _below_long_name({"metadata": {"x": 1}, "kind": 1})),
    _values("resources", lambda _: _map(_EMBEDDED), lambda n: {"a": {"b": {str(at): _resource() for at in range(n)}}}),
)

CASES: Final = (*map(_format, _FORMATS), *map(_pattern, _PATTERNS), *_VALUES)
