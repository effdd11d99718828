"""DELETE of one object (apiserver pkg/endpoints/handlers/delete.go)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from apiext.endpoints.handlers.context import Admitter, request_context, required_name
from apiext.endpoints.handlers.delete_options import read_delete_options, registry_options
from apiext.endpoints.handlers.query_parameters import parse_query
from apiext.endpoints.handlers.unsafe_delete import delete_unreadable
from apiext.endpoints.responsewriters.object_response import item_reply, status_object_reply
from apiext.endpoints.serializers.negotiation import negotiate_output
from apiext.registry.request_context import Operation

if TYPE_CHECKING:
    from aiohttp import web

    from apiext.endpoints.handlers.scope import Scope
    from apiext.storage.interface import Item


async def delete(request: web.BaseRequest, scope: Scope) -> web.StreamResponse:
    """Delete the object: a Status once it is gone, else the object as it waits for its finalizers. Raises StatusError."""
    name = required_name(request)
    ctx = request_context(request)
    media = negotiate_output(request, scope.offers)
    asked = await read_delete_options(request, parse_query(request), scope.max_body)
    if asked.ignore_read_error:
        return await delete_unreadable(request, scope, media, name, dry_run=bool(asked.dry_run))
    admitter = Admitter(request, scope, name=name, dry_run=bool(asked.dry_run))
    options = registry_options(asked, admitter.validation(Operation.DELETE))
    item, gone = await scope.rest.delete(ctx, name, options)
    status = 202 if not gone and asked.orphan_dependents is False else 200
    if gone and not scope.returns_deleted:
        return await status_object_reply(request, media, _success(scope, name, item), status=status)
    return await item_reply(request, scope, media, item, status=status)


def _success(scope: Scope, name: str, item: Item) -> dict[str, Any]:
    details = {"name": name, "group": scope.resource.group, "kind": scope.resource.resource}
    details["uid"] = str((item.object().get("metadata") or {}).get("uid", ""))
    return {
        "kind": "Status",
        "apiVersion": "v1",
        "metadata": {},
        "status": "Success",
        "details": {key: member for key, member in details.items() if member},
    }
