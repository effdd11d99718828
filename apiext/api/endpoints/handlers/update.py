"""PUT: replace an object (apiserver pkg/endpoints/handlers/update.go)."""

from __future__ import annotations

from aiohttp import web

from apiext.api.endpoints.handlers.body import decode_body, read_body
from apiext.api.endpoints.handlers.object_response import item_reply
from apiext.api.endpoints.handlers.owner_references import dedup_owner_references
from apiext.api.endpoints.parameters.options import write_options
from apiext.api.endpoints.request import WORKERS
from apiext.api.endpoints.scopes.context import Admitter, authorize_create, check_name, match_namespace, required_name
from apiext.api.endpoints.scopes.execution import perform
from apiext.api.endpoints.scopes.scope import Scope
from apiext.api.endpoints.scopes.write_call import WriteCall, write_call
from apiext.api.endpoints.serializers.negotiation import input_type, negotiate_output
from apiext.base.meta import errors
from apiext.base.meta.encoding import json_values
from apiext.base.meta.encoding.json_codec import Object
from apiext.base.meta.request import AdmissionOperation
from apiext.resources.registry.metadata import own
from apiext.resources.registry.request_context import UpdateOptions
from apiext.resources.registry.rest import uid_precondition
from apiext.storage.interface import Item


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
    warned = len(call.warnings)
    try:
        item, created = await perform(request[WORKERS], scope, _update, call)
    except errors.StatusError as error:
        if error.code != 404 or not scope.dialect.creates_on_update:
            raise
        await authorize_create(request, scope)
        # the second attempt repeats its warnings
        del call.warnings[warned:]
        item, created = await perform(request[WORKERS], scope, _create_or_update, call)
    return await item_reply(request, scope, media, item, status=201 if created else 200)


async def _create_or_update(scope: Scope, call: WriteCall) -> tuple[Item, bool]:
    return await _update(scope, call, create=True)


async def _update(scope: Scope, call: WriteCall, *, create: bool = False) -> tuple[Item, bool]:
    """Return the object, and whether it was created."""
    ctx, name, query = call.context, call.name, call.query
    obj = decode_body(scope, call.data, call.media_type, query.field_validation, ctx.warnings)
    if call.record is not None:
        call.record.take_object(obj)
    match_namespace(scope, obj, ctx.namespace)
    check_name(obj, name)
    dedup_owner_references(obj, ctx.warnings)
    admitter = Admitter(scope, call, name)

    async def replacement(existing: Object) -> Object:
        # A copy: admission may change it, and the registry may call this again.
        new = own(obj)
        json_values.share(new, existing)
        exists = bool((existing.get("metadata") or {}).get("uid"))
        await scope.fields.update(existing, new, call.manager)
        operation = AdmissionOperation.UPDATE if exists else AdmissionOperation.CREATE
        new = await admitter.mutate(operation, new, existing if exists else None)
        dedup_owner_references(new, ctx.warnings, after_admission=True)
        return new

    options = UpdateOptions(
        dry_run=query.dry_run,
        preconditions=uid_precondition(obj),
        admit=admitter.validation(AdmissionOperation.UPDATE),
        limit=scope.inline_limit,
        create=create,
    )
    return await scope.rest.update(ctx, name, replacement, options)
