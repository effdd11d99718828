"""Wrap and unwrap."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from apiext.resources.conversion.rules.operations.operation import EXACT, INEXACT, MISSING, Reversible
from apiext.resources.conversion.rules.operations.walk import Change, at_values

if TYPE_CHECKING:
    from apiext.resources.conversion.rules.model import FieldSteps, Unwrap, Wrap


def compile_wrap(rule: Wrap) -> Reversible:
    """Return the functions of a rule."""
    return _operation(rule.path, rule.member)


def compile_unwrap(rule: Unwrap) -> Reversible:
    """Return the functions of a rule."""
    return _operation(rule.path, rule.member).reversed()


def _operation(path: FieldSteps, member: str | None) -> Reversible:
    wrap, unwrap = (_into_list, _out_of_list) if member is None else (_into_object(member), _out_of_object(member))
    return Reversible(at_values(path, wrap), at_values(path, unwrap))


def _into_list(value: Any) -> tuple[Any, bool]:
    return (value, EXACT) if value is None else ([value], EXACT)


def _out_of_list(value: Any) -> tuple[Any, bool]:
    if type(value) is not list:
        return value, value is None
    if len(value) == 1:
        return value[0], value[0] is not None
    return value[0] if value else MISSING, INEXACT


def _into_object(member: str) -> Change:
    def wrap(value: Any) -> tuple[Any, bool]:
        return (value, EXACT) if value is None else ({member: value}, EXACT)

    return wrap


def _out_of_object(member: str) -> Change:
    def unwrap(value: Any) -> tuple[Any, bool]:
        if type(value) is not dict:
            return value, value is None
        inner = value.get(member, MISSING)
        return inner, len(value) == 1 and inner is not MISSING and inner is not None

    return unwrap
