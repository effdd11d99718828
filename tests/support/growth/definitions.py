"""Inputs of the decoding and the validation of definitions."""

from collections.abc import Callable
from typing import Any, Final

from apiext.base.meta import errors
from apiext.resources.definitions.codec import GVK, canonical
from apiext.resources.definitions.validation.definition import validate_create, validate_update
from apiext.resources.definitions.validation.warnings import warnings
from tests.support.builders.crds import crd, version
from tests.support.growth.measure import Case

_TEXT: Final = {"type": "string"}


def _check(definition: dict[str, Any]) -> None:
    complete = canonical(definition)
    problems = [*validate_create(complete), *validate_update(complete, complete)]
    errors.invalid(GVK.group_kind, "a", problems)
    warnings(complete)


def _case(name: str, make: Callable[[int], dict[str, Any]]) -> Case:
    return Case(f"definition {name}", make, _check)


def _schema(name: str, schema: Callable[[int], dict[str, Any]]) -> Case:
    return _case(f"schema {name}", lambda n: crd("widgets", version("v1", storage=True, schema={"type": "object"} | schema(n))))


def _texts(count: int) -> dict[str, Any]:
    return {str(index): _TEXT for index in range(count)}


def _map_list(count: int) -> dict[str, Any]:
    names = list(map(str, range(count)))
    items = {"type": "object", "properties": _texts(count), "required": names}
    list_type = {"x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": names}
    return {"properties": {"spec": {"type": "array", "items": items} | list_type}}


def _bad_map_list(count: int) -> dict[str, Any]:
    list_type = {"x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": list(map(str, range(count)))}
    return {"properties": {"spec": {"type": "array", "items": {"type": "object"}} | list_type}}


def _large_default(count: int) -> dict[str, Any]:
    default = {str(index): 1 for index in range(count)}
    return {"properties": {"a": {"type": "object", "properties": _texts(count), "default": default}}}


def _nested_list(count: int) -> dict[str, Any]:
    bad = {str(index): {"type": "array", "x-kubernetes-list-type": "map"} for index in range(count)}
    return {"properties": {"a" * count: {"type": "object", "properties": bad}}}


CASES: Final = (
    _case("versions", lambda n: crd("widgets", *(version(f"v{index}", storage=True) for index in range(n)))),
    _case("equal versions", lambda n: crd("widgets", *(version("v1") for _ in range(n)))),
    _case("short names", lambda n: crd() | {"status": {"storedVersions": list(map(str, range(n)))}}),
    _case("columns", lambda n: crd("widgets", version("v1", additionalPrinterColumns=[{"name": "", "type": "!", "jsonPath": "!"}] * n))),
    _case("selectable fields", lambda n: crd("widgets", version("v1", selectableFields=[{"jsonPath": f".{index}"} for index in range(n)]))),
    _schema("properties", lambda n: {"properties": _texts(n)}),
    _schema("bad properties", lambda n: {"properties": {str(index): {"pattern": "("} for index in range(n)}}),
    _schema("below a long name", _nested_list),
    _schema("enum", lambda n: {"properties": {"a": _TEXT | {"enum": list(map(str, range(n)))}}}),
    _schema("required", lambda n: {"required": list(map(str, range(n)))}),
    _schema("allOf", lambda n: {"allOf": [{"required": [str(index)]} for index in range(n)]}),
    _schema("anyOf", lambda n: {"anyOf": [{"properties": {str(index): {"type": "string"}}} for index in range(n)]}),
    _schema("map keys", _map_list),
    _schema("bad map keys", _bad_map_list),
    _schema("rules", lambda n: {"properties": _texts(n), "x-kubernetes-validations": [{"rule": "true", "fieldPath": ".1"}] * n}),
    _schema("defaults", lambda n: {"properties": {str(index): _TEXT | {"default": "a"} for index in range(n)}}),
    _schema("a large default", _large_default),
    _schema("formats", lambda n: {"properties": {str(index): _TEXT | {"format": str(index)} for index in range(n)}}),
)
