"""The compiled form of a schema: functions that decide whether a value is valid, made node by node on first use.

A check and the report agree on validity; property tests compare them.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any, Final

from apiext.base.scheduling.inline_work import current_work
from apiext.schema.validation.keywords.constraint import DoubtError, accept, reject
from apiext.schema.validation.keywords.registry import FUNCTIONS_OF, KINDS

if TYPE_CHECKING:
    from apiext.schema.validation.keywords.constraint import Check, Node

_COMPILE_STEPS: Final = 4
"""Steps of the compilation of a node."""
_REJECTING: Final[dict[type, Check]] = dict.fromkeys(KINDS, reject)


def compile_check(spec: Node) -> Check:
    """Return the check of a schema; nodes below are compiled when a value first reaches them.

    It is True if a value surely is valid, and False when in doubt: what only the report permits in the place of integers and strings.
    """
    check_node = spec.check

    def check(value: Any) -> bool:
        try:
            return check_node(value)
        except DoubtError:
            return False

    return check


def compile_node(spec: Node) -> Check:
    """Return the check of one node. It raises DoubtError when in doubt."""
    current_work().step(_COMPILE_STEPS)
    table: dict[type, Check] = {}
    is_typed = False
    for kind in KINDS:
        check, is_typed_check = _kind_check(spec, kind)
        if check is not reject:
            table[kind], is_typed = check, is_typed_check
    if len(table) == 1:
        [(kind, check)] = table.items()
        return check if is_typed else _single(kind, check)
    checks = _REJECTING | table
    return lambda value: checks[type(value)](value)


def _single(kind: type, check: Check) -> Check:
    if check is accept:
        return lambda value: type(value) is kind
    return lambda value: type(value) is kind and check(value)


def _kind_check(spec: Node, kind: type) -> tuple[Check, bool]:
    """Return the check of a node for values of one Python type, and whether it is False for values of other types."""
    checks: list[Check] = []
    is_typed = False
    least, most = whole = -math.inf if kind is int else 0, math.inf
    for function in FUNCTIONS_OF[kind]:
        each = function(spec, kind)
        if each is None or each.check is accept:
            continue
        if each.check is reject:
            return reject, True
        if each.span is not None:
            least, most = max(least, each.span[0]), min(most, each.span[1])
        else:
            # what follows a check of the type has the type
            is_typed = is_typed or (not checks and each.typed)
            checks.append(each.check)
    if (least, most) == whole:
        return _all(checks), is_typed
    return _all([_span_check(kind, least, most), *checks]), True


def _span_check(kind: type[Any], least: float, most: float) -> Check:
    """Return the check that an integer, or the size of another value, lies between two bounds."""
    if kind is int:
        return lambda value: type(value) is int and least <= value <= most
    if most == math.inf:
        return lambda value: type(value) is kind and len(value) >= least
    return lambda value: type(value) is kind and least <= len(value) <= most


def _all(checks: list[Check]) -> Check:
    if not checks:
        return accept
    if len(checks) == 1:
        return checks[0]
    if len(checks) == 2:
        first, second = checks
        return lambda value: first(value) and second(value)
    every = tuple(checks)

    def check(value: Any) -> bool:
        for valid in every:  # noqa: SIM110 a generator would double the time
            if not valid(value):
                return False
        return True

    return check
