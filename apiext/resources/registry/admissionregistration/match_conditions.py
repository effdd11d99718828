"""Validation of match conditions (kubernetes pkg/apis/admissionregistration/validation, validateMatchConditions)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from apiext.base.meta import field, names
from apiext.base.meta.golang.formatting import trim_space
from apiext.resources.registry.admissionregistration.expressions import ExpressionChecks, PlacedExpression

if TYPE_CHECKING:
    from collections.abc import Collection, Sequence

    from apiext.base.meta.encoding.json_codec import Object
    from apiext.base.meta.field import FieldError, Path

_MAX_CONDITIONS: Final = 64


def match_condition_errors(
    conditions: Sequence[Object], path: Path, *, stored: Collection[str] = (), params: bool = False
) -> list[FieldError]:
    """Return the errors of match conditions. `stored` are expressions of the stored object."""
    problems: list[FieldError] = []
    if len(conditions) > _MAX_CONDITIONS:
        problems.append(field.too_many(path, len(conditions), _MAX_CONDITIONS))
    expressions: ExpressionChecks | None = None
    known: set[str] = set()
    for index, condition in enumerate(conditions):
        name, source, here = condition["name"], trim_space(condition["expression"]), path.index(index)
        if source:
            expressions = expressions or ExpressionChecks(params=params)
            problems += expressions.condition(PlacedExpression(source, here.child("expression"), source in stored))
        else:
            problems.append(field.required(here.child("expression")))
        problems += _name_errors(name, here.child("name"))
        if name and name in known:
            problems.append(field.duplicate(here.child("name"), name))
        known.add(name)
    return problems


def _name_errors(name: str, path: Path) -> list[FieldError]:
    return [field.invalid(path, name, message) for message in names.label_key(name)] if name else [field.required(path)]
