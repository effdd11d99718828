"""LabelSelectors of API objects as selectors (apimachinery pkg/apis/meta/v1/helpers.go, LabelSelectorAsSelector)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from apiext.base.meta import field, names
from apiext.base.meta.golang import formatting
from apiext.base.meta.selector_parser import check_values
from apiext.base.meta.selectors import LabelRequirement, LabelSelector, Operator

_OPERATORS: Final = {
    "In": Operator.IN,
    "NotIn": Operator.NOT_IN,
    "Exists": Operator.EXISTS,
    "DoesNotExist": Operator.DOES_NOT_EXIST,
}


def parse_selector(selector: Mapping[str, Any] | None) -> LabelSelector:
    """Return a LabelSelector as a selector. Without requirements it selects everything, None selects nothing.

    Raises:
        ValueError: an operator, label or value is invalid; the message is the reference's.
    """
    found = LabelSelector()
    if selector is None:
        found.add(LabelRequirement("", Operator.IN))
        return found
    for key, value in sorted((selector.get("matchLabels") or {}).items()):
        _add(found, LabelRequirement(key, Operator.IN, (value,)))
    for one in selector.get("matchExpressions") or ():
        operator = _OPERATORS.get(one["operator"])
        if operator is None:
            raise ValueError(f"{formatting.quote(one['operator'])} is not a valid label selector operator")
        _add(found, LabelRequirement(one["key"], operator, tuple(sorted(one.get("values") or ()))))
    return found


def _add(selector: LabelSelector, requirement: LabelRequirement) -> None:
    if problems := names.label_key(requirement.key):
        raise ValueError(str(field.invalid(field.Path("key"), requirement.key, "; ".join(problems))))
    check_values(requirement)
    selector.add(requirement)


def selector_text(selector: Mapping[str, Any] | None) -> str:
    """Return a label selector as text, empty if it selects everything or nothing."""
    selector = selector or {}
    requirements = [(name, f"{name}={value}") for name, value in (selector.get("matchLabels") or {}).items()]
    requirements += [(each["key"], _requirement(each)) for each in selector.get("matchExpressions") or ()]
    return ",".join(shown for _, shown in sorted(requirements, key=lambda one: one[0]))


def _requirement(expression: Mapping[str, Any]) -> str:
    key, operator, values = expression["key"], expression.get("operator"), sorted(expression.get("values") or ())
    if operator == "Exists":
        return str(key)
    if operator == "DoesNotExist":
        return f"!{key}"
    return f"{key} {'in' if operator == 'In' else 'notin'} ({','.join(values)})"
