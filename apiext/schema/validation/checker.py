"""The compiled form of a schema: functions that decide whether a value is valid, made node by node on first use.

A check and the report agree on validity; property tests compare them.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

from apiext.scheduling.inline_work import current_work
from apiext.schema.keywords import KEYWORDS, UNCHECKED
from apiext.schema.pattern import PatternError, compile_pattern
from apiext.schema.strfmt.registry import format_checker
from apiext.schema.validation.jsontype import is_json_integer, type_violation
from apiext.schema.validation.report import has_duplicates
from apiext.schema.validation.spec import Spec
from apiext.schema.validation.values import is_allowed, number_violations

Check = Callable[[Any], bool]
_PATTERN_ONLY: Final = UNCHECKED | {"type", "pattern"}
"""Keywords of a value that has a type and a pattern."""
_COMPILE_STEPS: Final = 4
"""Steps of the compilation of a node."""


def _accept(_: Any) -> bool:
    return True


def _reject(_: Any) -> bool:
    return False


class _DoubtError(Exception):
    """A float stands in the place of an integer, or a list in the place of a formatted string: it may be valid, but has another type."""


def compile_check(spec: Spec) -> Check:
    """Return the check of a schema; nodes below are compiled when a value first reaches them.

    It is True if a value surely is valid, and False when in doubt: what only the report permits in the place of integers and strings.

    Raises:
        HeavyWorkError: the compilation takes too long for the event loop.
    """
    test = compile_spec(spec)

    def check(value: Any) -> bool:
        try:
            return test(value)
        except _DoubtError:
            return False

    return check


def compile_spec(spec: Spec) -> Check:
    """Return the test of one node.

    Raises:
        HeavyWorkError: the compilation takes too long for the event loop.
    """
    current_work().step(_COMPILE_STEPS)
    common = _combinations(spec)
    table: dict[type, Check] = {
        type(None): _reject if type_violation(spec, None, "") or spec.enum else _accept,
        bool: _typed(spec, sample=True, tests=common),
        str: _typed(spec, "", [*common, *_string_checks(spec)]),
        int: _typed(spec, 0, [*common, *_number_checks(spec)]),
        float: _float_check(spec, [*common, *_number_checks(spec)]),
        list: _doubt if _takes_lists_for_strings(spec) else _typed(spec, [], [*common, *_list_checks(spec)]),
        dict: _typed(spec, {}, [*common, *_object_checks(spec)]),
    }
    possible = [(kind, check) for kind, check in table.items() if check is not _reject]
    if len(possible) == 1:
        kind, check = possible[0]
        # the check of a pattern includes the type
        return check if kind is str and spec.pattern and spec.raw.keys() <= _PATTERN_ONLY else _single(kind, check)
    return lambda value: table[type(value)](value)


def _single(kind: type, test: Check) -> Check:
    if test is _accept:
        return lambda value: type(value) is kind
    return lambda value: type(value) is kind and test(value)


def _typed(spec: Spec, sample: Any, tests: list[Check]) -> Check:
    if type_violation(spec, sample, ""):
        return _reject
    return _all(tests)


def _float_check(spec: Spec, tests: list[Check]) -> Check:
    if type_violation(spec, 0.5, "") is None:
        return _all(tests)
    if type_violation(spec, 1.0, "") is None:
        return _reject_fraction
    return _reject


def _takes_lists_for_strings(spec: Spec) -> bool:
    return bool(spec.types) and "array" not in spec.types and type_violation(spec, [], "") is None


def _doubt(_: Any) -> bool:
    raise _DoubtError


def _reject_fraction(value: float) -> bool:
    if is_json_integer(value):
        raise _DoubtError
    return False


def _all(tests: list[Check]) -> Check:
    if not tests:
        return _accept
    if len(tests) == 1:
        return tests[0]
    if len(tests) == 2:
        first, second = tests
        return lambda value: first(value) and second(value)
    every = tuple(tests)

    def check(value: Any) -> bool:
        for test in every:  # noqa: SIM110 a generator would double the time
            if not test(value):
                return False
        return True

    return check


def _lazy(spec: Spec, holder: Any, key: str | int) -> Check:
    """Return a check that compiles the node on its first call, and then replaces itself in the list or dict that holds it."""

    def first(value: Any) -> bool:
        check = holder[key] = compile_spec(spec)
        return check(value)

    return first


def _combinations(spec: Spec) -> list[Check]:
    tests: list[Check] = []
    if spec.enum:
        tests.append(lambda value: is_allowed(spec, value))
    if spec.any_of:
        any_of = [compile_spec(clause) for clause in spec.any_of]
        tests.append(lambda value: any(check(value) for check in any_of))
    if spec.one_of:
        one_of = [compile_spec(clause) for clause in spec.one_of]
        tests.append(lambda value: sum(check(value) for check in one_of) == 1)
    if spec.all_of:
        tests.extend(compile_spec(clause) for clause in spec.all_of)
    if spec.not_ is not None:
        not_ = compile_spec(spec.not_)
        tests.append(lambda value: not not_(value))
    return tests


def _string_checks(spec: Spec) -> list[Check]:
    tests = _size_checks(spec.min_length or 0, spec.max_length)
    if spec.pattern:
        tests.append(_pattern_check(spec.pattern))
    if (is_formatted := format_checker(spec.format)) is not None:
        tests.append(is_formatted)
    return tests


def _pattern_check(expression: str) -> Check:
    try:
        pattern = compile_pattern(expression)
    except PatternError:
        return _reject
    results, matches = pattern.results, pattern.matches
    return lambda value: type(value) is str and (results.get(value) or matches(value))


def _number_checks(spec: Spec) -> list[Check]:
    ranged = spec.types == ("number",) and spec.format == "float"
    if not ranged and spec.types != ("integer",) and spec.multiple_of is spec.maximum is spec.minimum is None:
        return []
    if spec.types == ("integer",) and spec.format != "int32" and spec.multiple_of is None:
        return _integer_checks(spec)
    return [lambda value: next(number_violations(spec, value, ""), None) is None]


def _integer_checks(spec: Spec) -> list[Check]:
    """Return the check of integers without bounds or with whole, inclusive ones, which avoids the general rule."""
    bounds = [bound for bound in (spec.minimum, spec.maximum) if bound is not None]
    exact = all(bound.is_integer() and abs(bound) < 2**53 for bound in bounds)
    if not exact or spec.exclusive_minimum or spec.exclusive_maximum:
        return [lambda value: next(number_violations(spec, value, ""), None) is None]
    least = -(2**63) if spec.minimum is None else spec.minimum
    most = 2**63 - 1 if spec.maximum is None else spec.maximum
    return [lambda value: least <= value <= most]


def _size_checks(least: int, most: int | None) -> list[Check]:
    if most is not None:
        return [lambda value: least <= len(value) <= most]
    return [lambda value: len(value) >= least] if least > 0 else []


def _list_checks(spec: Spec) -> list[Check]:
    tests = _size_checks(spec.min_items or 0, spec.max_items)
    if spec.unique_items:
        tests.append(lambda value: not has_duplicates(value))
    if spec.items is not None:
        tests.append(_objects_check(spec.items) if _is_plain_object(spec.items) else _items_check(spec.items))
    return tests


def _items_check(spec: Spec) -> Check:
    slot: list[Check] = []
    slot.append(_lazy(spec, slot, 0))

    def check_items(value: list[Any]) -> bool:
        for item in value:  # noqa: SIM110 a generator would double the time
            if not slot[0](item):
                return False
        return True

    return check_items


def _object_checks(spec: Spec) -> list[Check]:
    tests = _size_checks(spec.min_properties or 0, spec.max_properties)
    if spec.properties or spec.additional is not None or spec.closed or spec.required:
        tests.append(_objects_check(spec))
    return tests


_PLAIN_TYPES = {"string": str, "boolean": bool, "integer": int, "number": float}
_CONSTRAINTS = frozenset(each.name for each in KEYWORDS if each.checks in ("any", "number", "string")) - {"type", "nullable"}

_PLAIN_OBJECT = UNCHECKED | {"type", "nullable", "properties", "required", "additionalProperties"}
"""Keywords of an object that is valid if its members are; rules are evaluated apart."""


def _plain_type(spec: Spec) -> type | None:
    """Return the Python type whose values are all valid, None unless the node only requires a scalar type."""
    return _PLAIN_TYPES.get(spec.types[0]) if spec.types and _CONSTRAINTS.isdisjoint(spec.raw) else None


def _is_plain_object(spec: Spec) -> bool:
    """Return whether all values are objects that are valid if their members are."""
    return spec.types == ("object",) and not spec.nullable and spec.raw.keys() <= _PLAIN_OBJECT


def _objects_check(spec: Spec) -> Check:
    """Return the check whether an object, or all items of a list, are objects with valid members; one call is enough for a list."""
    plain: dict[str, type] = {}
    checks: dict[str, Check] = {}
    for key, child in spec.properties.items():
        if kind := _plain_type(child):
            plain[key] = kind
        checks[key] = _lazy(child, checks, key)
    other: list[Check | None] = [_reject if spec.closed else None]
    """Check of members that are no properties."""
    if not spec.closed and spec.additional is not None:
        other[0] = _lazy(spec.additional, other, 0)

    required = tuple(spec.required)

    def check(value: dict[str, Any] | list[Any]) -> bool:
        objects = value if type(value) is list else (value,)
        for obj in objects:
            if type(obj) is not dict:
                return False
            for key, member in obj.items():
                if plain.get(key) is type(member):
                    continue
                test = checks.get(key) or other[0]
                if test is not None and not test(member):
                    return False
        for name in required:
            for obj in objects:
                if name not in obj:
                    return False
        return True

    return check
