"""The roles and bindings of a server, indexed by subject, and decisions from them.

Mirrors kubernetes plugin/pkg/auth/authorizer/rbac/rbac.go and pkg/registry/rbac/validation/rule.go. The reference visits all bindings
for each request; this index visits those of the user and its groups, and keeps the result until a role or binding changes.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final

from apiext.api.authorization.authorizer import Decision, Verdict
from apiext.api.authorization.rbac.rules import RoleRule, allows_path, covers_resource
from apiext.base.meta import errors
from apiext.base.meta.field import aggregate
from apiext.base.meta.golang import formatting
from apiext.base.meta.gvk import GroupResource

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from apiext.base.meta.request import RequestInfo, UserInfo

GROUP: Final = "rbac.authorization.k8s.io"
MAX_GRANTS: Final = 10_000
"""Kept grants; with more, all are made anew."""
_DENIED: Final = Verdict(Decision.NO_OPINION)
_Subject = tuple[str, str]
"""Kind (User or Group) and name. A service account is the user that its tokens name."""


class RoleNotFoundError(Exception):
    """A binding's role does not exist."""

    def __init__(self, kind: str, name: str) -> None:
        super().__init__(kind, name)
        self._resource = kind.lower()
        self._name = name

    def status(self, resource: str) -> errors.StatusError:
        """Return the 404 error of a write of a `resource`: the reference's registry takes the request's resource for the missing one."""
        return errors.not_found(GroupResource(GROUP, resource), self._name)

    def text(self, resource: str = "") -> str:
        """Return the message: of a write of a `resource` as in `status`, else of the authorizer."""
        return f"{resource or self._resource}.{GROUP} {formatting.quote(self._name)} not found"


@dataclass(frozen=True, slots=True)
class Subject:
    """A subject of a binding."""

    kind: str
    name: str
    namespace: str = ""

    def indexed(self, binding_namespace: str) -> _Subject | None:
        """Return the subject as the index has it, None if it applies to nobody."""
        if self.kind in {"User", "Group"}:
            return self.kind, self.name
        namespace = self.namespace or binding_namespace
        return ("User", f"system:serviceaccount:{namespace}:{self.name}") if self.kind == "ServiceAccount" and namespace else None

    def described(self, binding_namespace: str) -> str:
        """Return the subject as reasons show it."""
        if self.kind == "ServiceAccount":
            return f"{self.kind} {formatting.quote(f'{self.name}/{self.namespace or binding_namespace}')}"
        return f"{self.kind} {formatting.quote(self.name)}"


@dataclass(frozen=True, slots=True)
class RoleRef:
    """The role of a binding."""

    kind: str
    name: str


@dataclass(frozen=True, slots=True)
class Binding:
    """A RoleBinding or, without a namespace, a ClusterRoleBinding."""

    namespace: str
    name: str
    role: RoleRef
    subjects: tuple[Subject, ...]

    def reason(self, position: int) -> str:
        """Return the reason of what the binding allows to one of its subjects."""
        kind, name = ("RoleBinding", f"{self.name}/{self.namespace}") if self.namespace else ("ClusterRoleBinding", self.name)
        subject = self.subjects[position].described(self.namespace)
        role = f"{self.role.kind} {formatting.quote(self.role.name)}"
        return f"RBAC: allowed by {kind} {formatting.quote(name)} of {role} to {subject}"


@dataclass(slots=True)
class _Grant:
    """What a user may do to the objects of a resource with one verb."""

    every: Verdict | None = None
    """The verdict for all objects, None if not all are allowed."""
    named: dict[str, Verdict] = field(default_factory=dict)
    """Verdicts for the objects that rules name."""
    denied: Verdict = _DENIED


class RolePolicy:
    """Decides by the roles and bindings that were put into it."""

    def __init__(self) -> None:
        self._roles: dict[tuple[str, str], tuple[RoleRule, ...]] = {}
        """Rules by namespace ("" for ClusterRoles) and name."""
        self._bindings: dict[tuple[str, str], Binding] = {}
        self._subjects: dict[str, dict[_Subject, dict[str, int]]] = {}
        """By namespace and subject: the names of the bindings, and the position of the subject in each."""
        self._grants: dict[object, _Grant] = {}

    # --- changes ------------------------------------------------------------------------------------------------------

    def put_role(self, namespace: str, name: str, rules: tuple[RoleRule, ...]) -> None:
        """Put a Role or, without a namespace, a ClusterRole."""
        self._roles[namespace, name] = rules
        self._grants.clear()

    def remove_role(self, namespace: str, name: str) -> None:
        """Remove a role if it is there."""
        self._roles.pop((namespace, name), None)
        self._grants.clear()

    def put_binding(self, binding: Binding) -> None:
        """Put a binding."""
        self.remove_binding(binding.namespace, binding.name)
        self._bindings[binding.namespace, binding.name] = binding
        index = self._subjects.setdefault(binding.namespace, {})
        for position, subject in enumerate(binding.subjects):
            key = subject.indexed(binding.namespace)
            if key is not None:
                index.setdefault(key, {}).setdefault(binding.name, position)

    def remove_binding(self, namespace: str, name: str) -> None:
        """Remove a binding if it is there."""
        self._grants.clear()
        known = self._bindings.pop((namespace, name), None)
        index = self._subjects.get(namespace, {})
        for key in {subject.indexed(namespace) for subject in known.subjects} if known is not None else ():
            if key is not None and (names := index.get(key)) is not None:
                names.pop(name, None)
                if not names:
                    del index[key]
        if not index:
            self._subjects.pop(namespace, None)

    # --- decisions ----------------------------------------------------------------------------------------------------

    def authorize(self, user: UserInfo, info: RequestInfo) -> Verdict:
        """Return the verdict about a request: allowed with the binding as reason, or NO_OPINION with the missing roles."""
        if info.is_resource:
            key: object = (user.name, user.groups, info.verb, info.group, info.resource, info.subresource, info.namespace)
        else:
            key = (user.name, user.groups, info.verb, info.path)
        grant = self._grants.get(key)
        if grant is None:
            if len(self._grants) >= MAX_GRANTS:
                self._grants.clear()
            grant = self._grants[key] = self._grant(user, info)
        return (grant.named and grant.named.get(info.name)) or grant.every or grant.denied

    def rules_for(self, user: UserInfo, namespace: str, *, written: str = "") -> tuple[list[RoleRule], list[str]]:
        """Return the rules that apply to a user in a namespace, or cluster-wide for "", and the errors.

        `written` is the resource of a write, which the errors name.
        """
        found: list[RoleRule] = []
        problems: list[str] = []
        for binding, _ in self._applying(user, namespace):
            try:
                found += self.rules_of(binding.role, binding.namespace)
            except RoleNotFoundError as error:
                problems.append(error.text(written))
        return found, problems

    def rules_of(self, role: RoleRef, namespace: str) -> Sequence[RoleRule]:
        """Return the rules of a binding's role; `namespace` is that of the binding.

        Raises:
            RoleNotFoundError: the role does not exist.
        """
        rules = self._roles.get((namespace if role.kind == "Role" else "", role.name))
        if rules is None:
            raise RoleNotFoundError(role.kind, role.name)
        return rules

    def _grant(self, user: UserInfo, info: RequestInfo) -> _Grant:
        grant, problems = _Grant(), []
        for binding, position in self._applying(user, info.namespace if info.is_resource else ""):
            try:
                rules = self.rules_of(binding.role, binding.namespace)
            except RoleNotFoundError as error:
                problems.append(error.text())
                continue
            if not info.is_resource:
                if any(allows_path(rule, info) for rule in rules):
                    grant.every = Verdict(Decision.ALLOW, binding.reason(position))
                    break
                continue
            for rule in rules:
                if covers_resource(rule, info):
                    _allow(grant, rule, Verdict(Decision.ALLOW, binding.reason(position)))
            if grant.every is not None:
                break
        if problems:
            # a union of authorizers adds the name of each to its reason
            grant.denied = Verdict(Decision.NO_OPINION, f"rbac: RBAC: {aggregate(problems)}")
        return grant

    def _applying(self, user: UserInfo, namespace: str) -> Iterator[tuple[Binding, int]]:
        """Yield the bindings that apply to a user, in the order of their names, with the position of the first subject that does."""
        subjects: Iterable[_Subject] = (("User", user.name), *(("Group", name) for name in user.groups))
        for place in ("", namespace) if namespace else ("",):
            index = self._subjects.get(place)
            if index is None:
                continue
            found: dict[str, int] = {}
            for subject in subjects:
                for name, position in index.get(subject, {}).items():
                    found[name] = min(position, found.get(name, position))
            for name in sorted(found):
                yield self._bindings[place, name], found[name]


def _allow(grant: _Grant, rule: RoleRule, verdict: Verdict) -> None:
    if rule.names:
        for name in rule.names:
            grant.named.setdefault(name, verdict)
    elif grant.every is None:
        grant.every = verdict
