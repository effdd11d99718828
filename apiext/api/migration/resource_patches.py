"""Writes every object of a resource anew by a patch that changes nothing, which stores it in the storage version.

Mirrors runMigration of kubernetes pkg/controller/storageversionmigrator/storageversionmigrator.go.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, Protocol

from apiext.api.endpoints.handlers.patch import patch_stored
from apiext.api.endpoints.handlers.write import perform
from apiext.api.endpoints.parameters.options import WriteQuery
from apiext.api.endpoints.scopes.dialect import MERGE_PATCH
from apiext.api.endpoints.scopes.write_call import SERVER_USER, WriteCall
from apiext.api.migration.migration_state import MigrationProgress
from apiext.base.meta import errors
from apiext.base.meta.encoding import json_codec

if TYPE_CHECKING:
    from apiext.api.endpoints.scopes.scope import Scope
    from apiext.base.meta.gvk import GroupResource
    from apiext.base.workers.pool import WorkerPool

MANAGER: Final = "storage-version-migrator-controller"
"""The field manager of the patches; it owns a field only if a default has changed."""
_TOGETHER: Final = 8
"""Objects patched at the same time: enough to share a commit of the store, and few enough not to delay clients."""
_TRANSIENT_REASONS: Final = frozenset({"ServerTimeout", "TooManyRequests", "ServiceUnavailable", "InternalError", "Timeout"})
_TRANSIENT_CODES: Final = frozenset({429, 500, 503, 504})
"""Codes of transient errors without a reason."""


@dataclass(frozen=True, slots=True)
class MigratableResource:
    """A resource in the version in which its objects are patched."""

    scope: Scope
    is_writable: bool
    """Whether discovery lists the verbs that a migration needs."""

    def __str__(self) -> str:
        """Return the resource as the reference prints it."""
        group, version, resource = self.scope.resource
        return f"{group}/{version}, Resource={resource}"


class Resources(Protocol):
    """The resources that the server serves."""

    def find(self, resource: GroupResource) -> MigratableResource | None:
        """Return a resource in its preferred version, None if it is not served."""
        ...

    def revisions(self, resource: GroupResource) -> AsyncIterator[tuple[str, int]]:
        """Yield the keys of all objects with their revisions. The state is not older than the call.

        Raises:
            BackendError: the backend does not answer.
        """
        ...


def is_transient(error: errors.StatusError) -> bool:
    """Report whether the same patch may succeed later."""
    return error.reason in _TRANSIENT_REASONS or (not error.reason and error.code in _TRANSIENT_CODES)


class ResourcePatches:
    """One run over the objects of a resource with a revision up to the given one."""

    def __init__(self, resources: Resources, workers: WorkerPool, resource: GroupResource, revision: int) -> None:
        self.progress = MigrationProgress(0, 0)
        self._resources = resources
        self._workers = workers
        self._resource = resource
        self._revision = revision

    async def run(self, is_wanted: Callable[[], bool]) -> errors.StatusError | None:
        """Patch the objects until all are done, one fails, or `is_wanted` returns false; return the first error.

        An object counts as done if a client writes or deletes it meanwhile.

        Raises:
            BackendError: the objects cannot be listed.
        """
        todo, total = [], 0
        async for key, revision in self._resources.revisions(self._resource):
            total += 1
            if revision <= self._revision:
                todo.append((key, revision))
        self.progress = MigrationProgress(len(todo), total)
        for first in range(0, len(todo), _TOGETHER):
            if not is_wanted():
                break
            found = await asyncio.gather(*(self._patch(key, revision) for key, revision in todo[first : first + _TOGETHER]))
            failures = [error for error in found if error is not None]
            self.progress = MigrationProgress(self.progress.left - len(found) + len(failures), total)
            if failures:
                return failures[0]
        return None

    async def _patch(self, key: str, revision: int) -> errors.StatusError | None:
        """Patch an object unless it has changed; return the error if that fails."""
        found = self._resources.find(self._resource)
        if found is None:
            # the objects are deleted with their definition
            return None
        namespace, _, name = key.rpartition("/")
        kind = found.scope.kind
        body = {"kind": kind.kind, "apiVersion": kind.api_version, "metadata": {"resourceVersion": str(revision)}}
        call = WriteCall(SERVER_USER, namespace, "", name, WriteQuery(), MANAGER, MERGE_PATCH, json_codec.dumps(body))
        try:
            await perform(self._workers, found.scope, patch_stored, call)
        except errors.StatusError as error:
            return None if error.code == 404 or error.reason == "Conflict" else error
        return None
