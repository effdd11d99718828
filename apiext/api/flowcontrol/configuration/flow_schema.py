"""FlowSchemas: assign requests to a priority level, and to a flow in it.

Mirrors k8s.io/api/flowcontrol/v1, and rule.go of apiserver pkg/util/flowcontrol.
"""

from __future__ import annotations

from collections.abc import Set as AbstractSet
from dataclasses import dataclass
from enum import Enum
from typing import TYPE_CHECKING, Final, TypeVar

from apiext.api.flowcontrol.configuration.members import InvalidFlowControlObjectError, child, children, in_pieces, number, text, texts

if TYPE_CHECKING:
    from collections.abc import Callable

    from apiext.base.meta.encoding.json_codec import Object
    from apiext.base.meta.request import RequestInfo, UserInfo
    from apiext.base.meta.steps import Steps

T = TypeVar("T")
_ALL: Final = "*"
_DEFAULT_PRECEDENCE: Final = 1000
_SERVICE_ACCOUNT: Final = "system:serviceaccount:"

Names = AbstractSet[str] | None
"""The values in a rule; None means all values."""


class Distinguisher(Enum):
    """The attribute that divides the requests of a FlowSchema into flows."""

    NONE = ""
    BY_USER = "ByUser"
    BY_NAMESPACE = "ByNamespace"


@dataclass(frozen=True, slots=True)
class ResourceRule:
    """Matches requests for resources."""

    verbs: Names
    groups: Names
    resources: Names
    """Resources, and subresources as resource/subresource."""
    namespaces: Names
    cluster_scope: bool
    """Whether it matches requests without a namespace."""

    def matches(self, info: RequestInfo) -> bool:
        """Return whether the rule matches a request for a resource."""
        resource = f"{info.resource}/{info.subresource}" if info.subresource else info.resource
        if not (_has(self.verbs, info.verb) and _has(self.resources, resource) and _has(self.groups, info.group)):
            return False
        return _has(self.namespaces, info.namespace) if info.namespace else self.cluster_scope


@dataclass(frozen=True, slots=True)
class NonResourceRule:
    """Matches requests for other paths."""

    verbs: Names
    paths: Names
    prefixes: tuple[str, ...]
    """Each path without a star and with a slash at the end: the rule also matches all paths below its paths."""

    def matches(self, info: RequestInfo) -> bool:
        """Return whether the rule matches a request for a path."""
        if not _has(self.verbs, info.verb):
            return False
        return self.paths is None or info.path in self.paths or info.path.startswith(self.prefixes)


@dataclass(frozen=True, slots=True)
class Subjects:
    """The users of a rule. A user matches if one of the fields names it."""

    users: Names = frozenset()
    groups: Names = frozenset()
    namespaces: tuple[str, ...] = ()
    """Prefixes of user names: the service accounts of whole namespaces."""

    def matches(self, user: UserInfo) -> bool:
        """Return whether the user is one of the subjects."""
        if self.users is None or self.groups is None or user.name in self.users or not self.groups.isdisjoint(user.groups):
            return True
        return user.name.startswith(self.namespaces)


@dataclass(frozen=True, slots=True)
class PolicyRule:
    """Matches a request if its user is a subject and one of the rules matches."""

    subjects: Subjects
    resource_rules: tuple[ResourceRule, ...] = ()
    non_resource_rules: tuple[NonResourceRule, ...] = ()

    def matches(self, user: UserInfo, info: RequestInfo) -> bool:
        """Return whether the rule matches a user's request."""
        if not self.subjects.matches(user):
            return False
        rules = self.resource_rules if info.is_resource else self.non_resource_rules
        return any(rule.matches(info) for rule in rules)


@dataclass(frozen=True, slots=True, kw_only=True)
class FlowSchema:
    """A usable FlowSchema."""

    name: str
    uid: str = ""
    priority_level: str
    """Name of its priority level."""
    precedence: int
    """Lower values match first; the name decides between equal values."""
    distinguisher: Distinguisher
    rules: tuple[PolicyRule, ...]

    def matches(self, user: UserInfo, info: RequestInfo) -> bool:
        """Return whether the FlowSchema matches a user's request."""
        return any(rule.matches(user, info) for rule in self.rules)

    def flow(self, user: UserInfo, info: RequestInfo) -> str:
        """Return the distinguisher of a request's flow in the FlowSchema."""
        if self.distinguisher is Distinguisher.BY_USER:
            return user.name
        return info.namespace if self.distinguisher is Distinguisher.BY_NAMESPACE else ""


def _has(names: Names, name: str) -> bool:
    return names is None or name in names


# --- from objects ---------------------------------------------------------------------------------------------------


def flow_schema_steps(obj: Object) -> Steps[FlowSchema]:
    """Return a FlowSchema as data, with defaults. Runs in steps: the object may have a megabyte.

    Raises:
        InvalidFlowControlObjectError: the object cannot be used.
    """
    metadata, spec = child(obj, "metadata") or {}, child(obj, "spec") or {}
    method = child(spec, "distinguisherMethod")
    try:
        distinguisher = Distinguisher.NONE if method is None else Distinguisher(text(method, "type") or "missing")
    except ValueError:
        raise InvalidFlowControlObjectError("spec.distinguisherMethod.type must be ByUser or ByNamespace") from None
    rules = yield from _each(children(spec, "rules"), _policy_rule)
    return FlowSchema(
        name=text(metadata, "name"),
        uid=text(metadata, "uid"),
        priority_level=text(child(spec, "priorityLevelConfiguration") or {}, "name"),
        precedence=number(spec, "matchingPrecedence", 0) or _DEFAULT_PRECEDENCE,
        distinguisher=distinguisher,
        rules=rules,
    )


def _policy_rule(obj: Object) -> Steps[PolicyRule]:
    subjects = yield from _subjects((yield from children(obj, "subjects")))
    resource_rules = yield from _each(children(obj, "resourceRules"), _resource_rule)
    non_resource_rules = yield from _each(children(obj, "nonResourceRules"), _non_resource_rule)
    return PolicyRule(subjects, resource_rules, non_resource_rules)


def _each(objects: Steps[list[Object]], parse: Callable[[Object], Steps[T]]) -> Steps[tuple[T, ...]]:
    found = []
    for obj in (yield from objects):
        yield
        parsed = yield from parse(obj)
        found.append(parsed)
    return tuple(found)


def _subjects(subjects: list[Object]) -> Steps[Subjects]:
    users: set[str] = set()
    groups: set[str] = set()
    namespaces: list[str] = []
    for subject in subjects:
        yield
        kind = text(subject, "kind")
        if kind == "User" and (user := child(subject, "user")) is not None:
            users.add(text(user, "name"))
        elif kind == "Group" and (group := child(subject, "group")) is not None:
            groups.add(text(group, "name"))
        elif kind == "ServiceAccount" and (account := child(subject, "serviceAccount")) is not None:
            prefix, name = f"{_SERVICE_ACCOUNT}{text(account, 'namespace')}:", text(account, "name")
            if name == _ALL:
                namespaces.append(prefix)
            else:
                users.add(prefix + name)
        # as the reference, ignore other subjects
    return Subjects(
        None if _ALL in users else frozenset(users),
        None if _ALL in groups else frozenset(groups),
        tuple(namespaces),
    )


def _resource_rule(obj: Object) -> Steps[ResourceRule]:
    cluster_scope = obj.get("clusterScope") or False
    if not isinstance(cluster_scope, bool):
        raise InvalidFlowControlObjectError("clusterScope has the wrong type")
    return ResourceRule(
        (yield from _names(obj, "verbs")),
        (yield from _names(obj, "apiGroups")),
        (yield from _names(obj, "resources")),
        (yield from _names(obj, "namespaces")),
        cluster_scope,
    )


def _non_resource_rule(obj: Object) -> Steps[NonResourceRule]:
    verbs = yield from _names(obj, "verbs")
    paths = yield from texts(obj, "nonResourceURLs")
    found: set[str] = set()
    prefixes: list[str] = []
    for piece in in_pieces(paths):
        found.update(piece)
        prefixes += [path.removesuffix(_ALL).removesuffix("/") + "/" for path in piece]
        yield
    return NonResourceRule(verbs, None if _ALL in found else found, tuple(prefixes))


def _names(obj: Object, key: str) -> Steps[Names]:
    """Return the values of a list. A single star means all values; validation allows no other entries beside it."""
    values = yield from texts(obj, key)
    found: set[str] = set()
    for piece in in_pieces(values):
        found.update(piece)
        yield
    return None if values == [_ALL] else found
