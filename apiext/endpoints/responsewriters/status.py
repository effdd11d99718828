"""Errors as answers: the one place where a Status is written.

Mirrors apiserver pkg/endpoints/handlers/responsewriters (ErrorNegotiated).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from aiohttp import web

from apiext.endpoints.handlers.expect_continue import is_held_back
from apiext.endpoints.responsewriters.response import Reply
from apiext.endpoints.serializers.negotiation import JSON, PROTOBUF, STATUS_OFFERS, YAML, MediaType, negotiate_output
from apiext.meta import errors, json_codec

if TYPE_CHECKING:
    from collections.abc import Mapping


def status_reply(request: web.BaseRequest, error: errors.StatusError, headers: Mapping[str, str] | None = None) -> Reply:
    """The error as the client wants to read it; where it accepts nothing that can be written, as indented JSON."""
    own = dict(headers or {})
    if error.retry_after:
        own["Retry-After"] = str(error.retry_after)
    try:
        media = negotiate_output(request, STATUS_OFFERS)
    except errors.StatusError:
        media = MediaType(JSON, pretty=True)
    reply = Reply(_rendered(error, media), status=error.code, content_type=media.type, headers=own)
    if is_held_back(request):
        reply.force_close()
    return reply


def _rendered(error: errors.StatusError, media: MediaType) -> bytes:
    status = error.status()
    if media.type == YAML:
        # loaded when the first client wants YAML
        from apiext.endpoints.serializers import yaml_codec

        return yaml_codec.dumps(status)
    if media.type == PROTOBUF:
        # as seldom
        from apiext.endpoints.serializers import status_protobuf

        return status_protobuf.dumps(status)
    data = json_codec.dumps(status, sort_keys=False)
    return json_codec.pretty(data) if media.pretty else data + b"\n"


def text_reply(text: str, *, status: int = 200, headers: Mapping[str, str] | None = None) -> Reply:
    """Plain text that no browser takes for anything else; an error ends with a line break (Go's http.Error)."""
    own = {"X-Content-Type-Options": "nosniff", **(headers or {})}
    body = text if status < 400 else f"{text}\n"
    return Reply(body.encode(errors="replace"), status=status, content_type="text/plain; charset=utf-8", headers=own)
