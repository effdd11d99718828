"""Runs StorageVersionMigrations: one at a time for each resource, and a few resources at a time.

The status of a migration holds its whole state, so another server can continue it. Of several servers on a store, only the leader works.
Two leaders would do no harm: patches name the revision that they replace, and changes of a status are repeatable.
Mirrors kubernetes pkg/controller/storageversionmigrator, whose three controllers share this watch.
"""

from __future__ import annotations

import asyncio
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Final

from apiext.api.migration import migration_state
from apiext.api.migration.migration_state import is_finished, is_running, resource_of, unhandled
from apiext.api.migration.resource_patches import ResourcePatches, is_transient
from apiext.base.meta import errors, time
from apiext.base.meta.errors import public_text
from apiext.base.meta.log import get_logger
from apiext.base.scheduling.tasks import end_tasks
from apiext.base.scheduling.workqueue import WorkQueue
from apiext.resources.registry.request_context import RequestContext, UpdateOptions
from apiext.resources.registry.watch_loop import follow
from apiext.storage.interface import EventType, ListOptions
from apiext.storage.watch_events import FAILURES

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Mapping

    from apiext.api.endpoints.scopes.scope import Scope
    from apiext.api.migration.definition_status import DefinitionStatus
    from apiext.api.migration.migration_state import MigrationProgress
    from apiext.api.migration.resource_patches import MigratableResource, Resources
    from apiext.base.meta.encoding.json_codec import Object
    from apiext.base.workers.pool import WorkerPool
    from apiext.storage.interface import Event

_LOG: Final = get_logger(__name__)
_MANAGER: Final = "kube-controller-manager"
"""The manager of the status of migrations."""
_WORKERS: Final = 5
"""Resources migrated at the same time."""
_NO_NAMESPACE: Final = "@fake:svm_ns!"
"""A namespace that never exists: its list is empty, and has a revision. Lists of cluster-scoped objects ignore it."""
UNKNOWN_SECONDS: Final = 60
"""Age at which a migration fails if its resource is not served."""
PAUSES: Final = (0.05, 5.0)
"""Seconds before an interrupted migration goes on, at first and at most."""
LOOK_SECONDS: Final = 1.0
"""Pause before the next look for a resource that is not served yet."""
TURN_SECONDS: Final = 15.0
"""Pause while another server leads."""


class MigrationController:
    """Runs the migrations of one store. `scopes` serve migrations; `leads` returns whether this server is the leader."""

    def __init__(
        self,
        scopes: Mapping[str, Scope],
        resources: Resources,
        definitions: DefinitionStatus,
        workers: WorkerPool,
        leads: Callable[[], Awaitable[bool]],
    ) -> None:
        self._scopes = scopes
        self._resources = resources
        self._definitions = definitions
        self._processes = workers
        self._leads = leads
        self._known: set[str] = set()
        """The uids of migrations that are not deleted."""
        self._open: dict[str, dict[str, tuple[bool, str, str]]] = {}
        """The migrations without an end by resource and name, as sort keys: those that run, then the others by age."""
        self._turns = WorkQueue(
            self._start_next, log=_LOG, event="storage version migration not started, retrying", key_field="resource", retryable=FAILURES
        )
        self._running = WorkQueue(
            self._run,
            log=_LOG,
            event="storage version migration interrupted, retrying",
            key_field="migration",
            retryable=FAILURES,
            workers=_WORKERS,
            pauses=PAUSES,
        )
        self._runs: dict[str, ResourcePatches] = {}
        """The current runs by the uid of their migration."""
        self._tasks: list[asyncio.Task[None]] = []

    def progress(self, uid: str) -> MigrationProgress | None:
        """Return the progress of the migration with a uid, None if this server does not run it now."""
        run = self._runs.get(uid)
        return run.progress if run is not None and run.progress.total else None

    def unfinished(self) -> dict[str, int]:
        """Return the number of migrations that wait or run, by resource, also of those that another server runs."""
        return {resource: len(migrations) for resource, migrations in list(self._open.items()) if migrations}

    def start(self) -> None:
        """Run the stored migrations, and later ones."""
        watching = follow(self._scopes[""].rest.watch, self._on_event, log=_LOG, failed="migration watch failed, retrying")
        self._tasks = [
            asyncio.create_task(watching, name="migration-informer"),
            asyncio.create_task(self._turns.run(), name="migration-turns"),
            asyncio.create_task(self._running.run(), name="migration-runner"),
        ]

    async def close(self) -> None:
        """Stop. The next start continues."""
        await end_tasks(*self._tasks)

    def _on_event(self, event: Event) -> None:
        if event.item is None:
            return
        migration = event.item.object()
        metadata, resource = migration["metadata"], str(resource_of(migration))
        uid, unfinished = metadata["uid"], self._open.setdefault(resource, {})
        unfinished.pop(metadata["name"], None)
        if event.type is not EventType.DELETED and (is_running(migration) or not is_finished(migration)):
            unfinished[metadata["name"]] = (not is_running(migration), metadata["creationTimestamp"], metadata["name"])
        elif not unfinished:
            del self._open[resource]
        if event.type is EventType.DELETED:
            self._known.discard(uid)
        else:
            self._known.add(uid)
            # this controller itself makes the later changes of a running one
            is_new = event.type is EventType.ADDED or not migration["status"].get("resourceVersion")
            if is_new and is_running(migration) and not is_finished(migration):
                self._running.add(event.item.key)
        self._turns.add(resource)

    async def _start_next(self, resource: str) -> float | None:
        """Record the end of the finished migrations of a resource, and start its next one."""
        finished, following = migration_state.next_of(await self._running_and_next(resource))
        if (finished or following is not None) and not await self._leads():
            return TURN_SECONDS
        for one in finished:
            await self._definitions.finish(resource_of(one), succeeded=migration_state.has_succeeded(one))
            await self._update(one, migration_state.ended)
        if following is not None:
            await self._definitions.begin(resource_of(following), following["metadata"]["name"])
            await self._update(following, migration_state.started)
        return None

    async def _running_and_next(self, resource: str) -> list[Object]:
        """Return the running migrations of a resource, and its first waiting one."""
        found: list[Object] = []
        for _, _, name in sorted(self._open.get(resource, {}).values()):
            migration = await self._get(name)
            if migration is None or str(resource_of(migration)) != resource:
                continue
            found.append(migration)
            if not is_running(migration) and not is_finished(migration):
                break
        return found

    async def _run(self, name: str) -> float | None:
        """Run a started migration."""
        migration = await self._get(name)
        if migration is None or not is_running(migration) or is_finished(migration):
            return None
        if not await self._leads():
            return TURN_SECONDS
        resource = self._resources.find(resource_of(migration))
        if resource is None:
            return await self._fail_unless_served(migration)
        if not migration["status"].get("resourceVersion"):
            if not resource.is_writable:
                text = f'resource "{resource}" does not support discovery operations: [update patch list]'
                await self._fail(migration, text)
                return None
            migration = await self._at_revision(migration, resource)
        if migration is not None:
            await self._patch(migration)
        return None

    async def _fail_unless_served(self, migration: Object) -> float | None:
        """Fail a migration of a resource that is not served, after `UNKNOWN_SECONDS`."""
        age = datetime.now(UTC) - time.parse(migration["metadata"]["creationTimestamp"])
        if age.total_seconds() < UNKNOWN_SECONDS:
            return LOOK_SECONDS
        began = bool(migration["status"].get("resourceVersion"))
        text = unhandled("unable to obtain GVR from discovery") if began else "resource does not exist in discovery"
        await self._fail(migration, text)
        return None

    async def _fail(self, migration: Object, message: str, progress: MigrationProgress | None = None) -> None:
        _LOG.warning("storage version migration failed", migration=migration["metadata"]["name"], error=message)
        await self._update(migration, lambda existing: migration_state.failed(existing, message, progress))

    async def _at_revision(self, migration: Object, resource: MigratableResource) -> Object | None:
        """Record the current revision of the resource in a migration; return the stored migration."""
        listed = await resource.scope.rest.list(RequestContext(namespace=_NO_NAMESPACE), ListOptions(limit=1))
        return await self._update(migration, lambda existing: migration_state.at_revision(existing, str(listed.revision)))

    async def _patch(self, migration: Object) -> None:
        """Patch all objects and record the result. Raises the error of a patch if a later attempt may succeed."""
        uid, name = migration["metadata"]["uid"], migration["metadata"]["name"]
        run = ResourcePatches(self._resources, self._processes, resource_of(migration), int(migration["status"]["resourceVersion"]))
        _LOG.info("storage version migration started", migration=name, resource=str(resource_of(migration)))
        self._runs[uid] = run
        try:
            error = await run.run(lambda: uid in self._known)
        finally:
            del self._runs[uid]
        if error is None:
            await self._update(migration, lambda existing: migration_state.succeeded(existing, run.progress))
            _LOG.info("storage version migration finished", migration=name, objects=run.progress.total)
            return
        if is_transient(error):
            await self._update(migration, lambda existing: migration_state.interrupted(existing, run.progress, public_text(error)))
            raise error
        await self._fail(migration, unhandled(public_text(error), run.progress), run.progress)

    async def _get(self, name: str) -> Object | None:
        try:
            return (await self._scopes[""].rest.get(RequestContext(), name)).object()
        except errors.StatusError as error:
            if error.code == 404:
                return None
            raise

    async def _update(self, migration: Object, change: Callable[[Object], Object]) -> Object | None:
        """Change the status of a migration; return the stored migration, None if it was deleted meanwhile."""
        scope, metadata = self._scopes["status"], migration["metadata"]

        async def changed(existing: Object) -> Object:
            if existing["metadata"]["uid"] != metadata["uid"]:
                raise errors.not_found(scope.resource.group_resource, metadata["name"])
            new = change(existing)
            if new is not existing:
                await scope.fields.update(existing, new, _MANAGER)
            return new

        try:
            item, _ = await scope.rest.update(RequestContext(), metadata["name"], changed, UpdateOptions())
        except errors.StatusError as error:
            if error.code == 404:
                return None
            raise
        return item.object()
