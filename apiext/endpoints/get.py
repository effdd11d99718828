"""GET of one object (apiserver pkg/endpoints/handlers/get.go)."""

from __future__ import annotations

from typing import TYPE_CHECKING

from apiext.endpoints.access import request_context, required_name
from apiext.endpoints.negotiation import negotiate_output
from apiext.endpoints.options import check_export
from apiext.endpoints.query import parse_query, text
from apiext.endpoints.render import item_reply

if TYPE_CHECKING:
    from aiohttp import web

    from apiext.endpoints.scope import Scope


async def get(request: web.BaseRequest, scope: Scope) -> web.StreamResponse:
    """Answer with the object's bytes as the store has rendered them. Raises StatusError."""
    name = required_name(request)
    media = negotiate_output(request, scope.offers)
    query = parse_query(request)
    if query:
        check_export(query)
    item = await scope.rest.get(request_context(request), name, resource_version=text(query, "resourceVersion"))
    return await item_reply(request, scope, media, item)
