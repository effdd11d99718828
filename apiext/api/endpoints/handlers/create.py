"""POST: create an object (apiserver pkg/endpoints/handlers/create.go)."""

from __future__ import annotations

from aiohttp import web

from apiext.api.endpoints.handlers.body import read_body
from apiext.api.endpoints.handlers.object_response import item_reply
from apiext.api.endpoints.handlers.write import create_stored, perform
from apiext.api.endpoints.parameters.options import write_options
from apiext.api.endpoints.request import WORKERS
from apiext.api.endpoints.scopes.scope import Scope
from apiext.api.endpoints.scopes.write_call import write_call
from apiext.api.endpoints.serializers.negotiation import input_type, negotiate_output


async def create(request: web.BaseRequest, scope: Scope) -> web.StreamResponse:
    """Create the object in the body and return it with 201.

    Raises:
        StatusError: the request is invalid, rejected, or the object exists.
    """
    media = negotiate_output(request, scope.dialect.offers)
    media_type = input_type(request, protobuf=scope.dialect.message is not None)
    data = await read_body(request, scope.dialect.max_body)
    query = write_options(request, "CreateOptions")
    item = await perform(request[WORKERS], scope, create_stored, write_call(request, query, media_type, data, manager=query.field_manager))
    return await item_reply(request, scope, media, item, status=201)
