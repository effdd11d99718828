"""The ConversionReview for a webhook, and its answer (apiextensions-apiserver pkg/apiserver/conversion)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from apiext.conversion import review_parser
from apiext.meta.encoding import json_codec
from apiext.meta.encoding.json_syntax import syntax_error
from apiext.meta.golang import formatting
from apiext.meta.golang.struct_table import struct
from apiext.meta.golang.type_model import DecodeError, Decoder, Raw
from apiext.meta.gvk import parse_group_version
from apiext.meta.limits import MAX_HOOK_STATUS_BYTES

if TYPE_CHECKING:
    from collections.abc import Sequence

    from apiext.meta.encoding.json_codec import Object
    from apiext.meta.golang.type_model import Struct

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
_SCHEME: Final = "pkg/runtime/scheme.go:111"
_OTHER_KINDS: Final = frozenset({(GROUP, "CustomResourceDefinition"), (GROUP, "CustomResourceDefinitionList"), ("", "Status")})
"""Kinds that the reference's client can decode besides ConversionReview, by group."""
_HEAD: Final = 'struct { APIVersion string "json:\\"apiVersion,omitempty\\""; Kind string "json:\\"kind,omitempty\\"" }'


def _review(package: str) -> Struct:
    request = struct("ConversionRequest", "uid types.UID, desiredAPIVersion, objects []runtime.RawExtension", _OBJECT, package=package)
    response = struct(
        "ConversionResponse", "uid types.UID, convertedObjects []runtime.RawExtension, result Status", _OBJECT, _STATUS, package=package
    )
    return struct(KIND, "TypeMeta, request ConversionRequest, response ConversionResponse", request, response, package=package)


_REVIEWS: Final = {version: _review(version) for version in VERSIONS}


class ConversionReviewError(ValueError):
    """A webhook's answer is no ConversionReview with converted objects. The text is the reference's."""


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
        ConversionReviewError: it is none; the call counts as failed.
        HeavyWorkError: see `review_parser.parse`.
    """
    document = await _parsed(data)
    for member in ("apiVersion", "kind"):
        if not isinstance(document.get(member) or "", str):
            raise ConversionReviewError(f"couldn't get version/kind; json parse error: {_head_mismatch(document[member], member)}")
    try:
        group, found = parse_group_version(document.get("apiVersion") or "")
    except ValueError as error:
        raise ConversionReviewError(str(error)) from error
    kind = document.get("kind") or KIND
    if not group and not found:
        group, found = GROUP, version
    if (group, kind) in _OTHER_KINDS and found in VERSIONS:
        raise ConversionReviewError(f"converting ({found}.{kind}) to ({version}.{KIND}): unknown conversion")
    if (group, kind) != (GROUP, KIND) or found not in VERSIONS:
        raise ConversionReviewError(f'no kind "{kind}" is registered for version "{f"{group}/{found}".lstrip("/")}" in scheme "{_SCHEME}"')
    try:
        Decoder(report=False).run(_REVIEWS[found], document)
    except DecodeError as error:
        raise ConversionReviewError(str(error)) from error
    if found != version:
        raise ConversionReviewError(f"converting ({found}.{KIND}) to ({version}.{KIND}): unknown conversion")
    return document


async def _parsed(data: bytes) -> Object:
    try:
        found = await review_parser.parse(data)
        found = {} if found is None else found
    except ValueError:
        if data.lstrip().startswith(b"{"):
            problem = syntax_error(data) if len(data) <= MAX_HOOK_STATUS_BYTES else "invalid JSON"
            raise ConversionReviewError(f"couldn't get version/kind; json parse error: {problem}") from None
        # the reference reads it as YAML, and most texts are one string there
        found = ""
    if not isinstance(found, dict):
        raise ConversionReviewError(
            f"couldn't get version/kind; json parse error: json: cannot unmarshal {_go_type(found)} into Go value of type {_HEAD}"
        )
    return found


def _go_type(value: Any) -> str:
    if isinstance(value, str):
        return "string"
    if isinstance(value, bool):
        return "bool"
    return "array" if isinstance(value, list) else "number"


def _head_mismatch(value: Any, member: str) -> str:
    kind = "object" if isinstance(value, dict) else _go_type(value)
    return f"json: cannot unmarshal {kind} into Go struct field .{member} of type string"


def converted_objects(version: str, uid: str, review: Object) -> list[Any]:
    """Return the converted objects of a review. Only v1 reviews are checked for their kind and uid.

    Raises:
        ConversionReviewError: the review has none, or reports a failure.
    """
    response = review.get("response")
    if version == "v1":
        found = _group_version_kind(review)
        expected = f"{GROUP}/v1, Kind={KIND}"
        if found != expected:
            raise ConversionReviewError(f"expected webhook response of {expected}, got {found}")
    if response is None:
        raise ConversionReviewError("no response provided")
    if version == "v1" and (response.get("uid") or "") != uid:
        raise ConversionReviewError(f"expected response.uid={formatting.quote(uid)}, got {formatting.quote(response.get('uid') or '')}")
    result = response.get("result") or {}
    status = result.get("status") or ""
    if status != _SUCCESS:
        raise ConversionReviewError(result.get("message") or f"response.result.status was '{status}', not '{_SUCCESS}'")
    return response.get("convertedObjects") or []


def _group_version_kind(review: Object) -> str:
    api_version = review.get("apiVersion") or ""
    return f"{api_version if '/' in api_version else '/' + api_version}, Kind={review.get('kind') or ''}"
