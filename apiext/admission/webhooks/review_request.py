"""The AdmissionReview for a webhook (apiserver plugin/webhook/request/admissionreview.go)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from apiext.meta.encoding import json_codec

if TYPE_CHECKING:
    from apiext.admission.attributes import Attributes
    from apiext.admission.webhooks.invocation import HookInvocation
    from apiext.admission.webhooks.versioned_objects import VersionedObjects
    from apiext.meta.encoding.json_codec import Object
    from apiext.meta.gvk import GroupVersionKind, GroupVersionResource
    from apiext.meta.request import UserInfo


def encode_review(version: str, uid: str, attributes: Attributes, invocation: HookInvocation, objects: VersionedObjects) -> bytes:
    """Return the review that asks a webhook about a write. Its members have the reference's order, and both versions are alike."""
    request: Object = {
        "uid": uid,
        "kind": _kind(invocation.kind),
        "resource": _resource(invocation.resource),
        "subResource": attributes.subresource,
        "requestKind": _kind(attributes.kind),
        "requestResource": _resource(attributes.resource),
        "requestSubResource": attributes.subresource,
        "name": attributes.name,
        "namespace": attributes.namespace,
        "operation": attributes.operation,
        "userInfo": _user(attributes.user),
        "object": objects.new,
        "oldObject": objects.old,
        "dryRun": attributes.dry_run,
        "options": None if attributes.options is None else attributes.options(),
    }
    for optional in ("subResource", "requestSubResource", "name", "namespace"):
        if not request[optional]:
            del request[optional]
    review = {"kind": "AdmissionReview", "apiVersion": f"admission.k8s.io/{version}", "request": request}
    return json_codec.dumps(review, sort_keys=False) + b"\n"


def _kind(kind: GroupVersionKind) -> dict[str, str]:
    return {"group": kind.group, "version": kind.version, "kind": kind.kind}


def _resource(resource: GroupVersionResource) -> dict[str, str]:
    return {"group": resource.group, "version": resource.version, "resource": resource.resource}


def _user(user: UserInfo) -> dict[str, Any]:
    members = {
        "username": user.name,
        "uid": user.uid,
        "groups": list(user.groups),
        "extra": {key: list(values) for key, values in user.extra.items()},
    }
    return {name: value for name, value in members.items() if value}
