"""PUT: replace an object (apiserver pkg/endpoints/handlers/update.go)."""

from __future__ import annotations

from aiohttp import web

from apiext.api.endpoints.handlers.body import read_body
from apiext.api.endpoints.handlers.object_response import item_reply
from apiext.api.endpoints.handlers.write import perform_or_create, update_stored
from apiext.api.endpoints.parameters.options import write_options
from apiext.api.endpoints.request import required_name
from apiext.api.endpoints.scopes.scope import Scope
from apiext.api.endpoints.scopes.write_call import write_call
from apiext.api.endpoints.serializers.negotiation import input_type, negotiate_output


async def update(request: web.BaseRequest, scope: Scope) -> web.StreamResponse:
    """Replace the object with the one in the body. Return it with 200, or 201 if it was created.

    Raises:
        StatusError: the request is invalid, rejected, or in conflict with the stored object.
    """
    required_name(request)
    media = negotiate_output(request, scope.dialect.offers)
    data = await read_body(request, scope.dialect.max_body)
    query = write_options(request, "UpdateOptions")
    media_type = input_type(request, protobuf=scope.dialect.message is not None)
    call = write_call(request, query, media_type, data, manager=query.field_manager)
    item, created = await perform_or_create(request, scope, update_stored, call, creates=scope.dialect.creates_on_update)
    return await item_reply(request, scope, media, item, status=201 if created else 200)
