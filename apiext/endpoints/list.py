"""GET of a collection (apiserver pkg/endpoints/handlers/get.go, ListResource)."""

from __future__ import annotations

from typing import TYPE_CHECKING

from apiext.endpoints.access import request_context
from apiext.endpoints.negotiation import negotiate_output
from apiext.endpoints.options import list_query
from apiext.endpoints.query import parse_query
from apiext.endpoints.render import list_reply
from apiext.endpoints.request import INFO

if TYPE_CHECKING:
    from aiohttp import web

    from apiext.endpoints.scope import Scope


async def list_objects(request: web.BaseRequest, scope: Scope) -> web.StreamResponse:
    """Answer with the items' bytes as the store has rendered them. Raises StatusError."""
    media = negotiate_output(request, scope.offers)
    asked = list_query(parse_query(request), scope.field_label, name=request[INFO].name)
    result = await scope.rest.list(request_context(request), asked.list_options())
    return await list_reply(request, scope, media, result)
