"""Policy rules, and the requests that they allow.

Mirrors kubernetes pkg/apis/rbac/v1/evaluation_helpers.go.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final, NamedTuple

from apiext.base.meta.golang import formatting

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from apiext.base.meta.request import RequestInfo

ALL: Final = "*"
_FIELDS: Final = ("verbs", "apiGroups", "resources", "resourceNames", "nonResourceURLs")
_SHOWN: Final = (
    ("APIGroups", "groups"),
    ("Resources", "resources"),
    ("NonResourceURLs", "urls"),
    ("ResourceNames", "names"),
    ("Verbs", "verbs"),
)


class RoleRule(NamedTuple):
    """A rule of a role."""

    verbs: tuple[str, ...] = ()
    groups: tuple[str, ...] = ()
    resources: tuple[str, ...] = ()
    names: tuple[str, ...] = ()
    urls: tuple[str, ...] = ()

    def as_json(self) -> dict[str, list[str]]:
        """Return the rule as it stands in a role."""
        members = {name: list(texts) for name, texts in zip(_FIELDS, self, strict=True) if texts}
        return {"verbs": [], **members}

    def __str__(self) -> str:
        """Return the compact form in messages."""
        parts = [f"{label}:[{' '.join(map(formatting.quote, texts))}]" for label, name in _SHOWN if (texts := getattr(self, name))]
        return f"{{{', '.join(parts)}}}"


FULL_AUTHORITY: Final = (RoleRule((ALL,), (ALL,), (ALL,)), RoleRule((ALL,), urls=(ALL,)))
"""The rules of cluster-admin."""


def read_rules(rules: Iterable[Mapping[str, Any]] | None) -> tuple[RoleRule, ...]:
    """Return the rules of a role's JSON."""
    return tuple(RoleRule(*(tuple(rule.get(name) or ()) for name in _FIELDS)) for rule in rules or ())


def covers_resource(rule: RoleRule, info: RequestInfo) -> bool:
    """Return whether a rule allows a resource request for some object."""
    if info.verb not in rule.verbs and ALL not in rule.verbs:
        return False
    if info.group not in rule.groups and ALL not in rule.groups:
        return False
    if not info.subresource:
        return info.resource in rule.resources or ALL in rule.resources
    wanted = (ALL, f"{info.resource}/{info.subresource}", f"*/{info.subresource}")
    return any(resource in rule.resources for resource in wanted)


def allows_path(rule: RoleRule, info: RequestInfo) -> bool:
    """Return whether a rule allows a request for a non-resource path."""
    if info.verb not in rule.verbs and ALL not in rule.verbs:
        return False
    return any(covers_url(url, info.path) for url in rule.urls)


def covers_url(pattern: str, url: str) -> bool:
    """Return whether a URL of a rule, which may end with `*`, covers another one."""
    return pattern == url or (pattern.endswith(ALL) and url.startswith(pattern.rstrip(ALL)))
