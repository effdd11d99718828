"""The report of an invalid value: every violation in the reference's order (validate/schema.go, schema_props.go, ...)."""

from __future__ import annotations

from typing import Any, Final

from apiext.meta.encoding import json_values
from apiext.meta.field import ErrorType
from apiext.meta.golang.formatting import quote
from apiext.scheduling.inline_work import current_work
from apiext.schema.lazy_path import DottedPath
from apiext.schema.validation.correlated import Correlated
from apiext.schema.validation.jsontype import type_violation
from apiext.schema.validation.result import Result, Violation, composite, invalid
from apiext.schema.validation.spec import Spec
from apiext.schema.validation.values import enum_violation, format_violation, has_format, number_violations, string_violation

_TYPE_META: Final = ("kind", "apiVersion")


def report_change(spec: Spec, value: Any, name: DottedPath, known: Correlated | None) -> Result:
    """Return the violations of a value of a changed object: none if the value is unchanged (ratcheting)."""
    result = report(spec, value, name, known)
    if result.is_valid or known is None or not known.equal:
        return result
    tolerated = Result()
    tolerated.match_count = result.match_count
    return tolerated


def report(spec: Spec, value: Any, name: DottedPath, known: Correlated | None = None) -> Result:
    """Return the violations of the value at the path `name`.

    `known` correlates members and items with those of an old object; the value itself is not ratcheted.

    Raises:
        HeavyWorkError: the report takes too long for the event loop.
    """
    current_work().step()
    result = Result()
    if value is None:
        wrong = type_violation(spec, value, name)
        result.add(wrong)
        result.add(enum_violation(spec, value, name))
        result.match_count = 0 if wrong else 1
        return result
    if spec.types or spec.format:
        wrong = type_violation(spec, value, name)
        result.add(wrong)
        result.match_count += 1 if wrong else 2
    _combinations(spec, value, name, result)
    if type(value) is str:
        result.add(string_violation(spec, value, name))
        result.match_count += 1
        if has_format(spec):
            result.add(format_violation(spec, value, name))
            result.match_count += 1
    elif type(value) is int or type(value) is float:
        for violation in number_violations(spec, value, name):
            result.add(violation)
        result.match_count += 2
    elif type(value) is list:
        _list(spec, value, name, known, result)
        result.match_count += 1
    result.add(enum_violation(spec, value, name))
    result.match_count += 1
    if type(value) is dict:
        _object(spec, value, name, known, result)
        result.match_count += 1
    result.match_count += 2  # One for the combinations, one for the value itself.
    return result


def _combinations(spec: Spec, value: Any, name: DottedPath, result: Result) -> None:
    """Add the violations of allOf, anyOf, oneOf and not; their clauses are never ratcheted."""
    if spec.any_of:
        _any_of(spec, value, name, result)
    if spec.one_of:
        _one_of(spec, value, name, result)
    if spec.all_of:
        results = [report(clause, value, name) for clause in spec.all_of]
        for each in results:
            result.merge(each)
        if not all(each.is_valid for each in results):
            none = "" if any(each.is_valid for each in results) else ". None validated"
            result.add(composite(f"{quote(str(name))} must validate all the schemas (allOf){none}"))
    if spec.not_ is not None and report(spec.not_, value, name).is_valid:
        result.add(composite(f"{quote(str(name))} must not validate the schema (not)"))
    result.match_count += 1


def _any_of(spec: Spec, value: Any, name: DottedPath, result: Result) -> None:
    best: Result | None = None
    for clause in spec.any_of:
        each = report(clause, value, name)
        if each.is_valid:
            result.merge(each)
            return
        if best is None or each.match_count > best.match_count:
            best = each
    result.add(composite(f"{quote(str(name))} must validate at least one schema (anyOf)"))
    if best is not None:
        result.merge(best)


def _one_of(spec: Spec, value: Any, name: DottedPath, result: Result) -> None:
    results = [report(clause, value, name) for clause in spec.one_of]
    valid = [each for each in results if each.is_valid]
    if len(valid) == 1:
        result.merge(valid[0])
        return
    found = f"Found {len(valid)} valid alternatives" if valid else "Found none valid"
    result.add(composite(f"{quote(str(name))} must validate one and only one schema (oneOf). {found}"))
    if not valid:
        # max keeps the first of equals, as the reference does.
        result.merge(max(results, key=lambda each: each.match_count))


def _list(spec: Spec, value: list[Any], name: DottedPath, known: Correlated | None, result: Result) -> None:
    size = len(value)
    if spec.items is not None:
        for index, item in enumerate(value):
            if result.is_full:
                break
            result.merge(report_change(spec.items, item, DottedPath(name, f"[{index}]"), known and known.index(index)))
    if spec.min_items is not None and size < spec.min_items:
        result.add(invalid(name, size, f"{name} in body should have at least {spec.min_items} items"))
    if spec.max_items is not None and size > spec.max_items:
        message = f"{name} in body should have at most {spec.max_items} items"
        result.add(Violation(ErrorType.TOO_MANY, name, message, size, limit=spec.max_items))
    if spec.unique_items and has_duplicates(value):
        result.add(invalid(name, None, f"{name} in body shouldn't contain duplicates"))
    result.match_count += 1


def has_duplicates(value: list[Any]) -> bool:
    """Return whether two items are deeply equal."""
    return len(set(map(json_values.identity, value))) < len(value)


def _object(spec: Spec, value: dict[str, Any], name: DottedPath, known: Correlated | None, result: Result) -> None:
    size = len(value)
    if spec.min_properties is not None and size < spec.min_properties:
        result.add(invalid(name, size, f"{name} in body should have at least {spec.min_properties} properties"))
    if spec.max_properties is not None and size > spec.max_properties:
        message = f"{name} in body should have at most {spec.max_properties} properties"
        result.add(Violation(ErrorType.TOO_MANY, name, message, size, limit=spec.max_properties))
    for key, member in value.items():
        if result.is_full:
            break
        if key in spec.properties:
            continue
        if spec.closed:
            result.add(invalid(name, key, f"{name}.{key} in body is a forbidden property"))
        elif spec.additional is not None:
            result.merge(report_change(spec.additional, member, DottedPath(name, f".{key}"), _member(known, name, key)))
    for key, child in spec.properties.items():
        if result.is_full:
            break
        if key in value:
            result.merge(report_change(child, value[key], DottedPath(name, f".{key}" if name else key), _member(known, name, key)))
    work = current_work()
    for key in spec.required:
        if key not in value and not result.is_full:
            work.step()
            message = f"{name}.{key} in body is required"
            result.add(Violation(ErrorType.REQUIRED, f"{name}.{key}", message))


def _member(known: Correlated | None, name: DottedPath, key: str) -> Correlated | None:
    # kind and apiVersion are never ratcheted.
    return None if known is None or (not name and key in _TYPE_META) else known.key(key)
