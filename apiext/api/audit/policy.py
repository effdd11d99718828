"""Decides at which level a request is recorded (apiserver pkg/audit/policy/checker.go)."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final

from apiext.api.audit.levels import AuditLevel, AuditStage

if TYPE_CHECKING:
    from apiext.base.meta.request import RequestInfo, UserInfo

_MAX_CACHED: Final = 4096
"""Kept decisions; with more, all are made anew."""


@dataclass(frozen=True, slots=True)
class AuditSettings:
    """How a request is recorded."""

    level: AuditLevel
    omit_stages: frozenset[AuditStage] = frozenset()
    omit_managed_fields: bool = False
    is_metadata: bool = field(init=False, compare=False, default=False)
    """Whether all stages are recorded, without objects."""

    def __post_init__(self) -> None:
        """Note whether the settings are the usual ones."""
        object.__setattr__(self, "is_metadata", self.level is AuditLevel.METADATA and not self.omit_stages)


@dataclass(frozen=True, slots=True)
class GroupResources:
    """Resources of a group."""

    group: str = ""
    resources: tuple[str, ...] = ()
    names: frozenset[str] = frozenset()

    def matches(self, info: RequestInfo, combined: str) -> bool:
        """Return whether the request is about one of the resources. `combined` is its resource with its subresource."""
        if self.group not in {info.group, "*"}:
            return False
        if not self.resources:
            return True
        if self.names and info.name not in self.names:
            return False
        subresource = info.subresource
        return any(
            resource in {combined, "*"}
            or (subresource and resource == f"*/{subresource}")
            or (resource.endswith("/*") and resource[:-2] == info.resource)
            for resource in self.resources
        )


@dataclass(frozen=True, slots=True)
class AuditRule:
    """A rule: the settings of the requests that match all its fields."""

    settings: AuditSettings
    users: frozenset[str] = frozenset()
    groups: frozenset[str] = frozenset()
    verbs: frozenset[str] = frozenset()
    resources: tuple[GroupResources, ...] = ()
    namespaces: frozenset[str] = frozenset()
    urls: tuple[str, ...] = ()
    """Non-resource URLs."""

    def matches(self, user: UserInfo | None, info: RequestInfo) -> bool:
        """Return whether the rule applies to a request; without a user, its authentication has failed."""
        if self.users and (user is None or user.name not in self.users):
            return False
        if self.groups and (user is None or self.groups.isdisjoint(user.groups)):
            return False
        if self.verbs and info.verb not in self.verbs:
            return False
        if self.namespaces or self.resources:
            return info.is_resource and self._matches_resource(info)
        if self.urls:
            return not info.is_resource and any(_is_below(info.path, url) for url in self.urls)
        return True

    def _matches_resource(self, info: RequestInfo) -> bool:
        if self.namespaces and info.namespace not in self.namespaces:
            return False
        combined = f"{info.resource}/{info.subresource}" if info.subresource else info.resource
        return not self.resources or any(each.matches(info, combined) for each in self.resources)


class AuditPolicy:
    """Rules of which the first that matches applies; requests without a rule are not recorded. Decisions are cached."""

    def __init__(self, rules: tuple[AuditRule, ...]) -> None:
        self._rules = rules
        self._names = any(each.names for rule in rules for each in rule.resources)
        self.single = rules[0].settings if rules[0] == AuditRule(rules[0].settings) else None
        """The settings of all requests; None if they differ."""
        self._cache: dict[object, AuditSettings] = {}

    def evaluate(self, user: UserInfo | None, info: RequestInfo) -> AuditSettings:
        """Return the settings of a request; `user` is None if its authentication has failed."""
        if self.single is not None:
            return self.single
        who = (user.name, user.groups) if user is not None else None
        key: object
        if info.is_resource:
            name = info.name if self._names else ""
            key = (who, info.verb, info.group, info.resource, info.subresource, info.namespace, name)
        else:
            key = (who, info.verb, info.path)
        found = self._cache.get(key)
        if found is None:
            if len(self._cache) >= _MAX_CACHED:
                self._cache.clear()
            found = self._cache[key] = next((rule.settings for rule in self._rules if rule.matches(user, info)), _NOT_RECORDED)
        return found


_NOT_RECORDED: Final = AuditSettings(AuditLevel.NONE)


def _is_below(path: str, url: str) -> bool:
    return url in {"*", path} or (url.endswith("*") and path.startswith(url.rstrip("*")))
