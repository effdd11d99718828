"""Rules of webhooks and policies (apiserver pkg/admission/plugin/webhook/predicates/rules/rules.go)."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any, Final

from apiext.api.admission.sources import RequestPlace
from apiext.base.meta.gvk import GroupVersionResource
from apiext.base.meta.request import AdmissionOperation

_ALL: Final = "*"
_NAMESPACES: Final = GroupVersionResource("", "v1", "namespaces")


@dataclass(frozen=True, slots=True)
class Rule:
    """The requests that a rule names. None stands for all values."""

    operations: frozenset[str] | None
    groups: frozenset[str] | None
    versions: frozenset[str] | None
    resources: frozenset[tuple[str, str]]
    """Resources with subresources; each may be a wildcard."""
    scope: str = _ALL
    names: frozenset[str] = frozenset()
    """The names of objects; empty for all. Only rules of policies have names."""

    def covers(self, place: RequestPlace) -> bool:
        """Return whether the rule may match requests at a place."""
        return (
            _includes(self.groups, place.group)
            and _includes(self.operations, place.operation)
            and self._includes_resource(place.resource, place.subresource)
        )

    def matches(self, resource: GroupVersionResource, subresource: str, operation: AdmissionOperation, namespace: str) -> bool:
        """Return whether the rule matches requests of a resource, apart from the object's name."""
        # every policy that the index finds for a write asks: no calls for what is usual
        return (
            (self.operations is None or operation in self.operations)
            and (self.groups is None or resource.group in self.groups)
            and (self.versions is None or resource.version in self.versions)
            and ((resource.resource, subresource) in self.resources or self._includes_resource(resource.resource, subresource))
            and (self.scope == _ALL or self._includes_scope(resource, namespace))
        )

    def includes_name(self, name: str) -> bool:
        """Return whether the rule names an object. Without a name, as for generated ones, only a rule without names does."""
        return not self.names or name in self.names

    def _includes_resource(self, resource: str, subresource: str) -> bool:
        return not self.resources.isdisjoint(((resource, subresource), (_ALL, subresource), (resource, _ALL), (_ALL, _ALL)))

    def _includes_scope(self, resource: GroupVersionResource, namespace: str) -> bool:
        # the namespace of a request for a namespace itself is its name
        is_namespaced = bool(namespace) and resource != _NAMESPACES
        return is_namespaced if self.scope == "Namespaced" else self.scope == "Cluster" and not is_namespaced


def parse_rules(rules: Iterable[Mapping[str, Any]] | None) -> tuple[Rule, ...]:
    """Return the rules of a validated webhook or policy."""
    return tuple(map(_parse_rule, rules or ()))


def _parse_rule(rule: Mapping[str, Any]) -> Rule:
    return Rule(
        operations=_values(rule.get("operations")),
        groups=_values(rule.get("apiGroups")),
        versions=_values(rule.get("apiVersions")),
        resources=frozenset(map(_split, rule.get("resources") or ())),
        scope=rule.get("scope") or _ALL,
        names=frozenset(rule.get("resourceNames") or ()),
    )


def _values(items: Iterable[str] | None) -> frozenset[str] | None:
    values = frozenset(items or ())
    return None if _ALL in values else values


def _split(resource: str) -> tuple[str, str]:
    name, _, subresource = resource.partition("/")
    return name, subresource


def _includes(values: frozenset[str] | None, value: str) -> bool:
    return values is None or value in values
