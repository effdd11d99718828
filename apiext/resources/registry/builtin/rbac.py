"""rbac.authorization.k8s.io/v1 Roles, ClusterRoles and their bindings for standalone use.

A controller of kube-controller-manager, not the API server, fills the rules of a ClusterRole with an aggregationRule.
Mirrors k8s.io/api/rbac/v1, and of kubernetes pkg/registry/rbac and pkg/apis/rbac.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from apiext.base.meta import field, names
from apiext.base.meta.builtin_resources import CLUSTER_ROLE_BINDINGS, CLUSTER_ROLES, ROLE_BINDINGS, ROLES
from apiext.base.meta.encoding import json_codec
from apiext.resources.registry.builtin.defaulting import StructDefaults
from apiext.resources.registry.builtin.shared_rules import core_metadata_errors, label_selector_errors
from apiext.resources.registry.strategy import Strategy

if TYPE_CHECKING:
    from collections.abc import Sequence

    from apiext.base.meta.encoding.json_codec import Object
    from apiext.base.meta.field import FieldError, Path
    from apiext.resources.registry.request_context import RequestContext

GROUP: Final = ROLES.kind.group
SERVICE_ACCOUNT: Final = "ServiceAccount"
USER: Final = "User"
GROUP_KIND: Final = "Group"
_SELECTORS: Final = field.Path("aggregationRule", "clusterRoleSelectors")
_ROLE_REF: Final = field.Path("roleRef")


class _RbacStrategy(Strategy):
    """Names are path segments; an update validates the object as a new one."""

    allow_unconditional_update = True
    distinct_errors = True

    def __init__(self, *, namespaced: bool) -> None:
        self._namespaced = namespaced

    def validate(self, ctx: RequestContext, obj: Object) -> list[FieldError]:
        """Validate metadata and the kind's own fields."""
        problems = core_metadata_errors(obj["metadata"], namespaced=self._namespaced, name_rule=names.path_segment)
        return [*problems, *self._errors(obj), *self._required(obj)]

    def validate_update(self, ctx: RequestContext, obj: Object, old: Object, metadata_errors: Sequence[FieldError]) -> list[FieldError]:
        """Validate metadata and the kind's own fields."""
        problems = core_metadata_errors(obj["metadata"], namespaced=self._namespaced, name_rule=names.path_segment)
        return [*problems, *self._errors(obj, old), *metadata_errors, *self._changes(obj, old), *self._required(obj)]

    def _errors(self, obj: Object, old: Object | None = None) -> list[FieldError]:
        """Return the errors of the kind's own fields."""
        raise NotImplementedError

    def _changes(self, obj: Object, old: Object) -> list[FieldError]:
        """Return the errors about fields that must not change."""
        return []

    def _required(self, obj: Object) -> list[FieldError]:
        """Return the errors about missing fields, which the reference reports last."""
        raise NotImplementedError


class RoleStrategy(_RbacStrategy):
    """Rules of a Role apply to resources only."""

    def _errors(self, obj: Object, old: Object | None = None) -> list[FieldError]:
        rules = enumerate(obj["rules"] or ())
        return [error for index, rule in rules for error in _rule_errors(rule, _rule_path(index), namespaced=self._namespaced)]

    def _required(self, obj: Object) -> list[FieldError]:
        return [field.required(_rule_path(index).child("verbs")) for index, rule in enumerate(obj["rules"] or ()) if not rule["verbs"]]


class ClusterRoleStrategy(RoleStrategy):
    """ClusterRoles may have an aggregationRule, which the API server only stores."""

    def _errors(self, obj: Object, old: Object | None = None) -> list[FieldError]:
        problems = super()._errors(obj)
        if (aggregation := obj.get("aggregationRule")) is None:
            return problems
        selectors = aggregation.get("clusterRoleSelectors", ())
        if not selectors:
            problems.append(field.required(_SELECTORS, "at least one clusterRoleSelector required if aggregationRule is non-nil"))
        any_value = old is not None and any(_selector_errors(old))
        for index, selector in enumerate(selectors):
            path = _SELECTORS.index(index)
            problems += label_selector_errors(selector, path, any_value=any_value)
            if label_selector_errors(selector, path):
                problems.append(field.invalid(path, field.Printed("null"), "invalid label selector."))
        return problems


class BindingStrategy(_RbacStrategy):
    """The referenced role never changes."""

    def _errors(self, obj: Object, old: Object | None = None) -> list[FieldError]:
        reference, problems = obj["roleRef"], []
        if reference["apiGroup"] != GROUP:
            problems.append(field.not_supported(_ROLE_REF.child("apiGroup"), reference["apiGroup"], [GROUP]))
        kinds = ["Role", "ClusterRole"] if self._namespaced else ["ClusterRole"]
        if reference["kind"] not in kinds:
            problems.append(field.not_supported(_ROLE_REF.child("kind"), reference["kind"], kinds))
        name = reference["name"]
        problems += [field.invalid(_ROLE_REF.child("name"), name, message) for message in (names.path_segment(name) if name else ())]
        for index, subject in enumerate(obj.get("subjects", ())):
            problems += _subject_errors(subject, _subject_path(index), namespaced=self._namespaced)
        return problems

    def _changes(self, obj: Object, old: Object) -> list[FieldError]:
        reference = obj["roleRef"]
        if reference == old["roleRef"]:
            return []
        shown = {"APIGroup": reference["apiGroup"], "Kind": reference["kind"], "Name": reference["name"]}
        return [field.invalid(_ROLE_REF, field.Printed(json_codec.dumps(shown).decode()), "field is immutable")]

    def _required(self, obj: Object) -> list[FieldError]:
        subjects = enumerate(obj.get("subjects", ()))
        problems = [field.required(_subject_path(index).child("name")) for index, subject in subjects if not subject["name"]]
        return problems if obj["roleRef"]["name"] else [*problems, field.required(_ROLE_REF.child("name"))]


def _rule_path(index: int) -> Path:
    return field.Path("rules").index(index)


def _subject_path(index: int) -> Path:
    return field.Path("subjects").index(index)


def _selector_errors(role: Object) -> list[FieldError]:
    selectors = (role.get("aggregationRule") or {}).get("clusterRoleSelectors", ())
    return [error for selector in selectors for error in label_selector_errors(selector, _SELECTORS)]


def _rule_errors(rule: Object, path: Path, *, namespaced: bool) -> list[FieldError]:
    groups, resources, urls = rule.get("apiGroups"), rule.get("resources"), rule.get("nonResourceURLs")
    problems = []
    if urls:
        if namespaced:
            problems.append(field.invalid(path.child("nonResourceURLs"), urls, "namespaced rules cannot apply to non-resource URLs"))
        if groups or resources or rule.get("resourceNames"):
            detail = "rules cannot apply to both regular resources and non-resource URLs"
            problems.append(field.invalid(path.child("nonResourceURLs"), urls, detail))
        return problems
    if not groups:
        problems.append(field.required(path.child("apiGroups"), "resource rules must supply at least one api group"))
    if not resources:
        problems.append(field.required(path.child("resources"), "resource rules must supply at least one resource"))
    return problems


def _subject_errors(subject: Object, path: Path, *, namespaced: bool) -> list[FieldError]:
    kind, name, group = subject["kind"], subject["name"], subject.get("apiGroup", "")
    if kind == SERVICE_ACCOUNT:
        messages = names.name_is_dns_subdomain(name) if name else ()
        problems = [field.invalid(path.child("name"), name, message) for message in messages]
        if group:
            problems.append(field.not_supported(path.child("apiGroup"), group, [""]))
        if not namespaced and not subject.get("namespace"):
            problems.append(field.required(path.child("namespace")))
        return problems
    if kind in {USER, GROUP_KIND}:
        return [] if group == GROUP else [field.not_supported(path.child("apiGroup"), group, [GROUP])]
    return [field.not_supported(path.child("kind"), kind, [SERVICE_ACCOUNT, USER, GROUP_KIND])]


def _default_subject(subject: Object) -> None:
    if subject["kind"] in {USER, GROUP_KIND}:
        subject["apiGroup"] = subject.get("apiGroup") or GROUP


def _default_reference(reference: Object) -> None:
    reference["apiGroup"] = reference["apiGroup"] or GROUP


_DEFAULTS: Final = StructDefaults({"rbac/v1.Subject": _default_subject, "rbac/v1.RoleRef": _default_reference})


ROLE_KIND: Final = _DEFAULTS.kind(ROLES, RoleStrategy(namespaced=True))
CLUSTER_ROLE_KIND: Final = _DEFAULTS.kind(CLUSTER_ROLES, ClusterRoleStrategy(namespaced=False))
ROLE_BINDING_KIND: Final = _DEFAULTS.kind(ROLE_BINDINGS, BindingStrategy(namespaced=True))
CLUSTER_ROLE_BINDING_KIND: Final = _DEFAULTS.kind(CLUSTER_ROLE_BINDINGS, BindingStrategy(namespaced=False))
