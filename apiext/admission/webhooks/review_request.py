"""The AdmissionReview for a webhook (apiserver plugin/webhook/request/admissionreview.go)."""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING, Any, Final

from apiext.meta.encoding import json_codec

if TYPE_CHECKING:
    from apiext.admission.attributes import Attributes
    from apiext.admission.webhooks.invocation import HookInvocation
    from apiext.admission.webhooks.versioned_objects import VersionedObjects
    from apiext.meta.encoding.json_codec import Object
    from apiext.meta.gvk import GroupVersionKind, GroupVersionResource
    from apiext.meta.request import UserInfo

_KEPT_PLACES: Final = 1024


def encode_review(version: str, uid: str, attributes: Attributes, invocation: HookInvocation, objects: VersionedObjects) -> bytes:
    """Return the review that asks a webhook about a write. Its members have the reference's order, and both versions are alike."""
    request: Object = {"name": attributes.name} if attributes.name else {}
    if attributes.namespace:
        request["namespace"] = attributes.namespace
    request["operation"] = attributes.operation
    request["userInfo"] = _user(attributes.user)
    request["object"] = objects.new
    request["oldObject"] = objects.old
    request["dryRun"] = attributes.dry_run
    request["options"] = None if attributes.options is None else attributes.options()
    place = _place(invocation.kind, invocation.resource, attributes.kind, attributes.resource, attributes.subresource)
    head = b'{"kind":"AdmissionReview","apiVersion":"admission.k8s.io/%b","request":{"uid":"%b",%b,'
    members = memoryview(json_codec.dumps(request, sort_keys=False))[1:]
    return b"".join((head % (version.encode(), uid.encode(), place), members, b"}\n"))


@lru_cache(_KEPT_PLACES)
def _place(
    kind: GroupVersionKind,
    resource: GroupVersionResource,
    request_kind: GroupVersionKind,
    request_resource: GroupVersionResource,
    subresource: str,
) -> bytes:
    """Return the members that are the same for all writes of a resource, without braces."""
    own = {"subResource": subresource} if subresource else {}
    request = {"requestSubResource": subresource} if subresource else {}
    members = {
        "kind": _kind(kind),
        "resource": _resource(resource),
        **own,
        "requestKind": _kind(request_kind),
        "requestResource": _resource(request_resource),
        **request,
    }
    return json_codec.dumps(members, sort_keys=False)[1:-1]


def _kind(kind: GroupVersionKind) -> dict[str, str]:
    return {"group": kind.group, "version": kind.version, "kind": kind.kind}


def _resource(resource: GroupVersionResource) -> dict[str, str]:
    return {"group": resource.group, "version": resource.version, "resource": resource.resource}


def _user(user: UserInfo) -> dict[str, Any]:
    members: dict[str, Any] = {"username": user.name} if user.name else {}
    if user.uid:
        members["uid"] = user.uid
    if user.groups:
        members["groups"] = list(user.groups)
    if user.extra:
        members["extra"] = {key: list(values) for key, values in user.extra.items()}
    return members
