"""PUT of an object (apiserver pkg/endpoints/handlers/update.go)."""

from __future__ import annotations

from typing import TYPE_CHECKING

from apiext.endpoints.handlers.body import HEAVY, body_type, decode_body, read_body
from apiext.endpoints.handlers.context import Admitter, check_name, match_namespace, request_context, required_name
from apiext.endpoints.handlers.options import manager_or_agent, write_query
from apiext.endpoints.handlers.owner_references import dedup_owner_references
from apiext.endpoints.handlers.query_parameters import parse_query
from apiext.endpoints.responsewriters.object_response import item_reply
from apiext.endpoints.serializers.negotiation import negotiate_output
from apiext.meta import background
from apiext.registry.metadata import own
from apiext.registry.request_context import Operation, UpdateOptions
from apiext.registry.rest import uid_precondition

if TYPE_CHECKING:
    from aiohttp import web

    from apiext.endpoints.handlers.scope import Scope
    from apiext.meta.json_codec import Object
    from apiext.registry.request_context import Updater


async def update(request: web.BaseRequest, scope: Scope) -> web.StreamResponse:
    """Replace the object by the one in the body; 201 when that created it. Raises StatusError."""
    name = required_name(request)
    ctx = request_context(request)
    media = negotiate_output(request, scope.offers)
    data = await read_body(request, scope.max_body)
    background.is_heavy.set(len(data) > HEAVY)
    asked = write_query(parse_query(request), "UpdateOptions")
    media_type = body_type(request, scope)
    obj = await decode_body(scope, data, media_type, asked.field_validation, ctx.warnings)
    match_namespace(scope, obj, ctx.namespace)
    check_name(obj, name)
    dedup_owner_references(obj, ctx.warnings)
    admitter = Admitter(request, scope, name=name, dry_run=asked.dry_run)
    options = UpdateOptions(
        dry_run=asked.dry_run,
        field_manager=manager_or_agent(asked.field_manager, request.headers.get("User-Agent", "")),
        preconditions=uid_precondition(obj),
        admit=admitter.validation(Operation.UPDATE),
    )
    item, created = await scope.rest.update(ctx, name, _replacing(obj, admitter, ctx.warnings), options)
    return await item_reply(request, scope, media, item, status=201 if created else 200)


def _replacing(obj: Object, admitter: Admitter, warnings: list[str]) -> Updater:
    """The updater of a PUT: the body, through admission, whatever stands there."""

    async def updated(existing: Object) -> Object:
        # Admission may change what it gets, and the registry may ask again.
        new = own(obj)
        exists = bool((existing.get("metadata") or {}).get("uid"))
        operation = Operation.UPDATE if exists else Operation.CREATE
        new = await admitter.mutate(operation, new, existing if exists else None)
        dedup_owner_references(new, warnings, after_admission=True)
        return new

    return updated
