"""Writer of definitions from files (`--crd-dir`): the same defaulting, validation and storage as for requests."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from apiext.definitions.codec import RESOURCE
from apiext.endpoints.handlers.write_call import SERVER_USER, WriteCall, perform
from apiext.meta import errors
from apiext.meta.errors import StatusError
from apiext.meta.host_annotations import HOST_UID
from apiext.registry.request_context import CreateOptions, UpdateOptions

if TYPE_CHECKING:
    from apiext.endpoints.handlers.scope import Scope
    from apiext.meta.json_codec import Object
    from apiext.workers.pool import WorkerPool

_MANAGER: Final = "apiext"
"""The manager of the fields that files set."""


async def apply_definition(scope: Scope, workers: WorkerPool, definition: Object) -> None:
    """Create a definition, or replace an existing one's spec and add labels and annotations. Writes nothing if nothing changes.

    Raises:
        StatusError: the definition is rejected, or the existing one is a mirror.
    """
    name = definition["metadata"]["name"]
    if _is_mirror(definition):
        raise errors.bad_request(f"{name}: the annotation {HOST_UID} is reserved for mirrors of host definitions")
    await perform(workers, scope, _apply, WriteCall(SERVER_USER, namespace="", subresource="", name=name, query=definition))


async def _apply(scope: Scope, call: WriteCall) -> None:
    """Do the same in the event loop or in a worker process."""
    name, definition = call.name, call.query

    async def updated(existing: Object) -> Object:
        metadata = dict(existing["metadata"])
        if _is_mirror(existing):
            raise errors.forbidden(RESOURCE, name, "it is a mirror of a host definition, and cannot be changed by files")
        for member in ("labels", "annotations"):
            added = definition["metadata"].get(member)
            if added:
                metadata[member] = {**(metadata.get(member) or {}), **added}
        changed = {**existing, "metadata": metadata, "spec": definition["spec"]}
        await scope.fields.update(existing, changed, _MANAGER)
        return changed

    try:
        await scope.rest.update(call.context, name, updated, UpdateOptions())
    except StatusError as error:
        if error.code != 404:
            raise
        await scope.fields.update({}, definition, _MANAGER)
        await scope.rest.create(call.context, definition, CreateOptions())


def _is_mirror(definition: Object) -> bool:
    return HOST_UID in (definition["metadata"].get("annotations") or {})
