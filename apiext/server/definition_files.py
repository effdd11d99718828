"""Writer of definitions from files (`--crd-dir`): the same defaulting, validation and storage as for requests."""

from __future__ import annotations

from typing import TYPE_CHECKING

from apiext.definitions.codec import RESOURCE
from apiext.meta import errors
from apiext.meta.errors import StatusError
from apiext.meta.host_annotations import HOST_UID
from apiext.registry.request_context import CreateOptions, RequestContext, UpdateOptions

if TYPE_CHECKING:
    from apiext.endpoints.handlers.scope import CollectionRest
    from apiext.meta.json_codec import Object


async def apply_definition(rest: CollectionRest, definition: Object) -> None:
    """Create a definition, or replace an existing one's spec and add labels and annotations. Writes nothing if nothing changes.

    Raises:
        StatusError: the definition is rejected, or the existing one is a mirror.
    """
    context = RequestContext()
    name = definition["metadata"]["name"]
    if _is_mirror(definition):
        raise errors.bad_request(f"{name}: the annotation {HOST_UID} is reserved for mirrors of host definitions")

    async def updated(existing: Object) -> Object:
        metadata = dict(existing["metadata"])
        if _is_mirror(existing):
            raise errors.forbidden(RESOURCE, name, "it is a mirror of a host definition, and cannot be changed by files")
        for member in ("labels", "annotations"):
            added = definition["metadata"].get(member)
            if added:
                metadata[member] = {**(metadata.get(member) or {}), **added}
        return {**existing, "metadata": metadata, "spec": definition["spec"]}

    try:
        await rest.update(context, name, updated, UpdateOptions())
    except StatusError as error:
        if error.code != 404:
            raise
        await rest.create(context, definition, CreateOptions())


def _is_mirror(definition: Object) -> bool:
    return HOST_UID in (definition["metadata"].get("annotations") or {})
