"""Writes definitions from files (`--crd-dir`), with the same defaulting, validation and storage as requests."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Final

from apiext.api.endpoints.handlers.write import perform_own
from apiext.api.endpoints.scopes.write_call import SERVER_USER, WriteCall
from apiext.base.meta import errors
from apiext.base.meta.errors import StatusError
from apiext.base.meta.host_annotations import HOST_UID
from apiext.base.scheduling.backoff import Backoff
from apiext.resources.definitions import rollback
from apiext.resources.definitions.codec import RESOURCE
from apiext.resources.definitions.rollback import blocking_versions
from apiext.resources.definitions.sources.directory import BlockedError
from apiext.resources.registry.request_context import CreateOptions, UpdateOptions

if TYPE_CHECKING:
    from collections.abc import Callable

    from apiext.api.endpoints.scopes.scope import Scope
    from apiext.base.meta.encoding.json_codec import Object
    from apiext.base.meta.gvk import GroupResource
    from apiext.base.workers.pool import WorkerPool
    from apiext.resources.definitions.catalog import Catalog
    from apiext.resources.definitions.definition import Definition
    from apiext.storage.stored_bytes.version_counts import StoredCounts, StoredVersions

_MANAGER: Final = "apiext"
"""The manager of the fields that files set."""
_FIRST_COUNT_SECONDS: Final = 10.0
"""Pause before the objects that block a file are counted again by a scan of the store; it doubles each time."""
_LONGEST_COUNT_SECONDS: Final = 300.0


class _Rejected:
    """A definition from a file that the current state of the existing definition blocks."""

    def __init__(self, definition: Object, revision: int, error: StatusError) -> None:
        """Create a record; `revision` is the revision of the existing definition."""
        self.definition = definition
        self.error = error
        self._revision = revision
        self._counts: StoredCounts | None = None
        self._count_at = 0.0
        self._backoff = Backoff(_FIRST_COUNT_SECONDS, _LONGEST_COUNT_SECONDS)

    def is_about(self, definition: Object, existing: Definition) -> bool:
        """Report whether neither the definition of the file nor the existing one has changed."""
        return (definition, existing.revision) == (self.definition, self._revision)

    async def count(self, stored: StoredVersions) -> StoredCounts:
        """Return the counts of stored objects; stale ones if a new count needs a scan that is not due. Raises BackendError."""
        now = asyncio.get_running_loop().time()
        known = stored.known()
        if known is not None:
            return known
        if self._counts is None or now >= self._count_at:
            self._counts = await stored.counts()
            self._count_at = now + self._backoff.take()
        return self._counts


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
        self._rejected: dict[str, _Rejected] = {}

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
        if existing is not None and rejected is not None and rejected.is_about(definition, existing):
            raise await self._blocked(existing, rejected)
        call = WriteCall(SERVER_USER, namespace="", subresource="", name=name, query=definition)
        try:
            await perform_own(self._workers, self._scope, _apply, call)
        except StatusError as error:
            if existing is None or not blocking_versions(existing.head, definition):
                raise
            raise await self._blocked(existing, _Rejected(definition, existing.revision, error)) from error

    async def _blocked(self, existing: Definition, rejected: _Rejected) -> BlockedError:
        """Return the error with the steps for the present state. Raises BackendError."""
        self._rejected[existing.name] = rejected
        counts = await rejected.count(self._stored(existing.resource))
        return BlockedError(rejected.error.message, rollback.steps(existing.head, rejected.definition, counts, migrates=self._migrates))


async def _apply(scope: Scope, call: WriteCall) -> None:
    """Write the definition of a call; runs in the event loop or in a worker process."""
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
        try:
            await scope.rest.create(call.context, definition, CreateOptions())
        except StatusError as conflict:
            if conflict.code != 409:
                raise
            # another server with the same files was faster
            await scope.rest.update(call.context, name, updated, UpdateOptions())


def _is_mirror(definition: Object) -> bool:
    return HOST_UID in (definition["metadata"].get("annotations") or {})
