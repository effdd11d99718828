"""The ConversionReview for a webhook, and its answer (apiextensions-apiserver pkg/apiserver/conversion)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from apiext.base.meta.encoding import json_codec
from apiext.base.meta.golang import formatting
from apiext.base.meta.golang.struct_table import struct
from apiext.base.meta.golang.type_model import Raw
from apiext.base.webhook.review_type import HookReviewError, ReviewType, group_version_kind, unparsed
from apiext.resources.conversion import review_parser

if TYPE_CHECKING:
    from collections.abc import Sequence

    from apiext.base.meta.encoding.json_codec import Object
    from apiext.base.meta.golang.struct_type import Struct

GROUP: Final = "apiextensions.k8s.io"
KIND: Final = "ConversionReview"
VERSIONS: Final = ("v1", "v1beta1")
_SUCCESS: Final = "Success"
_STATUS: Final = struct(
    "Status",
    "TypeMeta, metadata ListMeta, status, message, reason v1.StatusReason, details StatusDetails, code int32",
    struct("ListMeta", ""),
    struct("StatusDetails", ""),
)
_OBJECT: Final = Raw("runtime.RawExtension", keep_order=True)


def _review(package: str) -> Struct:
    request = struct("ConversionRequest", "uid types.UID, desiredAPIVersion, objects []runtime.RawExtension", _OBJECT, package=package)
    response = struct(
        "ConversionResponse", "uid types.UID, convertedObjects []runtime.RawExtension, result Status", _OBJECT, _STATUS, package=package
    )
    return struct(KIND, "TypeMeta, request ConversionRequest, response ConversionResponse", request, response, package=package)


_REVIEWS: Final = ReviewType(
    GROUP,
    KIND,
    {version: _review(version) for version in VERSIONS},
    frozenset({"CustomResourceDefinition", "CustomResourceDefinitionList"}),
)


def review_version(accepted: Sequence[str]) -> str | None:
    """Return the first known review version that a webhook accepts, None if there is none."""
    return next((version for version in accepted if version in VERSIONS), None)


def encode(version: str, uid: str, objects: Sequence[Object], api_version: str) -> bytes:
    """Return the review that requests objects in another version. Like the reference's, it has an empty response."""
    return (
        b'{"kind":"%b","apiVersion":"%b/%b","request":{"uid":"%b","desiredAPIVersion":"%b","objects":%b},'
        b'"response":{"uid":"","convertedObjects":null,"result":{"metadata":{}}}}\n'
    ) % (
        *(KIND.encode(), GROUP.encode(), version.encode(), uid.encode(), api_version.encode()),
        json_codec.dumps(objects),
    )


async def decode(version: str, data: bytes) -> Object:
    """Return the review in an answer.

    Raises:
        HookReviewError: it is none; the call counts as failed.
    """
    try:
        document = await review_parser.parse(data)
    except ValueError:
        document = unparsed(data)
    return _REVIEWS.check(version, document)


def converted_objects(version: str, uid: str, review: Object) -> list[Any]:
    """Return the converted objects of a review. Only v1 reviews are checked for their kind and uid.

    Raises:
        HookReviewError: the review has none, or reports a failure.
    """
    response = review.get("response")
    if version == "v1":
        found = group_version_kind(review)
        expected = f"{GROUP}/v1, Kind={KIND}"
        if found != expected:
            raise HookReviewError(f"expected webhook response of {expected}, got {found}")
    if response is None:
        raise HookReviewError("no response provided")
    if version == "v1" and (response.get("uid") or "") != uid:
        raise HookReviewError(f"expected response.uid={formatting.quote(uid)}, got {formatting.quote(response.get('uid') or '')}")
    result = response.get("result") or {}
    status = result.get("status") or ""
    if status != _SUCCESS:
        raise HookReviewError(result.get("message") or f"response.result.status was '{status}', not '{_SUCCESS}'")
    return response.get("convertedObjects") or []
