"""Label selectors inside objects (apimachinery pkg/apis/meta/v1: LabelSelector, and its validation)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from apiext.base.meta import field, names
from apiext.base.meta.golang.struct_table import struct
from apiext.base.meta.objectmeta import validation

if TYPE_CHECKING:
    from apiext.base.meta.encoding.json_codec import Object
    from apiext.base.meta.field import FieldError, Path

LABEL_SELECTOR: Final = struct(
    "LabelSelector",
    "1 matchLabels map[string]string, 2 matchExpressions []LabelSelectorRequirement",
    struct("LabelSelectorRequirement", "1 key!, 2 operator! v1.LabelSelectorOperator, 3 values []string"),
)


def label_selector_errors(selector: Object, path: Path, *, any_value: bool = False) -> list[FieldError]:
    """Return the errors of a label selector; with `any_value` those of values in its expressions do not count."""
    problems = list(validation.validate_labels(selector.get("matchLabels", {}), path.child("matchLabels")))
    for index, requirement in enumerate(selector.get("matchExpressions", ())):
        problems += _requirement_errors(requirement, path.child("matchExpressions").index(index), any_value=any_value)
    return problems


def _requirement_errors(requirement: Object, path: Path, *, any_value: bool) -> list[FieldError]:
    problems: list[FieldError] = []
    operator, values = requirement["operator"], requirement.get("values", ())
    if operator in {"In", "NotIn"}:
        if not values:
            problems.append(field.required(path.child("values"), "must be specified when `operator` is 'In' or 'NotIn'"))
    elif operator in {"Exists", "DoesNotExist"}:
        if values:
            problems.append(field.forbidden(path.child("values"), "may not be specified when `operator` is 'Exists' or 'DoesNotExist'"))
    else:
        problems.append(field.invalid(path.child("operator"), field.typed_text(operator), "not a valid selector operator"))
    problems += [field.invalid(path.child("key"), requirement["key"], message) for message in names.label_key(requirement["key"])]
    if not any_value:
        for index, value in enumerate(values):
            problems += [field.invalid(path.child("values").index(index), value, message) for message in names.label_value(value)]
    return problems
