"""Rules that several kinds share: metadata of the core group, which also has a form of finalizers, and label selectors inside objects.

Mirrors ValidateObjectMeta of kubernetes pkg/apis/core/validation, and apimachinery pkg/apis/meta/v1/validation.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from apiext.base.meta import field, names
from apiext.base.meta.objectmeta import validation

if TYPE_CHECKING:
    from apiext.base.meta.encoding.json_codec import Object
    from apiext.base.meta.field import FieldError, Path
    from apiext.base.meta.objectmeta.validation import NameRule

NAMESPACE_FINALIZER: Final = "kubernetes"
"""The finalizer in spec.finalizers of namespaces. It stays until everything in the namespace is deleted."""
STANDARD_FINALIZERS: Final = frozenset({NAMESPACE_FINALIZER, validation.FINALIZER_ORPHAN, validation.FINALIZER_FOREGROUND})
_FINALIZERS: Final = field.Path("metadata", "finalizers")


def core_metadata_errors(metadata: Object, *, namespaced: bool, name_rule: NameRule) -> list[FieldError]:
    """Return the errors of metadata. Finalizers must be qualified names."""
    problems = validation.validate(metadata, namespaced=namespaced, name_rule=name_rule)
    return problems + finalizer_errors(metadata)


def finalizer_errors(metadata: Object) -> list[FieldError]:
    """Return an error for each finalizer that is neither a standard one nor a qualified name."""
    finalizers = enumerate(metadata.get("finalizers", ()))
    return [error for index, name in finalizers for error in unqualified_finalizer(name, _FINALIZERS.index(index))]


def unqualified_finalizer(name: str, path: Path) -> list[FieldError]:
    """Return an error if a finalizer is neither a standard one nor a qualified name."""
    if "/" in name or name in STANDARD_FINALIZERS:
        return []
    return [field.invalid(path, name, "name is neither a standard finalizer name nor is it fully qualified")]


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
