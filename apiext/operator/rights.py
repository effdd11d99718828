"""What the operator's user must be allowed on the host, and what of it is missing."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Final, NamedTuple

from apiext.operator.clients import ApiError
from apiext.operator.lease import NAME

if TYPE_CHECKING:
    from apiext.operator.clients import Api, Json

_REVIEWS: Final = "/apis/authorization.k8s.io/v1/selfsubjectaccessreviews"


class Right(NamedTuple):
    """One verb on a resource."""

    verb: str
    group: str
    resource: str
    subresource: str = ""
    namespaced: bool = False
    """Only in the namespace of the lease."""
    name: str = ""

    def __str__(self) -> str:
        resource = f"{self.resource}/{self.subresource}" if self.subresource else self.resource
        return f"{self.verb} {resource}.{self.group}" if self.group else f"{self.verb} {resource}"


_CRDS: Final = ("apiextensions.k8s.io", "customresourcedefinitions")
_ADMISSION: Final = "admissionregistration.k8s.io"
RIGHTS: Final = (
    *(Right(verb, *_CRDS) for verb in ("list", "watch", "get", "patch", "update", "delete")),
    Right("patch", *_CRDS, subresource="status"),
    *(Right(verb, "apiregistration.k8s.io", "apiservices") for verb in ("list", "watch", "get", "create", "patch", "delete")),
    *(Right(verb, _ADMISSION, "validatingadmissionpolicies") for verb in ("list", "get", "create", "patch", "delete")),
    *(Right(verb, _ADMISSION, "validatingadmissionpolicybindings") for verb in ("get", "create", "delete")),
    *(Right(verb, "coordination.k8s.io", "leases", namespaced=True, name=NAME) for verb in ("get", "update")),
    Right("create", "coordination.k8s.io", "leases", namespaced=True),
    *(Right(verb, "", "events") for verb in ("create", "patch")),
)


async def missing(host: Api, namespace: str) -> list[Right]:
    """The rights that the host says are missing; none where it does not answer."""
    found = await asyncio.gather(*(_lacks(host, right, namespace) for right in RIGHTS))
    return [right for right, lacks in zip(RIGHTS, found, strict=True) if lacks]


async def _lacks(host: Api, right: Right, namespace: str) -> bool:
    attributes = {
        "verb": right.verb,
        "group": right.group,
        "resource": right.resource,
        "subresource": right.subresource,
        "name": right.name,
    }
    if right.namespaced:
        attributes["namespace"] = namespace
    review: Json = {"apiVersion": "authorization.k8s.io/v1", "kind": "SelfSubjectAccessReview", "spec": {"resourceAttributes": attributes}}
    try:
        answer = await host.post(_REVIEWS, review)
    except ApiError:
        return False
    return not (answer.get("status") or {}).get("allowed", True)
