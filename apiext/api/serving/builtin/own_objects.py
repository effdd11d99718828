"""Objects that the server itself makes, with the field manager of kube-apiserver's own controllers."""

from __future__ import annotations

from typing import TYPE_CHECKING

from apiext.base.meta import errors
from apiext.resources.managedfields.field_manager import SERVER
from apiext.resources.registry.request_context import CreateOptions, RequestContext

if TYPE_CHECKING:
    from apiext.api.endpoints.scopes.scope import Scope
    from apiext.base.meta.encoding.json_codec import Object
    from apiext.storage.interface import Item


async def find_object(scope: Scope, namespace: str, name: str) -> Item | None:
    """Return an object of the cache, None if it does not exist.

    Raises:
        StatusError: it cannot be read.
    """
    try:
        return await scope.rest.get(RequestContext(namespace=namespace), name, resource_version="0")
    except errors.StatusError as error:
        if error.code == 404:
            return None
        raise


async def create_object(scope: Scope, wanted: Object) -> None:
    """Create an object, without admission. `wanted` does not change.

    Raises:
        StatusError: 409 if it exists; it cannot be written.
    """
    kind, metadata = scope.kind, dict(wanted["metadata"])
    obj: Object = {"kind": kind.kind, "apiVersion": kind.api_version, **wanted, "metadata": metadata}
    scope.codec.decode_body(obj, False)  # noqa: FBT003
    await scope.fields.update({}, obj, SERVER)
    await scope.rest.create(RequestContext(namespace=metadata.get("namespace", "")), obj, CreateOptions())


async def ensure_object(scope: Scope, wanted: Object) -> bool:
    """Create an object unless it exists. Return whether it was created; other servers may do the same at the same time.

    Raises:
        StatusError: it cannot be read or written.
    """
    metadata = wanted["metadata"]
    if await find_object(scope, metadata.get("namespace", ""), metadata["name"]) is not None:
        return False
    try:
        await create_object(scope, wanted)
    except errors.StatusError as error:
        if error.reason != "AlreadyExists":
            raise
        return False
    return True
