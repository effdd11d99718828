"""Error responses: the only place that writes a Status.

Mirrors apiserver pkg/endpoints/handlers/responsewriters (ErrorNegotiated).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from aiohttp import web

from apiext.endpoints.handlers.expect_continue import is_body_pending
from apiext.endpoints.responsewriters.response import Reply
from apiext.endpoints.serializers.negotiation import JSON, PROTOBUF, STATUS_OFFERS, YAML, MediaType, negotiate_output
from apiext.meta import errors, json_codec

if TYPE_CHECKING:
    from collections.abc import Mapping


def status_reply(request: web.BaseRequest, error: errors.StatusError, headers: Mapping[str, str] | None = None) -> Reply:
    """Return an error in the negotiated media type, or as indented JSON if the client accepts none that is available."""
    own = dict(headers or {})
    if error.retry_after:
        own["Retry-After"] = str(error.retry_after)
    try:
        media = negotiate_output(request, STATUS_OFFERS)
    except errors.StatusError:
        media = MediaType(JSON, pretty=True)
    reply = Reply(_encode(error, media), status=error.code, content_type=media.type, headers=own)
    if is_body_pending(request):
        reply.force_close()
    return reply


def _encode(error: errors.StatusError, media: MediaType) -> bytes:
    status = error.status()
    if media.type == YAML:
        # imported on first use: few clients ask for YAML
        from apiext.endpoints.serializers import yaml_codec

        return yaml_codec.dumps(status)
    if media.type == PROTOBUF:
        # likewise
        from apiext.endpoints.serializers import protobuf_encoder

        return protobuf_encoder.status_bytes(status)
    data = json_codec.dumps(status, sort_keys=False)
    return json_codec.pretty(data) if media.pretty else data + b"\n"


def text_reply(text: str, *, status: int = 200, headers: Mapping[str, str] | None = None) -> Reply:
    """Return plain text that browsers do not sniff. An error ends with a line break, like Go's http.Error."""
    own = {"X-Content-Type-Options": "nosniff", **(headers or {})}
    body = text if status < 400 else f"{text}\n"
    return Reply(body.encode(errors="replace"), status=status, content_type="text/plain; charset=utf-8", headers=own)
