"""The ConversionReview that kube-apiserver sends, and the answer (apiextensions v1 and v1beta1)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from apiext.base.meta.encoding import json_codec, json_values
from apiext.base.meta.gvk import parse_group_version
from apiext.base.meta.limits import MAX_DEPTH, MAX_ERROR_CHARACTERS
from apiext.base.scheduling.time_slice import Pace
from apiext.resources.conversion import review as review_parser
from apiext.resources.conversion.review import GROUP, KIND, VERSIONS

if TYPE_CHECKING:
    from apiext.base.meta.encoding.json_codec import Object

_API_VERSIONS: Final = tuple(f"{GROUP}/{version}" for version in VERSIONS)
_MAX_UID: Final = 1024
"""Characters of the uid of a review; kube-apiserver's have 36."""


class MalformedReviewError(ValueError):
    """The body is no review that can be answered with a review. The message says why."""


@dataclass(frozen=True, slots=True)
class ReviewRequest:
    """Objects to convert, all of one group."""

    api_version: str
    """The version of the review, in which it is answered."""
    uid: str
    target: str
    """The apiVersion that the objects are to have."""
    objects: Sequence[Any]

    @property
    def group(self) -> str:
        """Return the group of the target."""
        return self.target.rpartition("/")[0]


async def read_review(data: bytes) -> ReviewRequest:
    """Return the request of a review.

    Raises:
        MalformedReviewError: the body is none.
    """
    try:
        review = await review_parser.parse(data, review_parser.REQUEST)
    except (ValueError, RecursionError) as error:
        raise MalformedReviewError(f"the body is not JSON: {error}") from error
    if not isinstance(review, dict) or review.get("kind") != KIND or review.get("apiVersion") not in _API_VERSIONS:
        raise MalformedReviewError(f"the body is not a {KIND} of {' or '.join(_API_VERSIONS)}")
    request = review.get("request")
    if not isinstance(request, dict):
        raise MalformedReviewError("the review has no request")
    uid, target, objects = request.get("uid"), request.get("desiredAPIVersion"), request.get("objects")
    if not isinstance(uid, str) or len(uid) > _MAX_UID:
        raise MalformedReviewError("request.uid is not a uid")
    if not isinstance(target, str) or not _is_api_version(target):
        raise MalformedReviewError("request.desiredAPIVersion is not a group and a version")
    if not isinstance(objects, list):
        raise MalformedReviewError("request.objects is not a list")
    return ReviewRequest(review["apiVersion"], uid, target, objects)


def _is_api_version(text: str) -> bool:
    try:
        group, version = parse_group_version(text)
    except ValueError:
        return False
    return bool(group and version)


def object_problem(found: Any, group: str) -> str:
    """Return why a member of request.objects is no object of a group, "" if it is one."""
    if not isinstance(found, dict):
        return "it is not an object"
    api_version, kind = found.get("apiVersion"), found.get("kind")
    if not isinstance(api_version, str) or not isinstance(kind, str) or not kind:
        return "it has no apiVersion or no kind"
    if api_version.rpartition("/")[0] != group:
        return f"its apiVersion {api_version} is not of the group {group}"
    if "metadata" not in found:
        return "it has no metadata"
    if not isinstance(found["metadata"], dict):
        return "its metadata is not an object"
    if json_values.is_deeper(found, MAX_DEPTH):
        return f"it is nested deeper than {MAX_DEPTH} levels"
    return ""


def name_of(found: Any) -> str:
    """Return how messages name an object: its kind, namespace and name as far as it has them."""
    if not isinstance(found, dict):
        return "an object"
    metadata = found.get("metadata")
    names = [metadata.get(member) for member in ("namespace", "name")] if isinstance(metadata, dict) else []
    name = "/".join(part for part in names if isinstance(part, str) and part)
    return f"{found.get('kind') or 'an object'} {name}".rstrip()


async def success(request: ReviewRequest, objects: Sequence[Object]) -> list[bytes]:
    """Return the answer with the converted objects, as the parts of a body."""
    pace, parts, separator = Pace(), [_head(request), b'"convertedObjects":['], b""
    for found in objects:
        parts.append(separator + json_codec.dumps(found))
        separator = b","
        if pace.due:
            await pace.pause()
    parts.append(b'],"result":{"metadata":{},"status":"Success"}}}\n')
    return parts


def failure(request: ReviewRequest, message: str) -> list[bytes]:
    """Return the answer that says why the objects cannot be converted, as the parts of a body."""
    result = {"metadata": {}, "status": "Failure", "message": message[:MAX_ERROR_CHARACTERS], "reason": "Invalid", "code": 422}
    return [_head(request), b'"convertedObjects":[],"result":%b}}\n' % json_codec.dumps(result)]


def _head(request: ReviewRequest) -> bytes:
    uid = json_codec.dumps(request.uid)
    return b'{"apiVersion":"%b","kind":"%b","response":{"uid":%b,' % (request.api_version.encode(), KIND.encode(), uid)
