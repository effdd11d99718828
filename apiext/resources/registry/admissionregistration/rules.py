"""Validation of rules and of what policies match.

Mirrors the functions about rules of kubernetes pkg/apis/admissionregistration/validation/validation.go, and warnings.go.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from apiext.base.meta import field, names
from apiext.resources.registry.builtin.shared_rules import label_selector_errors

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from apiext.base.meta.encoding.json_codec import Object
    from apiext.base.meta.field import FieldError, Path

_ANY: Final = "*"
_SCOPES: Final = ("*", "Cluster", "Namespaced")
_OPERATIONS: Final = ("*", "CONNECT", "CREATE", "DELETE", "UPDATE")
_MUTATING_OPERATIONS: Final = ("*", "CONNECT", "CREATE", "UPDATE")
MATCH_POLICIES: Final = ("Equivalent", "Exact")
_EXCLUDED: Final = frozenset(
    {
        *(("authentication.k8s.io", one) for one in ("selfsubjectreviews", "tokenreviews")),
        *(
            ("authorization.k8s.io", one)
            for one in ("localsubjectaccessreviews", "selfsubjectaccessreviews", "selfsubjectrulesreviews", "subjectaccessreviews")
        ),
    }
)
"""Resources that no webhook sees (kubernetes pkg/kubeapiserver/admission/exclusion)."""


def match_resources_errors(matched: Object | None, path: Path) -> list[FieldError]:
    """Return the errors of a policy's constraints, or of the resources of a binding."""
    if matched is None:
        return []
    problems = unsupported(matched["matchPolicy"], MATCH_POLICIES, path.child("matchPolicy"))
    for name in ("namespaceSelector", "objectSelector"):
        problems += label_selector_errors(matched[name], path.child(name))
    for name in ("resourceRules", "excludeResourceRules"):
        for index, rule in enumerate(matched.get(name, ())):
            problems += _named_rule_errors(rule, path.child(name).index(index))
    return problems


def mutable_operation_errors(matched: Object | None, path: Path) -> list[FieldError]:
    """Return the errors of operations that no mutation applies to."""
    path = path.child("resourceRules", "operations")
    operations = [operation for rule in (matched or {}).get("resourceRules", ()) for operation in rule.get("operations", ())]
    return [error for operation in operations for error in unsupported(operation, _MUTATING_OPERATIONS, path)]


def unsupported(value: str, supported: Sequence[str], path: Path) -> list[FieldError]:
    """Return an error if a value of a named type is not one of the supported ones, which are sorted."""
    return [] if value in supported else [field.not_supported(path, field.typed_text(value), supported)]


def _named_rule_errors(rule: Object, path: Path) -> list[FieldError]:
    problems: list[FieldError] = []
    known: set[str] = set()
    for index, name in enumerate(rule.get("resourceNames", ())):
        where = path.child("resourceNames").index(index)
        problems += [field.invalid(where, name, message) for message in names.path_segment(name)]
        if name in known:
            problems.append(field.duplicate(where, name))
        known.add(name)
    return problems + rule_errors(rule, path)


def rule_errors(rule: Object, path: Path) -> list[FieldError]:
    """Return the errors of a rule with its operations."""
    problems = _operation_errors(rule.get("operations", ()), path.child("operations"))
    problems += _wildcard_errors(rule.get("apiGroups", ()), path.child("apiGroups"), "API groups")
    versions = rule.get("apiVersions", ())
    problems += _wildcard_errors(versions, path.child("apiVersions"), "API versions")
    problems += [field.required(path.child("apiVersions").index(index)) for index, version in enumerate(versions) if not version]
    problems += _resource_errors(rule.get("resources", ()), path.child("resources"))
    return problems + unsupported(rule["scope"], _SCOPES, path.child("scope"))


def _operation_errors(operations: Sequence[str], path: Path) -> list[FieldError]:
    problems = _wildcard_errors(operations, path, "operations")
    for index, operation in enumerate(operations):
        problems += unsupported(operation, _OPERATIONS, path.index(index))
    return problems


def _wildcard_errors(values: Sequence[str], path: Path, noun: str) -> list[FieldError]:
    if not values:
        return [field.required(path)]
    if len(values) > 1 and _ANY in values:
        return [field.invalid(path, values, f"if '*' is present, must not specify other {noun}")]
    return []


def _resource_errors(resources: Sequence[str], path: Path) -> list[FieldError]:
    problems = [] if resources else [field.required(path)]
    whole: set[str] = set()
    everywhere: set[str] = set()
    has_plain = False
    for index, resource in enumerate(resources):
        if not resource:
            problems.append(field.required(path.index(index)))
            continue
        name, slash, subresource = resource.partition("/")
        if not slash:
            # the last one without a subresource decides
            has_plain = resource != _ANY
            continue
        if name in whole:
            problems.append(field.invalid(path.index(index), resource, f"if '{name}/*' is present, must not specify {resource}"))
        if subresource in everywhere:
            problems.append(field.invalid(path.index(index), resource, f"if '*/{subresource}' is present, must not specify {resource}"))
        if subresource == _ANY:
            whole.add(name)
        if name == _ANY:
            everywhere.add(subresource)
    if len(resources) > 1 and "*/*" in resources:
        problems.append(field.invalid(path, resources, "if '*/*' is present, must not specify other resources"))
    if _ANY in resources and has_plain:
        detail = "if '*' is present, must not specify other resources without subresources"
        problems.append(field.invalid(path, resources, detail))
    return problems


def excluded_rule_warnings(configuration: Object) -> list[str]:
    """Return a warning for each resource that a rule of a webhook configuration names and no webhook sees."""
    path = field.Path("webhooks")
    return [
        f"{path.index(number).child('rules').index(index)}: {resource}.{group} is excluded from admission webhooks; "
        "this rule will have no effect"
        for number, webhook in enumerate(configuration.get("webhooks", ()))
        for index, rule in enumerate(webhook.get("rules", ()))
        for group, resource in _excluded_resources(rule)
    ]


def _excluded_resources(rule: Object) -> Iterable[tuple[str, str]]:
    groups, resources = rule.get("apiGroups", ()), rule.get("resources", ())
    if _ANY in groups or _ANY in resources:
        return ()
    named = dict.fromkeys(groups), dict.fromkeys(resources)
    known_groups = [group for group in named[0] if any(group == one for one, _ in _EXCLUDED)]
    return [(group, resource) for group in known_groups for resource in named[1] if (group, resource) in _EXCLUDED]
