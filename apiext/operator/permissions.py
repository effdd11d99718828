"""What the operator's user must be allowed on the host, and what of it is missing."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Final, NamedTuple

from apiext.operator.api_clients import ApiError
from apiext.operator.leader_election.lease import NAME

if TYPE_CHECKING:
    from apiext.operator.api_clients import Api, Json

_REVIEWS: Final = "/apis/authorization.k8s.io/v1/selfsubjectaccessreviews"


class Right(NamedTuple):
    """One verb on a resource."""

    verb: str
    group: str
    resource: str
    subresource: str = ""
    namespace: str = ""
    """Where it is needed; empty for everywhere."""
    name: str = ""

    def __str__(self) -> str:
        resource = f"{self.resource}/{self.subresource}" if self.subresource else self.resource
        return f"{self.verb} {resource}.{self.group}" if self.group else f"{self.verb} {resource}"


_CRDS: Final = ("apiextensions.k8s.io", "customresourcedefinitions")
_ADMISSION: Final = "admissionregistration.k8s.io"
_EVERYWHERE: Final = (
    *(Right(verb, *_CRDS) for verb in ("get", "list", "watch", "patch", "delete")),
    Right("patch", *_CRDS, subresource="status"),
    *(Right(verb, "apiregistration.k8s.io", "apiservices") for verb in ("get", "list", "watch", "create", "patch", "delete")),
    *(Right(verb, _ADMISSION, "validatingadmissionpolicies") for verb in ("get", "list", "create", "update", "patch", "delete")),
    *(Right(verb, _ADMISSION, "validatingadmissionpolicybindings") for verb in ("get", "create", "update", "delete")),
    # what the host enforces, and nobody any more for groups that are taken over
    *(Right("list", _ADMISSION, kind) for kind in ("validatingwebhookconfigurations", "mutatingwebhookconfigurations")),
    Right("list", _ADMISSION, "mutatingadmissionpolicies"),
    # what is told of definitions, which have no namespace; and what tells whether a policy bites
    *(Right(verb, "", "events", namespace="default") for verb in ("create", "patch")),
    Right("create", "", "configmaps", namespace="default"),
)


def needed(namespace: str) -> tuple[Right, ...]:
    """All of them, with the lease in a namespace. Objects of the groups that are taken over come on top."""
    leases = ("coordination.k8s.io", "leases")
    held = (Right(verb, *leases, namespace=namespace, name=NAME) for verb in ("get", "update"))
    return (*_EVERYWHERE, *held, Right("create", *leases, namespace=namespace))


async def missing(host: Api, namespace: str) -> list[Right]:
    """The rights that the host says are missing; none where it does not answer."""
    rights = needed(namespace)
    found = await asyncio.gather(*(_lacks(host, right) for right in rights))
    return [right for right, lacks in zip(rights, found, strict=True) if lacks]


async def _lacks(host: Api, right: Right) -> bool:
    attributes = {
        "verb": right.verb,
        "group": right.group,
        "resource": right.resource,
        "subresource": right.subresource,
        "namespace": right.namespace,
        "name": right.name,
    }
    review: Json = {"apiVersion": "authorization.k8s.io/v1", "kind": "SelfSubjectAccessReview", "spec": {"resourceAttributes": attributes}}
    try:
        answer = await host.post(_REVIEWS, review)
    except ApiError:
        return False
    return not (answer.get("status") or {}).get("allowed", True)
