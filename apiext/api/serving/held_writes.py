"""The webhook by which a host holds writes to its own copies of a group that is moving (operator/adoption/write_hold.py)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from aiohttp import hdrs

from apiext.api.endpoints.handlers.body import read_body
from apiext.api.endpoints.responsewriters.response import Reply
from apiext.base.meta import errors
from apiext.base.meta.encoding import json_codec
from apiext.base.meta.host_annotations import HOLD_MESSAGE
from apiext.base.meta.limits import MAX_BODY_BYTES

if TYPE_CHECKING:
    from aiohttp import web

_VERSION: Final = "admission.k8s.io/v1"
_STATUS: Final[dict[str, Any]] = {
    "status": "Failure",
    "message": HOLD_MESSAGE,
    "reason": "TooManyRequests",
    "details": {"retryAfterSeconds": 1},
    "code": 429,
}


async def hold_writes(request: web.BaseRequest) -> web.StreamResponse:
    """Deny the write of an AdmissionReview with 429, so that the client tries again after a second.

    Raises:
        StatusError: 405 for another method than POST, 413 for a larger body than any request may have, 400 unless it is a review.
    """
    if request.method != hdrs.METH_POST:
        raise errors.StatusError(405, "MethodNotAllowed", "the server does not allow this method on the requested resource", {})
    answer = {"uid": _uid(await read_body(request, MAX_BODY_BYTES)), "allowed": False, "status": _STATUS}
    return Reply(json_codec.dumps({"kind": "AdmissionReview", "apiVersion": _VERSION, "response": answer}))


def _uid(body: bytes) -> str:
    """Return the uid of a review's request. Raises StatusError."""
    try:
        review = json_codec.loads(body)
    except ValueError as error:
        raise errors.bad_request(f"the body is not JSON: {error}") from error
    asked = review.get("request") if isinstance(review, dict) and review.get("apiVersion") == _VERSION else None
    uid = asked.get("uid") if isinstance(asked, dict) else None
    if not isinstance(uid, str):
        raise errors.bad_request(f"the body is no AdmissionReview of {_VERSION}")
    return uid
