"""Writer of definitions from files (`--crd-dir`): the same defaulting, validation and storage as for requests."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from apiext.definitions import rollback
from apiext.definitions.codec import RESOURCE
from apiext.definitions.rollback import blocking_versions
from apiext.definitions.sources.directory import BlockedError
from apiext.endpoints.handlers.write_call import SERVER_USER, WriteCall, perform_own
from apiext.meta import errors
from apiext.meta.errors import StatusError
from apiext.meta.host_annotations import HOST_UID
from apiext.registry.request_context import CreateOptions, UpdateOptions

if TYPE_CHECKING:
    from collections.abc import Callable

    from apiext.definitions.catalog import Catalog
    from apiext.definitions.definition import Definition
    from apiext.endpoints.handlers.scope import Scope
    from apiext.meta.gvk import GroupResource
    from apiext.meta.json_codec import Object
    from apiext.storage.stored_versions import StoredVersions
    from apiext.workers.pool import WorkerPool

_MANAGER: Final = "apiext"
"""The manager of the fields that files set."""


class DefinitionFiles:
    """Creates definitions, or replaces the spec of existing ones and adds labels and annotations. Writes nothing if nothing changes."""

    def __init__(
        self,
        scope: Scope,
        workers: WorkerPool,
        catalog: Catalog,
        stored: Callable[[GroupResource], StoredVersions],
        *,
        migrates: bool,
    ) -> None:
        """Create the writer. `migrates` tells whether the server has StorageVersionMigrations."""
        self._migrates = migrates
        self._scope = scope
        self._workers = workers
        self._catalog = catalog
        self._stored = stored
        self._rejected: dict[str, tuple[Object, int, StatusError]] = {}
        """The blocked definitions, with the revision of the definition that blocks each."""

    async def apply(self, definition: Object) -> None:
        """Apply the definition of a file.

        Raises:
            StatusError: the definition is rejected, or the existing one is a mirror.
            BlockedError: objects are, or may be, stored in versions that the definition does not have.
            BackendError: the store does not answer.
        """
        name = definition["metadata"]["name"]
        if _is_mirror(definition):
            raise errors.bad_request(f"{name}: the annotation {HOST_UID} is reserved for mirrors of host definitions")
        existing = self._catalog.get(name)
        rejected = self._rejected.pop(name, None)
        if existing is not None and rejected is not None and rejected[:2] == (definition, existing.revision):
            raise await self._blocked(definition, existing, rejected[2])
        call = WriteCall(SERVER_USER, namespace="", subresource="", name=name, query=definition)
        try:
            await perform_own(self._workers, self._scope, _apply, call)
        except StatusError as error:
            if existing is None or not blocking_versions(existing.head, definition):
                raise
            raise await self._blocked(definition, existing, error) from error

    async def _blocked(self, definition: Object, existing: Definition, error: StatusError) -> BlockedError:
        """Return the error with the steps for the present state. Raises BackendError."""
        self._rejected[existing.name] = definition, existing.revision, error
        counts = await self._stored(existing.resource).counts()
        return BlockedError(error.message, rollback.steps(existing.head, definition, counts, migrates=self._migrates))


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
