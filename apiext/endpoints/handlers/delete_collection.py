"""DELETE of a collection (apiserver pkg/endpoints/handlers/delete.go, DeleteCollection)."""

from __future__ import annotations

from typing import TYPE_CHECKING

from apiext.endpoints.handlers.context import Admitter, request_context
from apiext.endpoints.handlers.delete_options import read_delete_options, registry_options
from apiext.endpoints.handlers.options import list_query, refuse_unreadable
from apiext.endpoints.handlers.query_parameters import parse_query
from apiext.endpoints.responsewriters.object_response import list_reply
from apiext.endpoints.serializers.negotiation import negotiate_output
from apiext.registry.request_context import Operation

if TYPE_CHECKING:
    from aiohttp import web

    from apiext.endpoints.handlers.scope import Scope


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
