"""DELETE: delete an object (apiserver pkg/endpoints/handlers/delete.go)."""

from __future__ import annotations

import dataclasses
from typing import Final

from aiohttp import web

from apiext.api.authorization.authorizer import Decision, ReviewError
from apiext.api.endpoints.handlers.delete_options import read_delete_options
from apiext.api.endpoints.handlers.object_response import item_reply, success_reply
from apiext.api.endpoints.handlers.write import delete_stored, perform
from apiext.api.endpoints.parameters.options import UNREADABLE
from apiext.api.endpoints.parameters.query_parameters import parse_query
from apiext.api.endpoints.request import AUTHORIZE, INFO, USER, WORKERS, audit_of, request_context, required_name
from apiext.api.endpoints.scopes.scope import Scope
from apiext.api.endpoints.scopes.write_call import write_call
from apiext.api.endpoints.serializers.negotiation import MediaType, negotiate_output
from apiext.base.meta import errors

_UNSAFE_ANNOTATION: Final = "apiserver.k8s.io/unsafe-delete-ignore-read-error"
_UNSAFE_VERB: Final = "unsafe-delete-ignore-read-errors"


async def delete(request: web.BaseRequest, scope: Scope) -> web.StreamResponse:
    """Delete the object. Return a Status if it was removed, or the object if its finalizers still have to run.

    Raises:
        StatusError: the request is invalid, rejected, or in conflict with the stored object.
    """
    name = required_name(request)
    media = negotiate_output(request, scope.dialect.offers)
    query = await read_delete_options(request, parse_query(request), scope.dialect.max_body)
    if query.ignore_read_error:
        if (audit := audit_of(request)) is not None:
            audit.annotate(_UNSAFE_ANNOTATION, "")
        return await _delete_unreadable(request, scope, media, name, dry_run=bool(query.dry_run))
    if (query.grace_period_seconds or 0) < 0:
        # admission sees what the reference's registry makes of it
        query = dataclasses.replace(query, grace_period_seconds=1)
    item, removed, uid = await perform(request[WORKERS], scope, delete_stored, write_call(request, query))
    if removed and not scope.dialect.returns_deleted:
        details = {"name": name, "group": scope.resource.group, "kind": scope.resource.resource, "uid": uid}
        return await success_reply(request, media, details)
    status = 202 if not removed and query.orphan_dependents is False else 200
    return await item_reply(request, scope, media, item, status=status)


async def _delete_unreadable(request: web.BaseRequest, scope: Scope, media: MediaType, name: str, *, dry_run: bool) -> web.StreamResponse:
    """Delete an unreadable object, without finalizers and admission (authorizeUnsafeDelete)."""
    if scope.is_namespaces:
        raise errors.internal(f"no unsafe deleter provided, can not honor {UNREADABLE}")
    await _authorize_unsafe_delete(request, scope, name)
    await scope.rest.delete_unreadable(request_context(request), name, dry_run=dry_run)
    return await success_reply(request, media, {"name": name, "kind": scope.kind.kind}, code=200)


async def _authorize_unsafe_delete(request: web.BaseRequest, scope: Scope, name: str) -> None:
    resource = scope.resource.group_resource
    info = dataclasses.replace(request[INFO], verb=_UNSAFE_VERB, name=name)
    try:
        verdict = await request[AUTHORIZE](request[USER], info)
    except ReviewError as error:
        raise errors.forbidden(resource, name, f'error while checking permission for "{_UNSAFE_VERB}", {error}') from error
    if verdict.decision is not Decision.ALLOW:
        raise errors.forbidden(resource, name, f'not permitted to do "{_UNSAFE_VERB}", reason: {verdict.reason}')
