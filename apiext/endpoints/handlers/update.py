"""PUT: replace an object (apiserver pkg/endpoints/handlers/update.go)."""

from __future__ import annotations

from typing import TYPE_CHECKING

from apiext.endpoints.handlers.body import HEAVY_BYTES, body_type, decode_body, read_body
from apiext.endpoints.handlers.context import Admitter, check_name, match_namespace, request_context, required_name
from apiext.endpoints.handlers.options import manager_or_agent, write_query
from apiext.endpoints.handlers.owner_references import dedup_owner_references
from apiext.endpoints.handlers.query_parameters import parse_query
from apiext.endpoints.responsewriters.object_response import item_reply
from apiext.endpoints.serializers.negotiation import negotiate_output
from apiext.meta import background
from apiext.registry.metadata import own
from apiext.registry.request_context import AdmissionOperation, UpdateOptions
from apiext.registry.rest import uid_precondition

if TYPE_CHECKING:
    from aiohttp import web

    from apiext.endpoints.handlers.scope import Scope
    from apiext.meta.json_codec import Object
    from apiext.registry.request_context import Updater


async def update(request: web.BaseRequest, scope: Scope) -> web.StreamResponse:
    """Replace the object with the one in the body. Return it with 200, or 201 if it was created.

    Raises:
        StatusError: the request is invalid, rejected, or in conflict with the stored object.
    """
    name = required_name(request)
    ctx = request_context(request)
    media = negotiate_output(request, scope.offers)
    data = await read_body(request, scope.max_body)
    background.is_heavy.set(len(data) > HEAVY_BYTES)
    query = write_query(parse_query(request), "UpdateOptions")
    media_type = body_type(request, scope)
    obj = await decode_body(scope, data, media_type, query.field_validation, ctx.warnings)
    match_namespace(scope, obj, ctx.namespace)
    check_name(obj, name)
    dedup_owner_references(obj, ctx.warnings)
    admitter = Admitter(request, scope, name=name, dry_run=query.dry_run)
    options = UpdateOptions(
        dry_run=query.dry_run,
        field_manager=manager_or_agent(query.field_manager, request.headers.get("User-Agent", "")),
        preconditions=uid_precondition(obj),
        admit=admitter.validation(AdmissionOperation.UPDATE),
    )
    item, created = await scope.rest.update(ctx, name, _replacement(obj, admitter, ctx.warnings), options)
    return await item_reply(request, scope, media, item, status=201 if created else 200)


def _replacement(obj: Object, admitter: Admitter, warnings: list[str]) -> Updater:
    """Return the updater of a PUT: the body after admission, whatever the existing object is."""

    async def updated(existing: Object) -> Object:
        # A copy, since admission may change it and the registry may call the updater again.
        new = own(obj)
        exists = bool((existing.get("metadata") or {}).get("uid"))
        operation = AdmissionOperation.UPDATE if exists else AdmissionOperation.CREATE
        new = await admitter.mutate(operation, new, existing if exists else None)
        dedup_owner_references(new, warnings, after_admission=True)
        return new

    return updated
