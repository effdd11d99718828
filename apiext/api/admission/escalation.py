"""Rejects writes of roles and bindings by which users would grant rights that they do not have.

The reference's registry checks after all mutating plugins and before validation; as the last mutating plugin this check has the same
place. Mirrors kubernetes pkg/registry/rbac (escalation_check.go, helpers.go and */policybased).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from apiext.api.admission.attributes import Admission, Attributes
from apiext.api.authorization.authorizer import Decision, ReviewError
from apiext.api.authorization.rbac.escalation import EscalationError, confirm_no_escalation
from apiext.api.authorization.rbac.policy import GROUP, RoleNotFoundError, RoleRef
from apiext.api.authorization.rbac.rules import FULL_AUTHORITY, read_rules
from apiext.base.meta import errors
from apiext.base.meta.encoding import json_values
from apiext.base.meta.log import get_logger
from apiext.base.meta.request import MASTERS, AdmissionOperation, RequestInfo

if TYPE_CHECKING:
    from collections.abc import Iterable

    from apiext.api.authorization.authorizer import Authorize
    from apiext.api.authorization.rbac.policy import RolePolicy
    from apiext.api.authorization.rbac.rules import RoleRule
    from apiext.base.meta.encoding.json_codec import Object

_LOG: Final = get_logger(__name__)
_ROLES: Final = ("roles", "clusterroles")
_BINDINGS: Final = ("rolebindings", "clusterrolebindings")
_COLLECTED: Final = ("ownerReferences", "finalizers", "managedFields")
"""Metadata that the garbage collector changes."""
_NEEDS_ALL: Final = "must have cluster-admin privileges to use the aggregationRule"


class EscalationCheck(Admission):
    """Admits a role or binding of a user that has all its rights, or may `escalate` the role or `bind` to it."""

    operations = frozenset({AdmissionOperation.CREATE, AdmissionOperation.UPDATE})

    def __init__(self, policy: RolePolicy, authorize: Authorize) -> None:
        self._policy = policy
        self._authorize = authorize

    async def admit(self, attributes: Attributes) -> None:
        """Check the rights in a role or binding.

        Raises:
            StatusError: 403 if the user lacks one of them, 404 if the role of a binding does not exist.
        """
        resource, new = attributes.resource, attributes.new
        if resource.group != GROUP or new is None or MASTERS in attributes.user.groups:
            return
        if resource.resource in _ROLES:
            await self._check_role(attributes, new)
        elif resource.resource in _BINDINGS:
            await self._check_binding(attributes, new)

    async def _check_role(self, attributes: Attributes, new: Object) -> None:
        # the path of a create has no name
        name = attributes.name if attributes.operation is AdmissionOperation.UPDATE else ""
        if await self._may(attributes, "escalate", attributes.resource.resource, name) or _is_collected(attributes, new):
            return
        self._confirm(attributes, read_rules(new.get("rules")))
        if _is_aggregated(new) or _is_aggregated(attributes.old):
            self._confirm(attributes, FULL_AUTHORITY, _NEEDS_ALL)

    async def _check_binding(self, attributes: Attributes, new: Object) -> None:
        reference = new.get("roleRef") or {}
        kind, name = reference.get("kind", ""), reference.get("name", "")
        if _is_collected(attributes, new):
            return
        if kind in {"Role", "ClusterRole"}:
            group = reference.get("apiGroup", "")
            if await self._may(attributes, "bind", f"{kind.lower()}s", name, group=group):
                return
        else:
            raise errors.unknown(f'unsupported role reference kind: "{kind}"')
        try:
            rules = self._policy.rules_of(RoleRef(kind, name), attributes.namespace)
        except RoleNotFoundError as error:
            raise error.status(attributes.resource.resource) from error
        self._confirm(attributes, rules)

    async def _may(self, attributes: Attributes, verb: str, resource: str, name: str, *, group: str = GROUP) -> bool:
        """Return whether the user is explicitly allowed to grant any right."""
        namespace = attributes.namespace
        info = RequestInfo(is_resource=True, verb=verb, group=group, version="*", resource=resource, name=name, namespace=namespace)
        try:
            return (await self._authorize(attributes.user, info)).decision is Decision.ALLOW
        except ReviewError as error:
            _LOG.error("authorization of a grant failed", verb=verb, resource=resource, name=name, error=str(error))
            return False

    def _confirm(self, attributes: Attributes, rules: Iterable[RoleRule], message: str = "") -> None:
        try:
            confirm_no_escalation(self._policy, attributes.user, attributes.namespace, rules, written=attributes.resource.resource)
        except EscalationError as error:
            named = str(((attributes.new or {}).get("metadata") or {}).get("name", ""))
            raise errors.forbidden(attributes.resource.group_resource, named, message or str(error)) from error


def _is_aggregated(role: Object | None) -> bool:
    return bool(((role or {}).get("aggregationRule") or {}).get("clusterRoleSelectors"))


def _is_collected(attributes: Attributes, new: Object) -> bool:
    """Return whether an update changes only what the garbage collector changes."""
    return attributes.old is not None and json_values.equal(_without_collected(new), _without_collected(attributes.old))


def _without_collected(obj: Object) -> Object:
    metadata = {name: member for name, member in (obj.get("metadata") or {}).items() if name not in _COLLECTED}
    return {**obj, "metadata": metadata}
