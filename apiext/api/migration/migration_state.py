"""The state of StorageVersionMigrations in their conditions, and the next one to run.

Mirrors the conditions, reasons and messages of kubernetes pkg/controller/storageversionmigrator.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from apiext.base.meta.gvk import GroupResource
from apiext.base.meta.objectmeta import conditions
from apiext.resources.registry.builtin.storageversion import FAILED, RUNNING, SUCCEEDED

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from apiext.base.meta.encoding.json_codec import Object


class MigrationProgress(NamedTuple):
    """The progress of a migration."""

    left: int
    """Objects that are not migrated yet."""
    total: int
    """All objects of the resource when the migration began."""


def resource_of(migration: Object) -> GroupResource:
    """Return the resource of a migration."""
    resource = migration["spec"]["resource"]
    return GroupResource(resource["group"], resource["resource"])


def is_running(migration: Object) -> bool:
    """Report whether a migration has started, and its end is not completely recorded."""
    return conditions.is_true(_conditions(migration), RUNNING)


def is_finished(migration: Object) -> bool:
    """Report whether a migration has a result."""
    return has_succeeded(migration) or conditions.is_true(_conditions(migration), FAILED)


def has_succeeded(migration: Object) -> bool:
    """Report whether a migration was successful."""
    return conditions.is_true(_conditions(migration), SUCCEEDED)


def _conditions(migration: Object) -> Sequence[Object]:
    found: Sequence[Object] = migration["status"].get("conditions") or ()
    return found


def next_of(migrations: Iterable[Object]) -> tuple[list[Object], Object | None]:
    """Return the finished migrations that still count as running, and the one to start; None if one runs or none waits."""
    started = [one for one in migrations if is_running(one)]
    waiting = [one for one in migrations if not is_running(one) and not is_finished(one)]
    finished = [one for one in started if is_finished(one)]
    if len(finished) < len(started) or not waiting:
        return finished, None
    return finished, min(waiting, key=lambda one: (one["metadata"]["creationTimestamp"], one["metadata"]["name"]))


# --- changes of the status ------------------------------------------------------------------------------------------


def started(migration: Object) -> Object:
    """Return a migration as running."""
    return migration if is_running(migration) else _with(migration, _running())


def at_revision(migration: Object, revision: str) -> Object:
    """Return a migration with the revision up to which objects need it; an earlier recorded revision stays."""
    status = migration["status"]
    return migration if status.get("resourceVersion") else migration | {"status": status | {"resourceVersion": revision}}


def interrupted(migration: Object, progress: MigrationProgress, error: str) -> Object:
    """Return a running migration with the error that interrupted it; it will continue."""
    return _with(migration, _running(progress, error))


def succeeded(migration: Object, progress: MigrationProgress) -> Object:
    """Return a migration as successful."""
    done = {"type": SUCCEEDED, "status": "True", "reason": "StorageVersionMigrationSucceeded", "message": "Migration completed"}
    return _with(migration, _running(progress), done)


def failed(migration: Object, message: str, progress: MigrationProgress | None = None) -> Object:
    """Return a migration as failed."""
    failure = {"type": FAILED, "status": "True", "reason": "StorageVersionMigrationFailed", "message": message}
    return _with(migration, *(() if progress is None else (_running(progress),)), failure)


def ended(migration: Object) -> Object:
    """Return a finished migration as not running any more."""
    done = {"type": RUNNING, "status": "False", "reason": "MigrationCompleted", "message": "Migration completed"}
    return _with(migration, done) if is_running(migration) else migration


def unhandled(error: str, progress: MigrationProgress | None = None) -> str:
    """Return the message of a failure."""
    counts = "" if progress is None else f"{progress.left}/{progress.total} not yet migrated. "
    return f"{counts}migration encountered unhandled error: {error}"


def _running(progress: MigrationProgress | None = None, error: str = "") -> Object:
    message = "The migration is running"
    if progress is not None and progress.total:
        left, total = progress
        message += f", {left}/{total} objects not yet migrated" if left else f", {total} objects verified migrated"
    if error:
        message += f"; transient error: {error}"
    return {"type": RUNNING, "status": "True", "reason": "MigrationRunning", "message": message}


def _with(migration: Object, *changes: Object) -> Object:
    found = list(_conditions(migration))
    for change in changes:
        found = conditions.with_condition(found, change)
    return migration | {"status": migration["status"] | {"conditions": found}}
