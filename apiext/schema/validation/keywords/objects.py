"""The keywords of objects: minProperties, maxProperties, additionalProperties, properties and required (validate/object_validator.go)."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any, Final

from apiext.base.meta.field import ErrorType
from apiext.base.scheduling.inline_work import current_work
from apiext.schema.keywords import KEYWORDS, UNCHECKED
from apiext.schema.lazy_path import DottedPath
from apiext.schema.validation.correlated import Correlated
from apiext.schema.validation.keywords.constraint import Check, Constraint, Functions, constraint
from apiext.schema.validation.result import Result, Violation, invalid

if TYPE_CHECKING:
    from apiext.schema.validation.keywords.constraint import Node

_TYPE_META: Final = ("kind", "apiVersion")
_PLAIN_TYPES: Final = {"string": str, "boolean": bool, "integer": int, "number": float}
_OF_SCALARS: Final = frozenset(each.name for each in KEYWORDS if each.checks in ("any", "number", "string")) - {"type", "nullable"}
"""Keywords that reject scalars of the right type."""
_PLAIN_OBJECT: Final = UNCHECKED | {"type", "nullable", "properties", "required", "additionalProperties"}
"""Keywords of an object that is valid if its members are; rules are evaluated apart."""


def min_properties(spec: Node, _: type) -> Constraint | None:
    """Require a number of members."""
    return least_size(spec, "minProperties", "properties")


def max_properties(spec: Node, _: type) -> Constraint | None:
    """Limit the number of members."""
    return greatest_size(spec, "maxProperties", "properties")


def members(spec: Node, _: type) -> Constraint | None:
    """Validate the members by properties and additionalProperties, and require some. One pass checks all three keywords."""
    required: list[str] = spec.raw.get("required") or []
    closed = spec.raw.get("additionalProperties") is False
    properties, additional = spec.properties, spec.additional
    if not (properties or required or closed or additional is not None):
        return None

    def report(value: dict[str, Any], name: DottedPath, result: Result, known: Correlated | None) -> None:
        for key, member in value.items():
            if result.is_full:
                break
            if key in properties:
                continue
            if closed:
                result.add(invalid(name, key, f"{name}.{key} in body is a forbidden property"))
            elif additional is not None:
                result.merge(additional.report_change(member, DottedPath(name, f".{key}"), _member(known, name, key)))
        for key, child in properties.items():
            if result.is_full:
                break
            if key in value:
                path = DottedPath(name, f".{key}" if name else key)
                result.merge(child.report_change(value[key], path, _member(known, name, key)))
        for key in required:
            if key not in value and not result.is_full:
                current_work().step()
                result.add(Violation(ErrorType.REQUIRED, f"{name}.{key}", f"{name}.{key} in body is required"))

    return Constraint(objects_check(spec), report)


def _member(known: Correlated | None, name: DottedPath, key: str) -> Correlated | None:
    # kind and apiVersion are never ratcheted.
    return None if known is None or (not name and key in _TYPE_META) else known.key(key)


def is_plain_object(spec: Node) -> bool:
    """Return whether all values are objects that are valid if their members are."""
    return spec.types == ("object",) and not spec.nullable and spec.raw.keys() <= _PLAIN_OBJECT


def objects_check(spec: Node) -> Check:
    """Return the check whether an object, or all items of a list, are objects with valid members; one call is enough for a list."""
    plain: dict[str, type] = {}
    properties, additional = spec.properties, spec.additional
    for key, child in properties.items():
        if kind := _plain_type(child):
            plain[key] = kind
    closed = spec.raw.get("additionalProperties") is False
    # compiled when a member first needs them
    checks: dict[str, Check] = {}
    other: Check | None = None
    required = tuple(spec.raw.get("required") or ())

    def check(value: dict[str, Any] | list[Any]) -> bool:
        nonlocal other
        objects = value if type(value) is list else (value,)
        for obj in objects:
            if type(obj) is not dict:
                return False
            for key, member in obj.items():
                if plain.get(key) is type(member):
                    continue
                test = checks.get(key)
                if test is None:
                    if key in properties:
                        test = checks[key] = properties[key].check
                    elif additional is not None:
                        test = other = other or additional.check
                    elif closed:
                        return False
                    else:
                        continue
                if not test(member):
                    return False
        for name in required:
            for obj in objects:
                if name not in obj:
                    return False
        return True

    return check


def _plain_type(spec: Node) -> type | None:
    """Return the Python type whose values are all valid, None unless the node only requires a scalar type."""
    return _PLAIN_TYPES.get(spec.types[0]) if spec.types and _OF_SCALARS.isdisjoint(spec.raw) else None


def least_size(spec: Node, keyword: str, unit: str) -> Constraint | None:
    """Require a number of items or members."""
    least: int | None = spec.raw.get(keyword)
    if least is None:
        return None
    return constraint(
        lambda value: len(value) >= least,
        lambda value, name: invalid(name, len(value), f"{name} in body should have at least {least} {unit}"),
        span=(least, math.inf),
    )


def greatest_size(spec: Node, keyword: str, unit: str) -> Constraint | None:
    """Limit the number of items or members."""
    most: int | None = spec.raw.get(keyword)
    if most is None:
        return None
    return constraint(
        lambda value: len(value) <= most,
        lambda value, name: Violation(
            ErrorType.TOO_MANY, name, f"{name} in body should have at most {most} {unit}", len(value), limit=most
        ),
        span=(0, most),
    )


OBJECTS: Final[Functions] = {
    "minProperties": min_properties,
    "maxProperties": max_properties,
    **dict.fromkeys(("additionalProperties", "properties", "required"), members),
}
