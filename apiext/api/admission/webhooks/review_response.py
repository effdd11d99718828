"""The answer of a webhook (apiserver plugin/webhook/request/admissionreview.go, VerifyAdmissionResponse)."""

from __future__ import annotations

import base64
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from apiext.api.admission.webhooks.invocation import REVIEW_VERSIONS
from apiext.base.meta.encoding import json_codec
from apiext.base.meta.golang import formatting
from apiext.base.meta.golang.struct_table import struct
from apiext.base.meta.golang.struct_type import Struct
from apiext.base.meta.golang.type_model import Raw, Slice, String
from apiext.base.meta.golang.value_types import BYTES
from apiext.base.webhook.review_type import ReviewType, group_version_kind, unparsed

if TYPE_CHECKING:
    from apiext.base.meta.encoding.json_codec import Object

_GROUP: Final = "admission.k8s.io"
_KIND: Final = "AdmissionReview"
JSON_PATCH: Final = "JSONPatch"
_STATUS: Final = struct(
    "Status",
    "TypeMeta, metadata! ListMeta, status, message, reason v1.StatusReason, details *StatusDetails, code int32",
    struct("ListMeta", "selfLink, resourceVersion, continue, remainingItemCount *int64"),
    struct(
        "StatusDetails",
        "name, group, kind, uid types.UID, causes []StatusCause, retryAfterSeconds int32",
        struct("StatusCause", "reason v1.CauseType, message, field"),
    ),
)
_USER: Final = struct("UserInfo", "username, uid, groups []string, extra map[string]v1.ExtraValue", Slice(String(), "v1.ExtraValue"))
_META: Final = (
    struct("GroupVersionKind", "group!, version!, kind!"),
    struct("GroupVersionResource", "group!, version!, resource!"),
)


def _request(package: str) -> Struct:
    table = (
        "uid! types.UID, kind! GroupVersionKind, resource! GroupVersionResource, subResource, requestKind *GroupVersionKind, "
        f"requestResource *GroupVersionResource, requestSubResource, name, namespace, operation! {package}.Operation, userInfo! UserInfo, "
        "object runtime.RawExtension, oldObject runtime.RawExtension, dryRun *bool, options runtime.RawExtension"
    )
    return struct("AdmissionRequest", table, *_META, _USER, Raw("runtime.RawExtension", keep_order=True), package=package)


def _response(package: str) -> Struct:
    table = (
        f"uid! types.UID, allowed! bool, status *Status, patch []uint8, patchType *{package}.PatchType, "
        "auditAnnotations map[string]string, warnings []string"
    )
    return struct("AdmissionResponse", table, _STATUS, BYTES, package=package)


_RESPONSES: Final = {version: _response(version) for version in REVIEW_VERSIONS}
_REVIEWS: Final = ReviewType(
    _GROUP,
    _KIND,
    {
        version: struct(
            _KIND,
            "TypeMeta, request *AdmissionRequest, response *AdmissionResponse",
            _request(version),
            _RESPONSES[version],
            package=version,
        )
        for version in REVIEW_VERSIONS
    },
)


@dataclass(frozen=True, slots=True)
class ReviewResponse:
    """A valid answer."""

    allowed: bool
    patch: bytes
    """Empty without one."""
    patch_type: str
    status: Object | None
    """The canonical Status."""
    warnings: Sequence[str]
    annotations: Mapping[str, str]


class InvalidResponseError(ValueError):
    """A review does not answer the request. The text is the reference's."""


_PLAIN_REVIEW: Final = frozenset({"kind", "apiVersion", "response"})
_PLAIN_RESPONSES: Final = ({"uid", "allowed"}, {"uid", "allowed", "status"})
_PLAIN_STATUS: Final = {"metadata": {}, "code": 200}
"""The status that controller-runtime sets."""


def read_response(version: str, uid: str, data: bytes, *, mutating: bool) -> ReviewResponse:
    """Return the response in an answer.

    Raises:
        HookReviewError: the answer is no review.
        InvalidResponseError: the review does not answer the request.
    """
    try:
        document: Any = json_codec.loads(data)
    except ValueError:
        document = unparsed(data)
    if _is_plain(version, uid, document):
        return ReviewResponse(allowed=True, patch=b"", patch_type="", status=None, warnings=(), annotations={})
    return _verified(version, uid, _REVIEWS.check(version, document), mutating=mutating)


def _is_plain(version: str, uid: str, document: Any) -> bool:
    """Return whether a document is the usual answer: the webhook allows the write, and there is nothing to check or to report."""
    if type(document) is not dict or document.keys() != _PLAIN_REVIEW or document["kind"] != _KIND:
        return False
    response = document["response"]
    return (
        type(response) is dict
        and response.keys() in _PLAIN_RESPONSES
        and response["allowed"] is True
        and response["uid"] == uid
        and document["apiVersion"] == f"{_GROUP}/{version}"
        and ("status" not in response or _is_plain_status(response["status"]))
    )


def _is_plain_status(status: Any) -> bool:
    return bool(status == _PLAIN_STATUS) and type(status["code"]) is int


def _verified(version: str, uid: str, review: Object, *, mutating: bool) -> ReviewResponse:
    """Return the response in a review. Only v1 reviews are checked for their uid, kind and patch type. Raises InvalidResponseError."""
    if review.get("response") is None:
        raise InvalidResponseError("webhook response was absent")
    response = _RESPONSES[version].canonical(review["response"])
    patch, patch_type = base64.b64decode(response.get("patch") or ""), response.get("patchType")
    if version == "v1":
        _verify_head(uid, review, response)
        _verify_patch(patch, patch_type, mutating=mutating)
    else:
        patch_type = JSON_PATCH if patch else None
    return ReviewResponse(
        allowed=response["allowed"],
        patch=patch if mutating else b"",
        patch_type=patch_type or "",
        status=response.get("status"),
        warnings=response.get("warnings") or (),
        annotations=response.get("auditAnnotations") or {},
    )


def _verify_head(uid: str, review: Object, response: Object) -> None:
    if response["uid"] != uid:
        raise InvalidResponseError(f"expected response.uid={formatting.quote(uid)}, got {formatting.quote(response['uid'])}")
    expected, found = f"{_GROUP}/v1, Kind={_KIND}", group_version_kind(review)
    if found != expected:
        raise InvalidResponseError(f"expected webhook response of {expected}, got {found}")


def _verify_patch(patch: bytes, patch_type: str | None, *, mutating: bool) -> None:
    if not mutating:
        if patch:
            raise InvalidResponseError("validating webhook may not return response.patch")
        if patch_type is not None:
            raise InvalidResponseError("validating webhook may not return response.patchType")
    elif patch and patch_type is None:
        raise InvalidResponseError("webhook returned response.patch but not response.patchType")
    elif not patch and patch_type is not None:
        raise InvalidResponseError("webhook returned response.patchType but not response.patch")
    elif patch_type == "":
        raise InvalidResponseError('webhook returned invalid response.patchType of ""')
