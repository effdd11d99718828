"""Error responses: the only place that writes a Status.

Mirrors apiserver pkg/endpoints/handlers/responsewriters (ErrorNegotiated).
"""

from __future__ import annotations

import time
from collections.abc import Mapping
from typing import Final

from aiohttp import web

from apiext.api.authorization.forbidden import sanitized
from apiext.api.endpoints.request import audit_of
from apiext.api.endpoints.responsewriters.content_encoding import formatted
from apiext.api.endpoints.responsewriters.response import NO_HEADERS, Reply
from apiext.api.endpoints.serializers.negotiation import JSON, PLAIN_OFFERS, PROTOBUF, MediaType, negotiate_output
from apiext.api.endpoints.serializers.protobuf_status import status_bytes
from apiext.base.meta import errors
from apiext.base.meta.encoding import json_codec
from apiext.base.meta.golang import formatting

_NO_SNIFFING: Final = {"X-Content-Type-Options": "nosniff"}


class StatusReply(Reply):
    """A response with a Status."""


def status_reply(request: web.BaseRequest, error: errors.StatusError, *, no_sniffing: bool = False) -> StatusReply:
    """Return an error in the negotiated media type, or as indented JSON if the client accepts no available type."""
    own: Mapping[str, str] = _NO_SNIFFING if no_sniffing else NO_HEADERS
    if error.retry_after:
        own = {**own, "Retry-After": str(error.retry_after)}
    media = _negotiated(request)
    _record(request, error, media)
    media = media or MediaType(JSON, pretty=True)
    return StatusReply(_encode(error, media), status=error.code, content_type=media.type, headers=own)


def _negotiated(request: web.BaseRequest) -> MediaType | None:
    """Return the media type of an error, None if the client accepts no available one."""
    try:
        return negotiate_output(request, PLAIN_OFFERS)
    except errors.StatusError:
        return None


def _record(request: web.BaseRequest, error: errors.StatusError, media: MediaType | None) -> None:
    """Add an error to the audit event. Of one that is not negotiated (without `media`) the reference records only the code."""
    audit = audit_of(request)
    if audit is None or media is None:
        return
    audit.encoding = time.time_ns()
    status = error.status()
    audit.take_status(status)
    if audit.records_response:
        audit.response = (json_codec.dumps(status, sort_keys=False),)


def record_error(request: web.BaseRequest, error: errors.StatusError) -> None:
    """Add an error that becomes the answer later to the audit event."""
    _record(request, error, _negotiated(request))


def _encode(error: errors.StatusError, media: MediaType) -> bytes:
    if media.type == PROTOBUF:
        return status_bytes(error.status())
    return formatted(json_codec.dumps(error.status(), sort_keys=False, typed=True), media)


def text_reply(text: str, *, status: int = 200, headers: Mapping[str, str] | None = None) -> Reply:
    """Return plain text that browsers do not sniff. An error ends with a line break, like Go's http.Error."""
    own = {**_NO_SNIFFING, **(headers or {})}
    body = text if status < 400 else f"{text}\n"
    return Reply(body.encode(errors="replace"), status=status, content_type="text/plain; charset=utf-8", headers=own)


def internal_error_reply(request: web.BaseRequest, reason: str) -> Reply:
    """Return 500 in plain text, without markup that a browser could execute (responsewriters.InternalError)."""
    return text_reply(sanitized(f"Internal Server Error: {formatting.quote(str(request.rel_url))}: {reason}"), status=500)
