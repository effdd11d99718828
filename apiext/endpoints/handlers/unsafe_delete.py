"""DELETE of an object that cannot be read any more (apiserver pkg/endpoints/handlers/delete.go, authorizeUnsafeDelete)."""

from __future__ import annotations

import dataclasses
from typing import TYPE_CHECKING, Any, Final

from apiext.authorization.authorizer import Decision, ReviewError
from apiext.endpoints.handlers.context import request_context
from apiext.endpoints.handlers.options import UNREADABLE
from apiext.endpoints.request import AUTHORIZE, INFO, USER
from apiext.endpoints.responsewriters.object_response import status_object_reply
from apiext.meta import errors

if TYPE_CHECKING:
    from aiohttp import web

    from apiext.endpoints.handlers.scope import Scope
    from apiext.endpoints.serializers.negotiation import MediaType

_VERB: Final = "unsafe-delete-ignore-read-errors"


async def delete_unreadable(request: web.BaseRequest, scope: Scope, media: MediaType, name: str, *, dry_run: bool) -> web.StreamResponse:
    """Delete it for those who may, past finalizers and admission. Raises StatusError, also where the object can be read."""
    if scope.is_namespaces:
        raise errors.internal(f"no unsafe deleter provided, can not honor {UNREADABLE}")
    await _authorize(request, scope, name)
    await scope.rest.delete_unreadable(request_context(request), name, dry_run=dry_run)
    status: dict[str, Any] = {"kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Success"}
    return await status_object_reply(request, media, status | {"details": {"name": name, "kind": scope.kind.kind}, "code": 200})


async def _authorize(request: web.BaseRequest, scope: Scope, name: str) -> None:
    resource = scope.resource.group_resource
    info = dataclasses.replace(request[INFO], verb=_VERB, name=name)
    try:
        verdict = await request[AUTHORIZE](request[USER], info)
    except ReviewError as error:
        raise errors.forbidden(resource, name, f'error while checking permission for "{_VERB}", {error}') from error
    if verdict.decision is not Decision.ALLOW:
        raise errors.forbidden(resource, name, f'not permitted to do "{_VERB}", reason: {verdict.reason}')
