"""The strategies of webhook configurations, policies and bindings (kubernetes pkg/registry/admissionregistration).

Bindings: kubernetes pkg/apis/admissionregistration/validation/validation.go.
"""

from __future__ import annotations

import re
from copy import copy
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, Self

from apiext.base.meta import field, names
from apiext.base.meta.encoding import json_codec, json_values
from apiext.base.meta.golang.formatting import quote, trim_space
from apiext.base.meta.jsonpath.paths import PathError, compile_path
from apiext.base.meta.objectmeta import conditions, validation
from apiext.resources.registry.admissionregistration.expressions import ExpressionChecks, PlacedExpression, match_condition_errors
from apiext.resources.registry.admissionregistration.rules import (
    excluded_rule_warnings,
    match_resources_errors,
    mutable_operation_errors,
    unsupported,
)
from apiext.resources.registry.admissionregistration.webhooks import FAILURE_POLICIES, REINVOCATION_POLICIES, webhook_configuration_errors
from apiext.resources.registry.builtin.kind import OwnStatus, StatusOnly
from apiext.resources.registry.builtin.shared_rules import label_selector_errors
from apiext.resources.registry.registration_gates import DEFAULT_GATES, RegistrationGates
from apiext.resources.registry.strategy import Strategy

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from apiext.base.meta.encoding.json_codec import Object
    from apiext.base.meta.field import FieldError, Path
    from apiext.resources.registry.request_context import RequestContext


_REASONS: Final = ("Forbidden", "Invalid", "RequestEntityTooLarge")
_PATCH_TYPES: Final = ("ApplyConfiguration", "JSONPatch")
_MAX_ANNOTATIONS: Final = 20
_MAX_ANNOTATION_BYTES: Final = 5 * 1024
_NOTHING: Final = "validations or auditAnnotations must contain at least one item"
_NEWLINES: Final = re.compile(r"[\n\r]")
_IDENTIFIER: Final = re.compile("[_a-zA-Z][_a-zA-Z0-9]*", re.ASCII)
_RESERVED: Final = frozenset(
    {
        *("true", "false", "null", "in", "as", "break", "const", "continue", "else", "for", "function", "if", "import", "let"),
        *("loop", "package", "namespace", "return", "var", "void", "while"),
    }
)


@dataclass(frozen=True, slots=True)
class _Stored:
    """The expressions of the stored policy, by their use."""

    conditions: frozenset[str] = frozenset()
    validations: frozenset[str] = frozenset()
    messages: frozenset[str] = frozenset()
    annotations: frozenset[str] = frozenset()
    configurations: frozenset[str] = frozenset()


_NEW: Final = _Stored()


def validating_policy_errors(policy: Object, old: Object | None = None) -> list[FieldError]:
    """Return the errors of a new ValidatingAdmissionPolicy, or of an update of an old one."""
    spec, stored = policy["spec"], _NEW if old is None else _stored_in(old["spec"])
    problems = _policy_errors(policy, old, stored)
    variables, annotations = spec.get("variables", ()), spec.get("auditAnnotations", ())
    expressions = ExpressionChecks(params="paramKind" in spec, composed=bool(variables))
    problems += _variable_errors(variables, expressions, stored)
    validations = spec.get("validations", ())
    if not validations and not annotations:
        return [*problems, *(field.required(_SPEC.child(name), _NOTHING) for name in ("validations", "auditAnnotations"))]
    for index, one in enumerate(validations):
        problems += _validation_errors(one, expressions, stored, _SPEC.child("validations").index(index))
    return problems + _annotation_errors(annotations, policy["metadata"].get("name", ""), expressions, stored)


def mutating_policy_errors(policy: Object, old: Object | None = None) -> list[FieldError]:
    """Return the errors of a new MutatingAdmissionPolicy, or of an update of an old one."""
    spec, stored = policy["spec"], _NEW if old is None else _stored_in(old["spec"])
    problems = _policy_errors(policy, old, stored)
    problems += mutable_operation_errors(spec.get("matchConstraints"), _SPEC.child("matchConstraints"))
    expressions = ExpressionChecks(params="paramKind" in spec, composed=True)
    problems += _variable_errors(spec.get("variables", ()), expressions, _NEW)
    mutations = spec.get("mutations", ())
    if not mutations:
        problems.append(field.required(_SPEC.child("mutations"), "mutations must contain at least one item"))
    for index, mutation in enumerate(mutations):
        problems += _mutation_errors(mutation, expressions, stored, _SPEC.child("mutations").index(index))
    reinvocation, path = spec.get("reinvocationPolicy", ""), _SPEC.child("reinvocationPolicy")
    return problems + (unsupported(reinvocation, REINVOCATION_POLICIES, path) if reinvocation else [field.required(path)])


def _stored_in(spec: Object) -> _Stored:
    validations, mutations = spec.get("validations", ()), spec.get("mutations", ())
    return _Stored(
        conditions=_texts(spec.get("matchConditions", ()), "expression"),
        validations=_texts(validations, "expression"),
        messages=_texts(validations, "messageExpression"),
        annotations=_texts(spec.get("auditAnnotations", ()), "valueExpression"),
        configurations=_texts((one["applyConfiguration"] for one in mutations if "applyConfiguration" in one), "expression"),
    )


def _texts(owners: Iterable[Object], name: str) -> frozenset[str]:
    return frozenset(owner.get(name, "") for owner in owners)


def _policy_errors(policy: Object, old: Object | None, stored: _Stored) -> list[FieldError]:
    spec = policy["spec"]
    problems = validation.validate(policy["metadata"], namespaced=False, name_rule=names.name_is_dns_subdomain)
    problems += unsupported(spec["failurePolicy"], FAILURE_POLICIES, _SPEC.child("failurePolicy"))
    if "paramKind" in spec:
        problems += _param_kind_errors(spec["paramKind"], _SPEC.child("paramKind"))
    constraints, path = spec.get("matchConstraints"), _SPEC.child("matchConstraints")
    if constraints is None:
        problems.append(field.required(path))
    else:
        problems += match_resources_errors(constraints, path)
        if not constraints.get("resourceRules"):
            problems.append(field.required(path.child("resourceRules")))
    if old is None or any(not json_values.equal(spec.get(one), old["spec"].get(one)) for one in ("paramKind", "matchConditions")):
        conditions, path = spec.get("matchConditions", ()), _SPEC.child("matchConditions")
        problems += match_condition_errors(conditions, path, stored=stored.conditions, params="paramKind" in spec)
    return problems


def _param_kind_errors(kind: Object, path: Path) -> list[FieldError]:
    problems, version, name = [], kind.get("apiVersion", ""), kind.get("kind", "")
    if not version:
        problems.append(field.required(path.child("apiVersion")))
    elif version.count("/") > 1:
        problems.append(field.invalid(path.child("apiVersion"), version, f"unexpected GroupVersion string: {version}"))
    else:
        problems += _group_version_errors(version, path.child("apiVersion"))
    if not name:
        problems.append(field.required(path.child("kind")))
    elif messages := names.dns1035_label(name.lower()):
        detail = f"may have mixed case, but should otherwise match: {','.join(messages)}"
        problems.append(field.invalid(path.child("kind"), name, detail))
    return problems


def _group_version_errors(api_version: str, path: Path) -> list[FieldError]:
    group, _, version = api_version.rpartition("/")
    problems = []
    if group and (messages := names.dns1123_subdomain(group)):
        problems.append(field.invalid(path, group, ",".join(messages)))
    if not version:
        problems.append(field.invalid(path, api_version, "version must be specified"))
    elif messages := names.dns1035_label(version):
        problems.append(field.invalid(path, version, ",".join(messages)))
    return problems


def _variable_errors(variables: Iterable[Object], expressions: ExpressionChecks, stored: _Stored) -> list[FieldError]:
    problems: list[FieldError] = []
    for index, variable in enumerate(variables):
        name, source, path = variable["name"], variable["expression"], _SPEC.child("variables").index(index)
        if not trim_space(name):
            problems.append(field.required(path.child("name"), "name is not specified"))
        elif not _IDENTIFIER.fullmatch(name) or name in _RESERVED:
            problems.append(field.invalid(path.child("name"), name, "must be a valid CEL identifier"))
        if trim_space(source):
            problems += expressions.variable(name, PlacedExpression(source, path.child("expression"), source in stored.validations))
        else:
            problems.append(field.required(path.child("expression"), "expression is not specified"))
    return problems


def _validation_errors(one: Object, expressions: ExpressionChecks, stored: _Stored, path: Path) -> list[FieldError]:
    source, found, text = one["expression"], one.get("messageExpression", ""), one.get("message", "")
    problems = []
    if trim_space(source):
        problems += expressions.condition(PlacedExpression(source, path.child("expression"), source in stored.validations))
    else:
        problems.append(field.required(path.child("expression"), "expression is not specified"))
    if trim_space(found):
        problems += expressions.message(PlacedExpression(found, path.child("messageExpression"), found in stored.messages))
    elif found:
        problems.append(field.invalid(path.child("messageExpression"), found, "must be non-empty if specified"))
    if text and not trim_space(text):
        problems.append(field.invalid(path.child("message"), text, "must be non-empty if specified"))
    elif _NEWLINES.search(trim_space(text)):
        problems.append(field.invalid(path.child("message"), text, "must not contain line breaks"))
    return problems + (unsupported(one["reason"], _REASONS, path.child("reason")) if "reason" in one else [])


def _annotation_errors(annotations: list[Object], policy: str, expressions: ExpressionChecks, stored: _Stored) -> list[FieldError]:
    problems: list[FieldError] = []
    path = _SPEC.child("auditAnnotations")
    if len(annotations) > _MAX_ANNOTATIONS:
        shown = [{"Key": one["key"], "ValueExpression": one["valueExpression"]} for one in annotations]
        detail = f"must not have more than {_MAX_ANNOTATIONS} auditAnnotations"
        problems.append(field.invalid(path, field.Printed(json_codec.dumps(shown).decode()), detail))
    known: set[str] = set()
    for index, annotation in enumerate(annotations):
        key, where = annotation["key"], path.index(index).child("key")
        if policy:
            problems += [field.invalid(where, f"{policy}/{key}", message) for message in names.label_key(f"{policy}/{key}")]
        else:
            problems.append(field.invalid(where, key, "requires metadata.name be non-empty"))
        problems += _annotation_value_errors(annotation["valueExpression"], expressions, stored, path.index(index).child("valueExpression"))
        if key in known:
            problems.append(field.duplicate(where, key))
        known.add(key)
    return problems


def _annotation_value_errors(found: str, expressions: ExpressionChecks, stored: _Stored, path: Path) -> list[FieldError]:
    source = trim_space(found)
    if not source:
        return [field.required(path, "valueExpression is not specified")]
    if names.size(source) > _MAX_ANNOTATION_BYTES:
        return [field.required(path, f"must not exceed {_MAX_ANNOTATION_BYTES} bytes in length")]
    return expressions.annotation(PlacedExpression(source, path, found in stored.annotations, shown=found))


def _mutation_errors(mutation: Object, expressions: ExpressionChecks, stored: _Stored, path: Path) -> list[FieldError]:
    kind = mutation["patchType"]
    if not kind:
        return [field.required(path.child("patchType"))]
    if kind not in _PATCH_TYPES:
        return unsupported(kind, _PATCH_TYPES, path.child("patchType"))
    needed, other = ("jsonPatch", "applyConfiguration") if kind == "JSONPatch" else ("applyConfiguration", "jsonPatch")
    problems = []
    if needed in mutation:
        found, where = mutation[needed].get("expression", ""), path.child(needed, "expression")
        check = expressions.json_patch if needed == "jsonPatch" else expressions.apply_configuration
        # the reference compares expressions of both types with stored apply configurations
        expression = PlacedExpression(trim_space(found), where, found in stored.configurations)
        problems += check(expression) if expression.source else [field.required(where)]
    else:
        problems.append(field.required(path.child(needed), f"must be specified when patchType is {kind}"))
    if other in mutation:
        problems.append(field.invalid(path.child(other), f"{{{other}}}", f"must not be specified when patchType is {kind}"))
    return problems


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
