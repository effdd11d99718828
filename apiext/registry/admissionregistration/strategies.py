"""The strategies of webhook configurations, policies and bindings (kubernetes pkg/registry/admissionregistration)."""

from __future__ import annotations

from copy import copy
from typing import TYPE_CHECKING, Final, Self

from apiext.meta import field
from apiext.meta.encoding import json_values
from apiext.meta.golang.formatting import quote, trim_space
from apiext.meta.jsonpath.paths import PathError, compile_path
from apiext.meta.objectmeta import conditions
from apiext.registry.admissionregistration.bindings import mutating_binding_errors, validating_binding_errors
from apiext.registry.admissionregistration.policies import mutating_policy_errors, validating_policy_errors
from apiext.registry.admissionregistration.rules import excluded_rule_warnings
from apiext.registry.admissionregistration.webhooks import webhook_configuration_errors
from apiext.registry.metadata import keep_for_status
from apiext.registry.registration_gates import DEFAULT_GATES, RegistrationGates
from apiext.registry.strategy import Strategy

if TYPE_CHECKING:
    from collections.abc import Sequence

    from apiext.meta.encoding.json_codec import Object
    from apiext.meta.field import FieldError
    from apiext.registry.request_context import RequestContext

STATIC_SUFFIX: Final = ".static.k8s.io"
"""The end of the names of configurations in files."""
_STATUS: Final = field.Path("status")


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


class ValidatingPolicyStrategy(RegistrationStrategy):
    """ValidatingAdmissionPolicies, whose status a controller writes."""

    content = "spec"

    def prepare_for_create(self, ctx: RequestContext, obj: Object) -> None:
        """Drop the status, and begin the generation."""
        obj["status"] = {}
        super().prepare_for_create(ctx, obj)

    def prepare_for_update(self, ctx: RequestContext, obj: Object, old: Object) -> None:
        """Keep the old status, and count the generation of a changed spec."""
        obj["status"] = old["status"]
        super().prepare_for_update(ctx, obj, old)

    def errors(self, obj: Object, old: Object | None) -> list[FieldError]:
        """Return the errors of a policy."""
        return validating_policy_errors(obj, old)


class ValidatingPolicyStatusStrategy(ValidatingPolicyStrategy):
    """Strategy of the status subresource: keeps the spec and most of the metadata."""

    def prepare_for_update(self, ctx: RequestContext, obj: Object, old: Object) -> None:
        """Keep the old spec, labels, annotations, owners and finalizers."""
        obj["spec"] = old["spec"]
        keep_for_status(obj["metadata"], old["metadata"])

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
