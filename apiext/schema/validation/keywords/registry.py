"""The functions of the keywords, and which of them apply to a value.

Arrays: validate/slice_validator.go.

Clauses: validate/schema_props.go.

Strings: validate/string.go.

Objects: validate/object_validator.go.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Final

from apiext.base.meta.encoding import json_values
from apiext.base.meta.field import ErrorType
from apiext.base.meta.golang.formatting import quote
from apiext.base.scheduling.inline_work import current_work
from apiext.schema.field_path import DottedPath
from apiext.schema.keywords import KEYWORDS, UNCHECKED
from apiext.schema.pattern import PatternError, compile_pattern
from apiext.schema.validation.correlated import Correlated
from apiext.schema.validation.keywords.constraint import Check, Constraint, Functions, KeywordFunction, NoneType, constraint, reject
from apiext.schema.validation.keywords.numbers import NUMBERS
from apiext.schema.validation.keywords.values import ENUM, FORMAT, TYPE
from apiext.schema.validation.result import Result, Violation, composite, invalid

if TYPE_CHECKING:
    from collections.abc import Sequence

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


def max_length(spec: Node, _: type) -> Constraint | None:
    """Limit the number of characters."""
    most: int | None = spec.raw.get("maxLength")
    if most is None:
        return None
    return constraint(
        lambda value: len(value) <= most,
        lambda value, name: Violation(ErrorType.TOO_LONG, name, f"{name} in body should be at most {most} chars long", value, limit=most),
        span=(0, most),
    )


def min_length(spec: Node, kind: type) -> Constraint | None:
    """Require a number of characters."""
    least: int | None = spec.raw.get("minLength")
    if least is None:
        return None
    return constraint(
        lambda value: len(value) >= least,
        lambda value, name: invalid(name, value, f"{name} in body should be at least {least} chars long"),
        span=(least, math.inf),
        hidden_by=[max_length(spec, kind)],
    )


def pattern(spec: Node, kind: type) -> Constraint | None:
    """Require a match of an expression. No string matches a malformed one."""
    expression: str = spec.raw.get("pattern") or ""
    if not expression:
        return None
    sizes = (max_length(spec, kind), min_length(spec, kind))
    try:
        compiled = compile_pattern(expression)
    except PatternError as error:
        problem = f"should match '{expression}, but pattern is invalid: {error}'"
        return constraint(reject, lambda value, name: invalid(name, value, f"{name} in body {problem}"), hidden_by=sizes)
    results, matches = compiled.results, compiled.matches
    return constraint(
        lambda value: type(value) is str and (results.get(value) or matches(value)),
        lambda value, name: invalid(name, value, f"{name} in body should match '{expression}'"),
        typed=True,
        hidden_by=sizes,
    )


STRINGS: Final[Functions] = {"maxLength": max_length, "minLength": min_length, "pattern": pattern}


def any_of(spec: Node, kind: type) -> Constraint | None:
    """Require a value that is valid by at least one clause."""
    clauses = _clauses(spec, kind, "anyOf")
    if not clauses:
        return None
    checks: list[Check] = []

    def check(value: Any) -> bool:
        for valid in _compiled(checks, clauses):  # noqa: SIM110 a generator would double the time
            if valid(value):
                return True
        return False

    def report(value: Any, name: DottedPath, result: Result, _: Correlated | None) -> None:
        best: Result | None = None
        for clause in clauses:
            each = clause.report(value, name)
            if each.is_valid:
                result.merge(each)
                return
            if best is None or each.match_count > best.match_count:
                best = each
        result.add(composite(f"{quote(str(name))} must validate at least one schema (anyOf)"))
        if best is not None:
            result.merge(best)

    return Constraint(check, report)


def one_of(spec: Node, kind: type) -> Constraint | None:
    """Require a value that is valid by exactly one clause."""
    clauses = _clauses(spec, kind, "oneOf")
    if not clauses:
        return None
    checks: list[Check] = []

    def check(value: Any) -> bool:
        found = False
        for valid in _compiled(checks, clauses):
            if valid(value):
                if found:
                    return False
                found = True
        return found

    def report(value: Any, name: DottedPath, result: Result, _: Correlated | None) -> None:
        results = [clause.report(value, name) for clause in clauses]
        valid = [each for each in results if each.is_valid]
        if len(valid) == 1:
            result.merge(valid[0])
            return
        found = f"Found {len(valid)} valid alternatives" if valid else "Found none valid"
        result.add(composite(f"{quote(str(name))} must validate one and only one schema (oneOf). {found}"))
        if not valid:
            # max keeps the first of equals, as the reference does.
            result.merge(max(results, key=lambda each: each.match_count))

    return Constraint(check, report)


def all_of(spec: Node, kind: type) -> Constraint | None:
    """Require a value that is valid by all clauses."""
    clauses = _clauses(spec, kind, "allOf")
    if not clauses:
        return None
    checks: list[Check] = []

    def check(value: Any) -> bool:
        for valid in _compiled(checks, clauses):  # noqa: SIM110 a generator would double the time
            if not valid(value):
                return False
        return True

    def report(value: Any, name: DottedPath, result: Result, _: Correlated | None) -> None:
        results = [clause.report(value, name) for clause in clauses]
        for each in results:
            result.merge(each)
        if not all(each.is_valid for each in results):
            none = "" if any(each.is_valid for each in results) else ". None validated"
            result.add(composite(f"{quote(str(name))} must validate all the schemas (allOf){none}"))

    return Constraint(check, report)


def not_(spec: Node, kind: type) -> Constraint | None:
    """Require a value that is not valid by the clause."""
    clauses = _clauses(spec, kind, "not")
    if not clauses:
        return None
    clause = clauses[0]

    def report(value: Any, name: DottedPath, result: Result, _: Correlated | None) -> None:
        if clause.report(value, name).is_valid:
            result.add(composite(f"{quote(str(name))} must not validate the schema (not)"))

    return Constraint(lambda value: not clause.check(value), report)


def _compiled(checks: list[Check], clauses: Sequence[Node]) -> list[Check]:
    """Return the checks of clauses, which are compiled on first use."""
    if not checks:
        checks[:] = [clause.check for clause in clauses]
    return checks


def _clauses(spec: Node, kind: type, keyword: str) -> Sequence[Node]:
    return [] if kind is NoneType or spec.raw.get(keyword) is None else spec.clauses(keyword)


CLAUSES: Final[Functions] = {"anyOf": any_of, "oneOf": one_of, "allOf": all_of, "not": not_}


def items(spec: Node, _: type) -> Constraint | None:
    """Validate the items."""
    child = spec.items
    if child is None:
        return None

    def report(value: list[Any], name: DottedPath, result: Result, known: Correlated | None) -> None:
        for index, item in enumerate(value):
            if result.is_full:
                break
            result.merge(child.report_change(item, DottedPath(name, f"[{index}]"), known and known.index(index)))

    return Constraint(objects_check(child) if is_plain_object(child) else _items_check(child), report)


def _items_check(spec: Node) -> Check:
    def check(value: list[Any]) -> bool:
        valid = spec.check
        for item in value:  # noqa: SIM110 a generator would double the time
            if not valid(item):
                return False
        return True

    return check


def min_items(spec: Node, _: type) -> Constraint | None:
    """Require a number of items."""
    return least_size(spec, "minItems", "items")


def max_items(spec: Node, _: type) -> Constraint | None:
    """Limit the number of items."""
    return greatest_size(spec, "maxItems", "items")


def unique_items(spec: Node, _: type) -> Constraint | None:
    """Require that no two items are deeply equal."""
    if spec.raw.get("uniqueItems") is not True:
        return None
    return constraint(
        lambda value: len(set(map(json_values.identity, value))) == len(value),
        lambda _, name: invalid(name, None, f"{name} in body shouldn't contain duplicates"),
    )


ARRAYS: Final[Functions] = {"items": items, "minItems": min_items, "maxItems": max_items, "uniqueItems": unique_items}


FUNCTIONS: Final[Functions] = TYPE | CLAUSES | STRINGS | FORMAT | NUMBERS | ARRAYS | ENUM | OBJECTS
"""The function of each keyword that value validation checks, in the order of the reference's violations."""

KINDS: Final = (NoneType, bool, str, int, float, list, dict)
"""The Python types of JSON values."""
_KINDS_OF: Final[Mapping[str, tuple[type, ...]]] = {
    "any": KINDS, "array": (list,), "number": (int, float), "object": (dict,), "string": (str,), "": (),
}  # fmt: skip
_CHECKED: Final = {each.name: _KINDS_OF[each.checks] for each in KEYWORDS}
FUNCTIONS_OF: Final[Mapping[type, tuple[KeywordFunction, ...]]] = {
    kind: tuple(dict.fromkeys(function for name, function in FUNCTIONS.items() if kind in _CHECKED[name])) for kind in KINDS
}
"""The functions that apply to values of a Python type, in the same order. What the row of a keyword checks decides."""
