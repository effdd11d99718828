"""Migrations on the map: StorageVersionMigrations of a definition's resource."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

from apiext.meta.objectmeta import conditions
from apiext.migration import migration_state
from apiext.registry.builtin.storageversionmigration import FAILED, RUNNING
from apiext.registry.request_context import RequestContext
from apiext.server.version_map.entries import MigrationProgressShown
from apiext.storage.interface import ListOptions

if TYPE_CHECKING:
    from collections.abc import Callable

    from apiext.endpoints.scopes.scope import Scope
    from apiext.meta.encoding.json_codec import Object
    from apiext.meta.gvk import GroupResource
    from apiext.migration.migration_state import MigrationProgress

    FindProgress = Callable[[str], MigrationProgress | None]
    """Returns the progress of the migration with a uid, None if this server does not run it."""

_SHOWN: Final = 5
"""Migrations of a resource that are shown, the latest ones."""
_COUNTS: Final = re.compile(r"(\d+)/(\d+) (?:objects )?not yet migrated|(\d+) objects verified migrated")
_MAX_MESSAGE: Final = 500
"""Characters."""


async def migrations_by_resource(scope: Scope, progress: FindProgress | None) -> dict[GroupResource, list[MigrationProgressShown]]:
    """Return the latest migrations of each resource, the newest first.

    Raises:
        BackendError, StorageError, StatusError: they cannot be read.
    """
    listed = await scope.rest.list(RequestContext(), ListOptions(resource_version="0"))
    found: dict[GroupResource, list[MigrationProgressShown]] = {}
    objects = [item.object() for item in listed.items]
    for one in sorted(objects, key=lambda one: str(one["metadata"].get("creationTimestamp")), reverse=True):
        rows = found.setdefault(migration_state.resource_of(one), [])
        if len(rows) < _SHOWN:
            rows.append(_shown(one, None if progress is None else progress(one["metadata"]["uid"])))
    return found


def _shown(migration: Object, progress: MigrationProgress | None) -> MigrationProgressShown:
    metadata, state, message = migration["metadata"], *_state(migration)
    left, total = _counts(message) if progress is None else progress
    return MigrationProgressShown(
        metadata["name"], state, str(metadata.get("creationTimestamp") or ""), message[:_MAX_MESSAGE], left, total
    )


def _state(migration: Object) -> tuple[str, str]:
    """Return the state, and the message of the condition that tells it."""
    found = {one["type"]: str(one.get("message") or "") for one in migration["status"].get("conditions") or ()}
    if migration_state.has_succeeded(migration):
        return "succeeded", found.get(RUNNING, "")
    if conditions.is_true(migration["status"].get("conditions") or (), FAILED):
        return "failed", found.get(FAILED, "")
    if migration_state.is_running(migration):
        return "running", found.get(RUNNING, "")
    return "pending", ""


def _counts(message: str) -> tuple[int | None, int | None]:
    """Return the objects that are left, and all objects, as far as a message names them."""
    match = _COUNTS.search(message)
    if match is None:
        return None, None
    return (0, int(match[3])) if match[3] else (int(match[1]), int(match[2]))
