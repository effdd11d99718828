"""Validation of bindings (kubernetes pkg/apis/admissionregistration/validation/validation.go)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from apiext.meta import field, names
from apiext.meta.objectmeta import validation
from apiext.registry.admissionregistration.rules import match_resources_errors, mutable_operation_errors
from apiext.registry.builtin.label_selector import label_selector_errors

if TYPE_CHECKING:
    from collections.abc import Sequence

    from apiext.meta.encoding.json_codec import Object
    from apiext.meta.field import FieldError, Path

_SPEC: Final = field.Path("spec")
_ACTIONS: Final = ("Audit", "Deny", "Warn")
_NOT_FOUND_ACTIONS: Final = ("Deny", "Allow")
_EXCLUSIVE: Final = "name and selector are mutually exclusive"
_REPEATED: Final = (
    "must not contain both Deny and Warn (repeating the same validation failure information in the API response and headers "
    "serves no purpose)"
)


def validating_binding_errors(binding: Object) -> list[FieldError]:
    """Return the errors of a ValidatingAdmissionPolicyBinding."""
    return _common_errors(binding) + _action_errors(binding["spec"].get("validationActions", ()), _SPEC.child("validationActions"))


def mutating_binding_errors(binding: Object) -> list[FieldError]:
    """Return the errors of a MutatingAdmissionPolicyBinding."""
    matched = binding["spec"].get("matchResources")
    return _common_errors(binding) + mutable_operation_errors(matched, _SPEC.child("matchResources"))


def _common_errors(binding: Object) -> list[FieldError]:
    spec = binding["spec"]
    problems = validation.validate(binding["metadata"], namespaced=False, name_rule=names.name_is_dns_subdomain)
    policy, path = spec.get("policyName", ""), _SPEC.child("policyName")
    if policy:
        problems += [field.invalid(path, policy, message) for message in names.name_is_dns_subdomain(policy)]
    else:
        problems.append(field.required(path))
    if "paramRef" in spec:
        problems += _param_ref_errors(spec["paramRef"], _SPEC.child("paramRef"))
    return problems + match_resources_errors(spec.get("matchResources"), _SPEC.child("matchResources"))


def _param_ref_errors(reference: Object, path: Path) -> list[FieldError]:
    name, selector, problems = reference.get("name", ""), reference.get("selector"), []
    if name:
        problems += [field.invalid(path.child("name"), name, message) for message in names.path_segment(name)]
    if selector is not None:
        problems += label_selector_errors(selector, path.child("selector"))
    if name and selector is not None:
        problems += [field.forbidden(path.child(one), _EXCLUSIVE) for one in ("name", "selector")]
    if not name and selector is None:
        problems.append(field.required(path, "one of name or selector must be specified"))
    action, path = reference.get("parameterNotFoundAction", ""), path.child("parameterNotFoundAction")
    if not action:
        problems.append(field.required(path))
    elif action not in _NOT_FOUND_ACTIONS:
        problems.append(field.not_supported(path, field.typed_text(action), _NOT_FOUND_ACTIONS))
    return problems


def _action_errors(actions: Sequence[str], path: Path) -> list[FieldError]:
    problems: list[FieldError] = []
    known: set[str] = set()
    for index, action in enumerate(actions):
        if action not in _ACTIONS:
            problems.append(field.not_supported(path.index(index), field.typed_text(action), _ACTIONS))
        if action in known:
            problems.append(field.duplicate(path.index(index), field.typed_text(action)))
        known.add(action)
    if {"Deny", "Warn"} <= known:
        problems.append(field.invalid(path, actions, _REPEATED))
    if not known:
        problems.append(field.required(path))
    return problems
