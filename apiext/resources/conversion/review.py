"""The ConversionReview for a webhook, and its answer (apiextensions-apiserver pkg/apiserver/conversion)."""

from __future__ import annotations

import json
import re
import secrets
from typing import TYPE_CHECKING, Any, Final

from apiext.base.meta.encoding import json_codec
from apiext.base.meta.golang import formatting
from apiext.base.meta.golang.struct_table import struct
from apiext.base.meta.golang.type_model import Raw
from apiext.base.meta.limits import MAX_INLINE_RENDERING_BYTES
from apiext.base.scheduling.inline_work import current_work
from apiext.base.scheduling.time_slice import Pace
from apiext.base.webhook.review_type import HookReviewError, ReviewType, group_version_kind, unparsed

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


_MIN_BYTES: Final = 32 * 1024
"""Bytes from which a review is divided; parsing fewer takes less than a millisecond."""
ANSWER: Final = ("response", "convertedObjects")
REQUEST: Final = ("request", "objects")
"""The member of a review with the array that is divided."""
_BEGINS: Final = {array: re.compile(rb'"%b"\s*:\s*\[\s*' % array[1].encode()) for array in (ANSWER, REQUEST)}
_MEMBER: Final = rb'"(?:apiVersion|kind)"\s*:\s*"[^"\\]*"'
_HEAD: Final = re.compile(rb"\{\s*%b\s*,\s*%b" % (_MEMBER, _MEMBER))
"""The start of an object as most webhooks write it."""
_MARK: Final = secrets.token_hex(16)
"""Stands for the objects while the rest is parsed. Random: no text of a review contains it."""
_DECODER: Final = json.JSONDecoder()


async def parse(data: bytes, array: tuple[str, str] = ANSWER) -> Any:
    """Return the value in a review, as json_codec.loads.

    Raises:
        ValueError: the review is not JSON.
    """
    document = await _parse_parts(data, array) if len(data) >= _MIN_BYTES else None
    return _loads(data) if document is None else document


def _loads(data: bytes) -> Any:
    """Return the value in a review or a part of one. Raises ValueError."""
    _check_size(len(data))
    return json_codec.loads(data)


def _check_size(size: int) -> None:
    """Let a worker process parse a part of this size if it takes too long for the event loop."""
    current_work().check_size(size, MAX_INLINE_RENDERING_BYTES)


async def _parse_parts(data: bytes, array: tuple[str, str]) -> Any:
    """Return the value of a review whose objects all start alike; None for another form.

    Each part between two such starts is a JSON value, and so an element of the array.
    """
    begin = _BEGINS[array].search(data)
    head = _HEAD.match(data, begin.end()) if begin is not None else None
    if begin is None or head is None:
        return None
    pace, objects, start, place = Pace(), [], begin.end(), begin.end()
    try:
        while (place := data.find(head[0], place + 1)) >= 0:
            text = data[start:place].rstrip()
            if text.endswith(b","):
                objects.append(_loads(text[:-1]))
                start = place
            if pace.due:
                await pace.pause()
        if not objects:
            return None
        _check_size(len(data) - start)
        last = data[start:].decode()
        end = _DECODER.raw_decode(last)[1]
        objects.append(_loads(last[:end].encode()))
        document = json_codec.loads(b'%b"%b"%b' % (data[: begin.end()], _MARK.encode(), last[end:].encode()))
        if document[array[0]][array[1]] != [_MARK]:
            return None
    except (ValueError, LookupError, TypeError, RecursionError):
        return None
    document[array[0]][array[1]] = objects
    return document


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
        document = await parse(data)
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
