"""Validation of access reviews (kubernetes pkg/apis/authorization/validation)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from apiext.base.meta import field, names
from apiext.base.meta.encoding import json_codec

if TYPE_CHECKING:
    from collections.abc import Callable

    from apiext.base.meta.encoding.json_codec import Object
    from apiext.base.meta.field import FieldError, Path

_SPEC: Final = field.Path("spec")
_RESOURCE: Final = _SPEC.child("resourceAttributes")
_NON_RESOURCE: Final = _SPEC.child("nonResourceAttributes")
_METADATA: Final = field.Path("metadata")
_ONE_OF: Final = "exactly one of nonResourceAttributes or resourceAttributes must be specified"
_WITH_VALUES: Final = ("In", "NotIn")
_WITHOUT_VALUES: Final = ("Exists", "DoesNotExist")


def validate_self(review: Object) -> list[FieldError]:
    """Return the errors of a SelfSubjectAccessReview."""
    return [*_attributes(review["spec"]), *_empty_metadata(review, "must be empty")]


def validate(review: Object) -> list[FieldError]:
    """Return the errors of a SubjectAccessReview."""
    return [*_spec(review["spec"]), *_empty_metadata(review, "must be empty")]


def validate_local(review: Object) -> list[FieldError]:
    """Return the errors of a LocalSubjectAccessReview."""
    spec, namespace = review["spec"], review["metadata"].get("namespace", "")
    problems = [*_spec(spec), *_empty_metadata(review, "must be empty except for namespace", "namespace")]
    resource, other = spec.get("resourceAttributes"), spec.get("nonResourceAttributes")
    if resource is not None and resource.get("namespace", "") != namespace:
        problems.append(field.invalid(_RESOURCE.child("namespace"), resource.get("namespace", ""), "must match metadata.namespace"))
    if other is not None:
        problems.append(field.invalid(_NON_RESOURCE, _shown(other), "disallowed on this kind of request"))
    return problems


def _spec(spec: Object) -> list[FieldError]:
    problems = _one_of(spec)
    if not spec.get("user") and not spec.get("groups"):
        problems.append(field.invalid(_SPEC.child("user"), spec.get("user", ""), "at least one of user or group must be specified"))
    return problems + _selectors(spec)


def _attributes(spec: Object) -> list[FieldError]:
    return _one_of(spec) + _selectors(spec)


def _one_of(spec: Object) -> list[FieldError]:
    other = spec.get("nonResourceAttributes")
    if (spec.get("resourceAttributes") is None) == (other is None):
        return [field.invalid(_SPEC, _shown(other), _ONE_OF)]
    return []


def _shown(non_resource: Object | None) -> field.Printed:
    """Print attributes with the names of the internal Go type."""
    if non_resource is None:
        return field.Printed("null")
    members = {"Path": non_resource.get("path", ""), "Verb": non_resource.get("verb", "")}
    return field.Printed(json_codec.dumps(members, sort_keys=False).decode())


def _empty_metadata(review: Object, detail: str, *allowed: str) -> list[FieldError]:
    metadata = review["metadata"]
    if not metadata.keys() - {"managedFields", *allowed}:
        return []
    return [field.invalid(_METADATA, field.Printed(json_codec.dumps(metadata, sort_keys=False).decode()), detail)]


def _selectors(spec: Object) -> list[FieldError]:
    resource = spec.get("resourceAttributes") or {}
    return [
        *_selector_errors(resource.get("fieldSelector"), _RESOURCE.child("fieldSelector"), _field_requirement),
        *_selector_errors(resource.get("labelSelector"), _RESOURCE.child("labelSelector"), _label_requirement),
    ]


def _selector_errors(selector: Object | None, path: Path, check: Callable[[Object, Path], list[FieldError]]) -> list[FieldError]:
    if selector is None:
        return []
    raw, requirements = selector.get("rawSelector", ""), selector.get("requirements") or []
    problems = []
    if raw and requirements:
        problems.append(field.invalid(path.child("rawSelector"), raw, "may not specified at the same time as requirements"))
    if not raw and not requirements:
        detail = f"when {path} is specified, requirements or rawSelector is required"
        problems.append(field.required(path.child("requirements"), detail))
    for index, requirement in enumerate(requirements):
        problems += check(requirement, path.child("requirements").index(index))
    return problems


def _field_requirement(requirement: Object, path: Path) -> list[FieldError]:
    missing = [] if requirement["key"] else [field.required(path.child("key"), "must be specified")]
    return missing + _values(requirement, path)


def _label_requirement(requirement: Object, path: Path) -> list[FieldError]:
    problems = _values(requirement, path)
    problems += [field.invalid(path.child("key"), requirement["key"], wrong) for wrong in names.label_key(requirement["key"])]
    for index, value in enumerate(requirement.get("values") or ()):
        problems += [field.invalid(path.child("values").index(index), value, wrong) for wrong in names.label_value(value)]
    return problems


def _values(requirement: Object, path: Path) -> list[FieldError]:
    operator, values = requirement["operator"], requirement.get("values")
    if operator in _WITH_VALUES and not values:
        return [field.required(path.child("values"), "must be specified when `operator` is 'In' or 'NotIn'")]
    if operator in _WITHOUT_VALUES and values:
        return [field.forbidden(path.child("values"), "may not be specified when `operator` is 'Exists' or 'DoesNotExist'")]
    return []
