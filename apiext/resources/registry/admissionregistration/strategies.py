"""The strategies of webhook configurations, policies and bindings (kubernetes pkg/registry/admissionregistration).

Bindings: kubernetes pkg/apis/admissionregistration/validation/validation.go.
"""

from __future__ import annotations

from copy import copy
from typing import TYPE_CHECKING, Final, Self

from apiext.base.meta import field, names
from apiext.base.meta.encoding import json_values
from apiext.base.meta.golang.formatting import quote, trim_space
from apiext.base.meta.jsonpath.paths import PathError, compile_path
from apiext.base.meta.objectmeta import conditions, validation
from apiext.resources.registry.admissionregistration.policies import mutating_policy_errors, validating_policy_errors
from apiext.resources.registry.admissionregistration.rules import excluded_rule_warnings, match_resources_errors, mutable_operation_errors
from apiext.resources.registry.admissionregistration.webhooks import webhook_configuration_errors
from apiext.resources.registry.builtin.kind import OwnStatus, StatusOnly
from apiext.resources.registry.builtin.shared_rules import label_selector_errors
from apiext.resources.registry.registration_gates import DEFAULT_GATES, RegistrationGates
from apiext.resources.registry.strategy import Strategy

if TYPE_CHECKING:
    from collections.abc import Sequence

    from apiext.base.meta.encoding.json_codec import Object
    from apiext.base.meta.field import FieldError, Path
    from apiext.resources.registry.request_context import RequestContext

STATIC_SUFFIX: Final = ".static.k8s.io"
"""The end of the names of configurations in files."""
_STATUS: Final = field.Path("status")

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


class RegistrationStrategy(Strategy):
    """Counts generations of the content. Names of configurations in files are reserved."""

    distinct_errors = True
    content: str
    """The member whose changes count."""
    gates: RegistrationGates = DEFAULT_GATES

    def gated(self, gates: RegistrationGates) -> Self:
        """Return the strategy under other feature gates."""
        made = copy(self)
        made.gates = gates
        return made

    def prepare_for_create(self, ctx: RequestContext, obj: Object) -> None:
        """Begin the generation."""
        obj["metadata"]["generation"] = 1

    def prepare_for_update(self, ctx: RequestContext, obj: Object, old: Object) -> None:
        """Count the generation of a changed content."""
        if not json_values.equal(obj.get(self.content), old.get(self.content)):
            obj["metadata"]["generation"] = old["metadata"].get("generation", 0) + 1

    def validate(self, ctx: RequestContext, obj: Object) -> list[FieldError]:
        """Validate the object and its name."""
        problems = self.errors(obj, None)
        if self.gates.reserves_names and _is_reserved(obj):
            problems.append(field.invalid(field.Path("metadata", "name"), obj["metadata"]["name"], _reserved()))
        return problems

    def warnings_on_create(self, ctx: RequestContext, obj: Object) -> list[str]:
        """Warn about a name that is reserved for files, where it is allowed."""
        return [] if self.gates.reserves_names else _name_warnings(obj)

    def validate_update(self, ctx: RequestContext, obj: Object, old: Object, metadata_errors: Sequence[FieldError]) -> list[FieldError]:
        """Validate the object. The old one may excuse some errors."""
        return self.errors(obj, old)

    def warnings_on_update(self, ctx: RequestContext, obj: Object, old: Object) -> list[str]:
        """Warn about a name that is reserved for files."""
        return _name_warnings(obj)

    def errors(self, obj: Object, old: Object | None) -> list[FieldError]:
        """Return the errors of an object and of its metadata."""
        raise NotImplementedError


def _is_reserved(obj: Object) -> bool:
    name: str = obj["metadata"].get("name", "")
    return name.endswith(STATIC_SUFFIX)


def _name_warnings(obj: Object) -> list[str]:
    return [f"metadata.name: {_reserved()}"] if _is_reserved(obj) else []


def _reserved() -> str:
    return (
        f"names ending with {quote(STATIC_SUFFIX)} are reserved for static manifest-based configurations and cannot be managed via the API"
    )


class WebhookConfigurationStrategy(RegistrationStrategy):
    """Webhook configurations of both kinds."""

    content = "webhooks"

    def errors(self, obj: Object, old: Object | None) -> list[FieldError]:
        """Return the errors of a configuration."""
        return webhook_configuration_errors(obj, old)

    def warnings_on_create(self, ctx: RequestContext, obj: Object) -> list[str]:
        """Warn about a reserved name, and about rules without effect."""
        return super().warnings_on_create(ctx, obj) + self._rule_warnings(obj)

    def warnings_on_update(self, ctx: RequestContext, obj: Object, old: Object) -> list[str]:
        """Warn about a reserved name, and about rules without effect."""
        return super().warnings_on_update(ctx, obj, old) + self._rule_warnings(obj)

    def _rule_warnings(self, configuration: Object) -> list[str]:
        return excluded_rule_warnings(configuration) if self.gates.excludes_reviews else []


class MutatingPolicyStrategy(RegistrationStrategy):
    """MutatingAdmissionPolicies."""

    content = "spec"

    def errors(self, obj: Object, old: Object | None) -> list[FieldError]:
        """Return the errors of a policy."""
        return mutating_policy_errors(obj, old)


class ValidatingPolicyStrategy(OwnStatus, RegistrationStrategy):
    """ValidatingAdmissionPolicies, whose status a controller writes."""

    content = "spec"

    def errors(self, obj: Object, old: Object | None) -> list[FieldError]:
        """Return the errors of a policy."""
        return validating_policy_errors(obj, old)


class ValidatingPolicyStatusStrategy(StatusOnly, ValidatingPolicyStrategy):
    """Strategy of the status subresource: keeps the spec and most of the metadata."""

    def validate_update(self, ctx: RequestContext, obj: Object, old: Object, metadata_errors: Sequence[FieldError]) -> list[FieldError]:
        """Validate the warnings and conditions."""
        status = obj["status"]
        warnings = status.get("typeChecking", {}).get("expressionWarnings", ())
        path = _STATUS.child("typeChecking", "expressionWarnings")
        problems = [error for index, one in enumerate(warnings) for error in _expression_warning_errors(one, path.index(index))]
        return problems + conditions.condition_errors(status.get("conditions", ()), _STATUS.child("conditions"))


def _expression_warning_errors(warning: Object, path: field.Path) -> list[FieldError]:
    problems = [] if warning["warning"] else [field.required(path.child("warning"))]
    reference, path = trim_space(warning["fieldRef"]), path.child("fieldRef")
    if not reference:
        return [*problems, field.required(path)]
    try:
        compile_path(reference)
    except PathError as error:
        problems.append(field.invalid(path, reference, f"invalid JSONPath: {error}"))
    return problems


class ValidatingBindingStrategy(RegistrationStrategy):
    """ValidatingAdmissionPolicyBindings."""

    content = "spec"

    def errors(self, obj: Object, old: Object | None) -> list[FieldError]:
        """Return the errors of a binding."""
        return validating_binding_errors(obj)


class MutatingBindingStrategy(RegistrationStrategy):
    """MutatingAdmissionPolicyBindings."""

    content = "spec"

    def errors(self, obj: Object, old: Object | None) -> list[FieldError]:
        """Return the errors of a binding."""
        return mutating_binding_errors(obj)
