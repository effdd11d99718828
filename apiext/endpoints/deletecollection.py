"""DELETE of a collection (apiserver pkg/endpoints/handlers/delete.go, DeleteCollection)."""

from __future__ import annotations

from typing import TYPE_CHECKING

from apiext.endpoints.access import Admitter, request_context
from apiext.endpoints.deleteoptions import read_delete_options, registry_options
from apiext.endpoints.negotiation import negotiate_output
from apiext.endpoints.options import list_query, refuse_unreadable
from apiext.endpoints.query import parse_query
from apiext.endpoints.render import list_reply
from apiext.registry.context import Operation

if TYPE_CHECKING:
    from aiohttp import web

    from apiext.endpoints.scope import Scope


async def delete_collection(request: web.BaseRequest, scope: Scope) -> web.StreamResponse:
    """Delete what the list options select and answer with the list of it. Raises StatusError."""
    ctx = request_context(request)
    media = negotiate_output(request, scope.offers)
    query = parse_query(request)
    listed = list_query(query, scope.field_label)
    asked = await read_delete_options(request, query, scope.max_body)
    refuse_unreadable(asked)
    admitter = Admitter(request, scope, name="", dry_run=bool(asked.dry_run))
    options = registry_options(asked, admitter.validation(Operation.DELETE))
    result = await scope.rest.delete_collection(ctx, options, listed.list_options())
    return await list_reply(request, scope, media, result)
