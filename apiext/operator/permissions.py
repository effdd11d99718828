"""The permissions that the operator's user needs on the host, and a check for missing ones."""

from __future__ import annotations

import asyncio
from typing import Final, NamedTuple

from apiext.operator.api_clients import ApiClient, ApiError, Json
from apiext.operator.leader_lease import NAME

_REVIEWS: Final = "/apis/authorization.k8s.io/v1/selfsubjectaccessreviews"


class Permission(NamedTuple):
    """One verb on a resource: the ResourceAttributes of a SelfSubjectAccessReview."""

    verb: str
    group: str
    resource: str
    subresource: str = ""
    namespace: str = ""
    """Empty for all namespaces."""
    name: str = ""

    def __str__(self) -> str:
        resource = f"{self.resource}/{self.subresource}" if self.subresource else self.resource
        return f"{self.verb} {resource}.{self.group}" if self.group else f"{self.verb} {resource}"


_CRDS: Final = ("apiextensions.k8s.io", "customresourcedefinitions")
_ADMISSION: Final = "admissionregistration.k8s.io"
_EVERYWHERE: Final = (
    *(Permission(verb, *_CRDS) for verb in ("get", "list", "watch", "patch", "delete")),
    Permission("patch", *_CRDS, subresource="status"),
    *(Permission(verb, "apiregistration.k8s.io", "apiservices") for verb in ("get", "list", "watch", "create", "patch", "delete")),
    *(Permission(verb, _ADMISSION, "validatingadmissionpolicies") for verb in ("get", "list", "create", "update", "patch", "delete")),
    *(Permission(verb, _ADMISSION, "validatingadmissionpolicybindings") for verb in ("get", "create", "update", "delete")),
    # events about definitions, which have no namespace, and dry runs that test the enforcement of a policy
    *(Permission(verb, "", "events", namespace="default") for verb in ("create", "patch")),
    Permission("create", "", "configmaps", namespace="default"),
)


def required_permissions(namespace: str) -> tuple[Permission, ...]:
    """Return all permissions except those for objects of adopted groups. `namespace` is the namespace of the Lease."""
    leases = ("coordination.k8s.io", "leases")
    held = (Permission(verb, *leases, namespace=namespace, name=NAME) for verb in ("get", "update"))
    return (*_EVERYWHERE, *held, Permission("create", *leases, namespace=namespace))


async def missing_permissions(host: ApiClient, namespace: str) -> list[Permission]:
    """Return the permissions that the host denies; a failed review counts as allowed."""
    required = required_permissions(namespace)
    found = await asyncio.gather(*(_lacks(host, permission) for permission in required))
    return [permission for permission, lacks in zip(required, found, strict=True) if lacks]


async def _lacks(host: ApiClient, right: Permission) -> bool:
    spec = {"resourceAttributes": right._asdict()}
    review: Json = {"apiVersion": "authorization.k8s.io/v1", "kind": "SelfSubjectAccessReview", "spec": spec}
    try:
        answer = await host.post(_REVIEWS, review)
    except ApiError:
        return False
    return not (answer.get("status") or {}).get("allowed", True)
