"""Definitions of files go the way of those that clients send: the same defaults, the same validation, the same store."""

from __future__ import annotations

from typing import TYPE_CHECKING

from apiext.definitions.codec import RESOURCE
from apiext.meta import errors
from apiext.meta.errors import StatusError
from apiext.meta.host_annotations import HOST_UID
from apiext.registry.request_context import CreateOptions, RequestContext, UpdateOptions
from apiext.serving.definition_instances import SYSTEM

if TYPE_CHECKING:
    from apiext.endpoints.handlers.scope import CollectionRest
    from apiext.meta.json_codec import Object

_MANAGER = "apiext-crd-dir"


class DefinitionWriter:
    """Writes definitions through the registry."""

    def __init__(self, rest: CollectionRest) -> None:
        self._rest = rest

    async def apply(self, definition: Object) -> None:
        """Create a definition, or give an existing one this spec and add these labels and annotations.

        What is already so is not written again.

        Raises:
            StatusError: it is refused, or the definition of this name is the host's.
        """
        context = RequestContext(user=SYSTEM)
        name = definition["metadata"]["name"]
        if _is_mirror(definition):
            raise errors.bad_request(f"{name}: the annotation {HOST_UID} is for definitions that are read from a host")

        async def updated(existing: Object) -> Object:
            metadata = dict(existing["metadata"])
            if _is_mirror(existing):
                raise errors.forbidden(RESOURCE, name, "it is read from the host, and not changed by files")
            for member in ("labels", "annotations"):
                added = definition["metadata"].get(member)
                if added:
                    metadata[member] = {**(metadata.get(member) or {}), **added}
            return {**existing, "metadata": metadata, "spec": definition["spec"]}

        try:
            await self._rest.update(context, name, updated, UpdateOptions(field_manager=_MANAGER))
        except StatusError as error:
            if error.code != 404:
                raise
            await self._rest.create(context, definition, CreateOptions(field_manager=_MANAGER))


def _is_mirror(definition: Object) -> bool:
    return HOST_UID in (definition["metadata"].get("annotations") or {})
