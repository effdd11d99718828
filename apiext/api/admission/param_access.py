"""Rejects policies and bindings that refer to parameters which their author may not read.

The reference's registry checks after its validation and before validating admission; as the first validating plugin this check has the
same place. Mirrors kubernetes pkg/registry/admissionregistration (authz.go of policies and bindings).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, Protocol

from apiext.api.admission.attributes import Admission, Attributes
from apiext.api.authorization.authorizer import Decision, ReviewError
from apiext.base.meta import errors, field
from apiext.base.meta.gvk import GroupKind, parse_group_version
from apiext.base.meta.request import MASTERS, AdmissionOperation, RequestInfo

if TYPE_CHECKING:
    from apiext.api.authorization.authorizer import Authorize
    from apiext.base.meta.encoding.json_codec import Object
    from apiext.base.meta.request import UserInfo

_GROUP: Final = "admissionregistration.k8s.io"
_POLICIES: Final = ("validatingadmissionpolicies", "mutatingadmissionpolicies")
_BINDINGS: Final = {
    "validatingadmissionpolicybindings": "validatingadmissionpolicies",
    "mutatingadmissionpolicybindings": "mutatingadmissionpolicies",
}
"""The policies of each kind of bindings."""


class ParamLookup(Protocol):
    """What the check needs to know."""

    def policy(self, plural: str, name: str) -> Object | None:
        """Return a policy, None for a missing one."""
        ...

    def plural(self, api_version: str, kind: str) -> str | None:
        """Return the resource of a kind, None for one that is not served."""
        ...


class ParamAccess(Admission):
    """Admits policies and bindings whose author may read the parameters."""

    operations = frozenset({AdmissionOperation.CREATE, AdmissionOperation.UPDATE})

    def __init__(self, lookup: ParamLookup, authorize: Authorize) -> None:
        self._lookup = lookup
        self._authorize = authorize

    async def validate(self, attributes: Attributes) -> None:
        """Check the rights of the user.

        Raises:
            StatusError: 422, if the user may not read the parameters.
        """
        resource, new = attributes.resource, attributes.new
        if resource.group != _GROUP or attributes.subresource or new is None or MASTERS in attributes.user.groups:
            return
        if resource.resource in _POLICIES:
            name, problem = "paramKind", await self._policy_problem(attributes, new)
        elif resource.resource in _BINDINGS:
            name, problem = "paramRef", await self._binding_problem(attributes, new)
        else:
            return
        if problem:
            kind = GroupKind(_GROUP, attributes.kind.kind)
            raise errors.invalid(kind, new["metadata"].get("name", ""), [field.forbidden(field.Path("spec", name), problem)])

    async def _policy_problem(self, attributes: Attributes, policy: Object) -> str:
        kind = policy["spec"].get("paramKind")
        if kind is None or kind == ((attributes.old or {}).get("spec") or {}).get("paramKind"):
            return ""
        group, version, resource = self._read(kind)
        try:
            if await self._may(attributes.user, "get", group, version, resource, "*", "*"):
                return ""
        except ReviewError as error:
            return str(error)
        return (
            f'user {_printed(attributes.user)} must have "get" permission on all objects of the referenced paramKind '
            f"(kind={kind.get('kind', '')}, apiVersion={kind.get('apiVersion', '')})"
        )

    async def _binding_problem(self, attributes: Attributes, binding: Object) -> str:
        """Return the problem of a binding. The reference checks each update, too: it compares pointers in the references."""
        spec, plural = binding["spec"], attributes.resource.resource
        reference = spec.get("paramRef")
        if reference is None:
            return ""
        policy = self._lookup.policy(_BINDINGS[plural], spec.get("policyName", ""))
        kind = policy["spec"].get("paramKind") if policy is not None else None
        group, version, resource = ("*", "*", "*") if kind is None else self._read(kind)
        name = reference.get("name", "")
        verb, user = "get" if name else "list", _printed(attributes.user)
        try:
            if await self._may(attributes.user, verb, group, version, resource, reference.get("namespace", ""), name):
                return ""
        except ReviewError as error:
            return f"failed to authorize request: {error}"
        rest = f'to determine minimum required permissions and user {user} does not have "{verb}" permission for all groups, versions'
        if policy is None:
            return f"unable to get policy {spec.get('policyName', '')} {rest} and resources"
        if kind is not None and resource == "*":
            return f"unable to resolve paramKind &{{{kind['apiVersion']} {kind['kind']}}} {rest} and resources"
        # the reference swaps the words for mutating policies
        words = (user, verb) if plural.startswith("validating") else (verb, user)
        return f'user {words[0]} does not have "{words[1]}" permission on the object referenced by paramRef'

    def _read(self, kind: Object) -> tuple[str, str, str]:
        """Return group, version and resource of a kind of parameters; "*" for a resource that is not served."""
        group, version = parse_group_version(kind["apiVersion"])
        return group, version, self._lookup.plural(kind["apiVersion"], kind["kind"]) or "*"

    async def _may(self, user: UserInfo, verb: str, group: str, version: str, resource: str, namespace: str, name: str) -> bool:
        info = RequestInfo(is_resource=True, verb=verb, group=group, version=version, resource=resource, namespace=namespace, name=name)
        return (await self._authorize(user, info)).decision is Decision.ALLOW


def _printed(user: UserInfo) -> str:
    """Print a user as Go prints a pointer to one."""
    extra = " ".join(f"{key}:[{' '.join(values)}]" for key, values in sorted(user.extra.items()))
    return f"&{{{user.name} {user.uid} [{' '.join(user.groups)}] map[{extra}]}}"
