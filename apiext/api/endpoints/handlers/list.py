"""GET: list a collection (apiserver pkg/endpoints/handlers/get.go, ListResource)."""

from __future__ import annotations

from aiohttp import web

from apiext.api.endpoints.handlers.object_response import list_reply
from apiext.api.endpoints.parameters.options import list_query, short_list_query
from apiext.api.endpoints.parameters.query_parameters import parse_query
from apiext.api.endpoints.parameters.selector_budget import selector_budget
from apiext.api.endpoints.parameters.shard_selector import shard_selector
from apiext.api.endpoints.request import INFO, request_context
from apiext.api.endpoints.scopes.scope import Scope
from apiext.api.endpoints.serializers.negotiation import negotiate_output
from apiext.base.scheduling.time_slice import in_slices


async def list_objects(request: web.BaseRequest, scope: Scope) -> web.StreamResponse:
    """Return a list; the JSON of its items is sent as stored.

    Raises:
        StatusError: the request is invalid, or its revision is compacted or not reached.
    """
    media = negotiate_output(request, scope.dialect.offers)
    asked = parse_query(request)
    query = short_list_query(request, scope.dialect.field_label)
    if query is not None:
        shard = await shard_selector(request, asked)
        result = await scope.rest.list(request_context(request), query.list_options(shard))
    else:
        with selector_budget(asked):
            query = await in_slices(list_query(asked, scope.dialect.field_label, name=request[INFO].name))
            shard = await shard_selector(request, asked)
            result = await scope.rest.list(request_context(request), query.list_options(shard))
    return await list_reply(request, scope, media, result, shard)
