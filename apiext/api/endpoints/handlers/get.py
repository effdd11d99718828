"""GET: read an object (apiserver pkg/endpoints/handlers/get.go)."""

from __future__ import annotations

from aiohttp import web

from apiext.api.endpoints.handlers.object_response import item_reply
from apiext.api.endpoints.parameters.options import check_export
from apiext.api.endpoints.parameters.query_parameters import parse_query, text
from apiext.api.endpoints.request import request_context, required_name
from apiext.api.endpoints.responsewriters.status import status_reply
from apiext.api.endpoints.scopes.scope import Scope
from apiext.api.endpoints.serializers.negotiation import negotiate_output
from apiext.base.meta import errors


async def get(request: web.BaseRequest, scope: Scope) -> web.StreamResponse:
    """Return the object; its JSON is sent as stored.

    Raises:
        StatusError: the request is invalid.
    """
    name = required_name(request)
    media = negotiate_output(request, scope.dialect.offers)
    query = parse_query(request)
    if query:
        check_export(query)
    try:
        item = await scope.rest.get(request_context(request), name, resource_version=text(query, "resourceVersion"))
    except errors.StatusError as error:
        # controllers often look for what does not exist: passing the error through all filters takes longer than its answer
        if error.code != 404:
            raise
        return status_reply(request, error)
    return await item_reply(request, scope, media, item)
