"""Conditions in the form of most built-in kinds: Go type, validation, and updates of a list.

Mirrors apimachinery pkg/apis/meta/v1 (Condition), pkg/apis/meta/v1/validation and pkg/api/meta/conditions.go.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

from apiext.base.meta import field, names, time
from apiext.base.meta.golang.struct_table import struct

if TYPE_CHECKING:
    from collections.abc import Sequence

    from apiext.base.meta.encoding.json_codec import Object
    from apiext.base.meta.field import FieldError, Path

CONDITION: Final = struct(
    "Condition",
    "1 type!, 2 status! v1.ConditionStatus, 3 observedGeneration int64, 4 lastTransitionTime! Time, 5 reason!, 6 message!",
)
_STATUSES: Final = ("False", "True", "Unknown")
_MAX_REASON_BYTES: Final = 1024
_MAX_MESSAGE_BYTES: Final = 32 * 1024
_REASON_FORMAT: Final = "[A-Za-z]([A-Za-z0-9_,:]*[A-Za-z0-9_])?"
_REASON: Final = re.compile(_REASON_FORMAT)
_REASON_MESSAGE: Final = (
    "a condition reason must start with alphabetic character, optionally followed by a string of alphanumeric characters or '_,:', "
    "and must end with an alphanumeric character or '_'"
)
_REASON_EXAMPLES: Final = ("my_name", "MY_NAME", "MyName", "ReasonA,ReasonB", "ReasonA:ReasonB")


def find(conditions: Sequence[Object], condition_type: str) -> Object | None:
    """Return the condition of a type, or None."""
    return next((condition for condition in conditions if condition["type"] == condition_type), None)


def is_true(conditions: Sequence[Object], condition_type: str) -> bool:
    """Report whether a condition exists and is True."""
    condition = find(conditions, condition_type)
    return condition is not None and condition["status"] == "True"


def with_condition(conditions: Sequence[Object], condition: Object) -> list[Object]:
    """Return the conditions with one set. A condition keeps its time while its status stays the same."""
    known = find(conditions, condition["type"])
    if known is None:
        return [*conditions, condition | {"lastTransitionTime": time.now()}]
    since = known.get("lastTransitionTime") if known["status"] == condition["status"] else None
    new = known | condition | {"lastTransitionTime": since or time.now()}
    return [new if existing is known else existing for existing in conditions]


def condition_errors(conditions: Sequence[Object], path: Path) -> list[FieldError]:
    """Return the errors of a list of conditions."""
    errors: list[FieldError] = []
    seen: set[str] = set()
    for index, condition in enumerate(conditions):
        if condition["type"] in seen:
            errors.append(field.duplicate(path.index(index), condition["type"]))
        seen.add(condition["type"])
        errors += _errors(condition, path.index(index))
    return errors


def _errors(condition: Object, path: Path) -> list[FieldError]:
    name, status, reason = condition["type"], condition["status"], condition["reason"]
    errors = [field.invalid(path.child("type"), name, problem) for problem in names.label_key(name)]
    if not name:
        errors = [field.required(path.child("type"), "is required")]
    if not status:
        errors.append(field.required(path.child("status")))
    elif status not in _STATUSES:
        errors.append(field.not_supported(path.child("status"), field.typed_text(status), _STATUSES))
    generation = condition.get("observedGeneration", 0)
    if generation < 0:
        errors.append(field.invalid(path.child("observedGeneration"), generation, "must be greater than or equal to zero"))
    if condition["lastTransitionTime"] is None:
        errors.append(field.required(path.child("lastTransitionTime")))
    if not reason:
        errors.append(field.required(path.child("reason")))
    else:
        if _REASON.fullmatch(reason) is None:
            detail = names.regex_error(_REASON_MESSAGE, _REASON_FORMAT, *_REASON_EXAMPLES)
            errors.append(field.invalid(path.child("reason"), reason, detail))
        if names.size(reason) > _MAX_REASON_BYTES:
            errors.append(field.too_long(path.child("reason"), _MAX_REASON_BYTES))
    if names.size(condition["message"]) > _MAX_MESSAGE_BYTES:
        errors.append(field.too_long(path.child("message"), _MAX_MESSAGE_BYTES))
    return errors
