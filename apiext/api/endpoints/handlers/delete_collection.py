"""DELETE: delete the objects of a collection (apiserver pkg/endpoints/handlers/delete.go, DeleteCollection)."""

from __future__ import annotations

from aiohttp import web

from apiext.api.endpoints.handlers.delete_options import read_delete_options
from apiext.api.endpoints.handlers.object_response import list_reply
from apiext.api.endpoints.handlers.write import WriteSteps
from apiext.api.endpoints.parameters.options import list_query, reject_unsafe_delete
from apiext.api.endpoints.parameters.query_parameters import parse_query
from apiext.api.endpoints.parameters.selector_budget import selector_budget
from apiext.api.endpoints.parameters.shard_selector import shard_selector
from apiext.api.endpoints.request import request_context
from apiext.api.endpoints.scopes.scope import Scope
from apiext.api.endpoints.scopes.write_call import write_call
from apiext.api.endpoints.serializers.negotiation import negotiate_output
from apiext.base.scheduling.time_slice import in_slices


async def delete_collection(request: web.BaseRequest, scope: Scope) -> web.StreamResponse:
    """Delete the objects that the list options select and return their list.

    Raises:
        StatusError: the request is invalid, or the deletion of an object failed.
    """
    ctx = request_context(request)
    media = negotiate_output(request, scope.dialect.offers)
    query = parse_query(request)
    with selector_budget(query):
        listed = await in_slices(list_query(query, scope.dialect.field_label))
        deletion = await read_delete_options(request, query, scope.dialect.max_body)
        reject_unsafe_delete(deletion)
        options = WriteSteps(scope, write_call(request, deletion)).deletion()
        shard = await shard_selector(request, query)
        result = await scope.rest.delete_collection(ctx, options, listed.list_options(shard))
    return await list_reply(request, scope, media, result, shard)
