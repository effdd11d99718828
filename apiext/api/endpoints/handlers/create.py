"""POST: create an object (apiserver pkg/endpoints/handlers/create.go)."""

from __future__ import annotations

from aiohttp import web

from apiext.api.endpoints.handlers.body import decode_body, read_body
from apiext.api.endpoints.handlers.object_response import item_reply
from apiext.api.endpoints.handlers.owner_references import dedup_owner_references
from apiext.api.endpoints.parameters.options import write_options
from apiext.api.endpoints.request import WORKERS
from apiext.api.endpoints.scopes.context import Admitter, match_namespace
from apiext.api.endpoints.scopes.execution import perform
from apiext.api.endpoints.scopes.scope import Scope
from apiext.api.endpoints.scopes.write_call import WriteCall, write_call
from apiext.api.endpoints.serializers.negotiation import input_type, negotiate_output
from apiext.base.meta.request import AdmissionOperation
from apiext.resources.registry.metadata import own, wipe_system_fields
from apiext.resources.registry.request_context import CreateOptions
from apiext.storage.interface import Item


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


async def create_stored(scope: Scope, call: WriteCall) -> Item:
    """Create the object of a call and return it. The caller authorizes.

    Raises:
        StatusError: the object is invalid, rejected, or exists.
    """
    ctx, query = call.context, call.query
    obj = decode_body(scope, call.data, call.media_type, query.field_validation, ctx.warnings)
    obj = own(obj)
    if call.record is not None:
        call.record.take_object(obj)
    if not scope.dialect.keeps_metadata:
        wipe_system_fields(obj["metadata"])
    match_namespace(scope, obj, ctx.namespace)
    dedup_owner_references(obj, ctx.warnings)
    await scope.fields.update({}, obj, call.manager)
    # of a subresource, such as the token of a ServiceAccount, the path has the name
    name = ctx.name or str((obj.get("metadata") or {}).get("name", ""))
    admitter = Admitter(scope, call, name)
    obj = await admitter.mutate(AdmissionOperation.CREATE, obj, None)
    dedup_owner_references(obj, ctx.warnings, after_admission=True)
    options = CreateOptions(dry_run=query.dry_run, admit=admitter.validation(AdmissionOperation.CREATE))
    return await scope.rest.create(ctx, obj, options)
