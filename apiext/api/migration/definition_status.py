"""The condition StorageMigrating of a definition, and the removal of stored versions after a migration.

Mirrors kubernetes pkg/controller/storageversionmigrator/migrationrunner.go, with three differences that keep storedVersions complete:
a failed migration removes no version, a migration keeps versions that still have objects, and the start of a migration keeps the list.
The reference loses the list there: it applied the list in its previous migration, and omits it from its next apply.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from apiext.api.endpoints.handlers.patch import patch_stored
from apiext.api.endpoints.handlers.write import perform
from apiext.api.endpoints.parameters.options import WriteQuery
from apiext.api.endpoints.scopes.dialect import APPLY_PATCH
from apiext.api.endpoints.scopes.write_call import SERVER_USER, WriteCall
from apiext.base.meta import errors, time
from apiext.base.meta.encoding import json_codec
from apiext.base.texts import counted
from apiext.resources.definitions import conditions
from apiext.resources.registry.request_context import RequestContext

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Mapping

    from apiext.api.endpoints.scopes.scope import Scope
    from apiext.base.meta.encoding.json_codec import Object
    from apiext.base.meta.gvk import GroupResource
    from apiext.base.workers.pool import WorkerPool
    from apiext.storage.stored_bytes.version_counts import StoredCounts

MANAGER: Final = "migration-runner-controller"
CONDITION: Final = "StorageMigrating"
_ATTEMPTS: Final = 5


class DefinitionStatus:
    """Writes the status of definitions. `scopes` serve definitions; `stored` counts the objects of a resource."""

    def __init__(
        self, scopes: Mapping[str, Scope], workers: WorkerPool, stored: Callable[[GroupResource], Awaitable[StoredCounts]]
    ) -> None:
        self._scopes = scopes
        self._workers = workers
        self._stored = stored

    async def begin(self, resource: GroupResource, migration: str) -> None:
        """Report the start of a migration of a resource; do nothing if no definition has the resource.

        Raises:
            StatusError: the definition cannot be written.
        """

        async def status(crd: Object) -> Object:
            condition = _condition("True", "MigrationRunning", f"Migration {migration} is running", crd)
            return {"conditions": [condition]} | _owned(crd)

        await self._apply(resource, status)

    async def finish(self, resource: GroupResource, *, succeeded: bool) -> None:
        """Report the end of a migration. If it succeeded and the definition is unchanged, remove versions in which nothing is stored.

        Raises:
            StatusError: the definition cannot be written, or the objects cannot be counted.
        """

        async def status(crd: Object) -> Object:
            if not succeeded:
                return {"conditions": [_condition("False", "MigrationFailed", "The migration has failed", crd)]} | _owned(crd)
            message = "The migration has succeeded"
            begun = conditions.find(crd, CONDITION)
            if begun is None or begun.get("observedGeneration", 0) != _generation(crd):
                message += " but the stored versions have not been updated due to a generation mismatch"
                return {"conditions": [_condition("False", "MigrationSucceeded", message, crd)]} | _owned(crd)
            kept, left = await self._kept(resource, crd)
            message += f" and the stored versions have been updated{left}"
            return {"conditions": [_condition("False", "MigrationSucceeded", message, crd)], "storedVersions": kept}

        await self._apply(resource, status)

    async def _kept(self, resource: GroupResource, crd: Object) -> tuple[list[str], str]:
        """Return the stored versions that remain, and a text about the old ones among them."""
        storage = next(version["name"] for version in crd["spec"]["versions"] if version["storage"])
        counts = await self._stored(resource)
        others = [name for name in crd["status"]["storedVersions"] or () if name != storage and counts.at_most(name)]
        left = ", ".join(f"{counted(counts.at_most(name), 'object')} may still be stored in {name}" for name in others)
        return [storage, *others], f", but {left}" if left else ""

    async def _apply(self, resource: GroupResource, status: Callable[[Object], Awaitable[Object]]) -> None:
        """Make a status from the current definition and apply it; start again if the definition has changed meanwhile."""
        name = f"{resource.resource}.{resource.group}"
        for attempt in range(1, _ATTEMPTS + 1):
            try:
                item = await self._scopes[""].rest.get(RequestContext(), name)
            except errors.StatusError as error:
                if error.code == 404:
                    return
                raise
            crd = item.object()
            metadata = {"name": name, "resourceVersion": crd["metadata"]["resourceVersion"]}
            configuration = {"apiVersion": crd["apiVersion"], "kind": crd["kind"], "metadata": metadata, "status": await status(crd)}
            query = WriteQuery(field_manager=MANAGER, force=True)
            call = WriteCall(SERVER_USER, "", "status", name, query, MANAGER, APPLY_PATCH, json_codec.dumps(configuration))
            try:
                await perform(self._workers, self._scopes["status"], patch_stored, call)
            except errors.StatusError as error:
                if error.reason != "Conflict" or attempt == _ATTEMPTS:
                    raise
            else:
                return


def _condition(status: str, reason: str, message: str, crd: Object) -> dict[str, Any]:
    return {
        "type": CONDITION,
        "status": status,
        "lastTransitionTime": time.now(),
        "reason": reason,
        "message": message,
        "observedGeneration": _generation(crd),
    }


def _generation(crd: Object) -> int:
    generation: int = crd["metadata"].get("generation", 0)
    return generation


def _owned(crd: Object) -> Object:
    """Return the current stored versions if an earlier migration applied them: an apply without them would remove them."""
    for entry in crd["metadata"].get("managedFields") or ():
        applied = entry.get("manager") == MANAGER and entry.get("operation") == "Apply"
        if applied and "f:storedVersions" in (entry.get("fieldsV1") or {}).get("f:status", {}):
            return {"storedVersions": crd["status"]["storedVersions"]}
    return {}
