"""Re-encodes objects in the storage version of their definition, and with the first key of the encryption (`--migrate=auto`).

One server at a time rewrites the objects of one definition at a time. It begins when every live server writes the new version, because a
server that lags behind would store more objects in the old one. At the end it removes versions without objects from status.storedVersions.
The stored bytes alone show which objects are left. So a pass may end at any moment, and the next one continues.
"""

from __future__ import annotations

import asyncio
import dataclasses
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Final, cast

from apiext.api.endpoints.handlers.write import perform
from apiext.api.endpoints.scopes.write_call import SERVER_USER, WriteCall
from apiext.base.meta import field, limits
from apiext.base.meta.encoding import json_codec
from apiext.base.meta.errors import StatusError, public_text
from apiext.base.meta.log import get_logger
from apiext.base.scheduling.workqueue import WorkQueue
from apiext.resources.definitions import conditions, unused_versions
from apiext.resources.definitions.catalog import CatalogFollower
from apiext.resources.definitions.conditions import CONVERSION_WEBHOOK_AVAILABLE, Condition
from apiext.storage.errors import CorruptObjectError, InvalidObjectError, KeyNotFoundError
from apiext.storage.stored_bytes.version_counts import UNKNOWN
from apiext.storage.watch_events import FAILURES

if TYPE_CHECKING:
    from apiext.api.endpoints.scopes.scope import Scope
    from apiext.base.meta.encoding.json_codec import Object
    from apiext.base.workers.pool import WorkerPool
    from apiext.resources.definitions.catalog import Catalog
    from apiext.resources.definitions.controllers.status_writer import StatusWriter
    from apiext.resources.definitions.definition import Definition
    from apiext.resources.registry.rest import ResourceRest
    from apiext.storage.factory import StoreFactory
    from apiext.storage.interface import Codec, Item
    from apiext.storage.replicas.lock import ReplicaLock
    from apiext.storage.replicas.roll_call import Replicas
    from apiext.storage.stored_bytes.reencoder import Reencoded
    from apiext.storage.value.encryption import Encryption
    from apiext.storage.writer import WriteGuard


"""Maximum of characters of an object's problems."""


async def problems(workers: WorkerPool, scope: Scope, item: Item) -> str:
    """Return the shortened problems of an object in a scope's version, "" for a valid one, without the object's values.

    Costly checks run in a worker process.
    """
    try:
        return await perform(workers, scope, _validate, WriteCall(SERVER_USER, "", "", item.key, None, data=item.data))
    except StatusError as error:
        return f"cannot be checked: {public_text(error)}"[:_MAX_CHARACTERS]


async def _validate(scope: Scope, call: WriteCall) -> str:
    rest = cast("ResourceRest", scope.rest)
    errors = rest.strategy.validate(call.context, json_codec.loads(call.data))
    # others read the condition than those who may read the object
    shown = [replace(error, bad_value=field.OMITTED) for error in field.limited(errors)]
    return field.aggregate(shown)[:_MAX_CHARACTERS] if errors else ""


CONDITION: Final = conditions.STORAGE_MIGRATION_PROBLEMS
_FAILED: Final = "ConversionFailed"
_INVALID: Final = "InvalidObjects"
_NAMED: Final = 10
"""Maximum of objects that a condition names."""
_MAX_CHARACTERS: Final = 200
"""Characters of an object's error in a condition."""
_MAX_FAILED: Final = 100
"""Failed objects after which a pass ends: the converter does not work."""
FIRST_CHECK_SECONDS: Final = 30.0
"""Delay of the count for a definition without other stored versions: not during the start of the server."""
LAG_SECONDS: Final = 2.0
"""Pause while a live server does not write the new version yet."""
TURN_SECONDS: Final = 15.0
"""Pause while another server migrates."""
KEYS_SECONDS: Final = 60.0
"""Interval of looks whether the keys of an encrypted resource have changed."""
REPEAT_SECONDS: Final = 300.0
"""Pause before failed objects are migrated, and rejected ones checked, again."""

_LOG: Final = get_logger(__name__)


@dataclass(slots=True)
class _Report:
    """The result of a pass."""

    migrated: int = 0
    failed: list[str] = dataclasses.field(default_factory=list)
    """One text for each object, with its key and the reason."""
    rejected: dict[str, str] = dataclasses.field(default_factory=dict)
    """The violations of the schema, by key."""
    is_complete: bool = False


class AutomaticMigration:
    """Migrates the objects of the definitions in a catalog.

    `scope` returns the scope of a definition's storage version, `guard` the guard of clients' writes of its instances. If the stores
    encrypt, objects that are not stored as its first provider stores them are rewritten after the start and each change of the keys.
    """

    def __init__(
        self,
        *,
        catalog: Catalog,
        stores: StoreFactory,
        replicas: Replicas,
        lock: ReplicaLock,
        writer: StatusWriter,
        workers: WorkerPool,
        scope: Callable[[Definition], Scope],
        guard: Callable[[Definition], WriteGuard],
    ) -> None:
        self._catalog = catalog
        self._stores = stores
        self._replicas = replicas
        self._lock = lock
        self._writer = writer
        self._workers = workers
        self._scope = scope
        self._guard = guard
        self._encryption = stores.encryption
        self._encrypted: dict[str, int] = {}
        """The generation of keys for which no object was left that is stored in another way, by definition."""
        self._invalid: dict[str, Sequence[str]] = {}
        """The keys of objects that were invalid when this server checked them last, by definition."""
        self.queue = WorkQueue(self._sync, log=_LOG, event="storage migration failed, retrying", key_field="definition", retryable=FAILURES)
        self._follower = CatalogFollower(catalog, self._on_change)

    def start(self) -> None:
        """Migrate the objects of all definitions in the catalog, now and after each change."""
        work = {"automatic-migration": self.queue.run()}
        if self._encryption is not None:
            work["automatic-migration-keys"] = self._follow_keys(self._encryption, self._encryption.generation)
        self._follower.start(work)
        for definition in self._catalog.all():
            self._on_change(None, definition)

    async def close(self) -> None:
        """Stop; the next start, or another server, continues."""
        await self._follower.close()

    def _on_change(self, old: Definition | None, new: Definition | None) -> None:
        """Enqueue a definition if objects may be stored in other versions; implements catalog.Listener."""
        if new is None or not new.owns_objects or (old is not None and _triggers(old) == _triggers(new)):
            return
        if _old_stored_versions(new):
            self.queue.add(new.name)
        elif len(new.versions) > 1 or self._is_encrypted(new):
            self.queue.add_after(new.name, FIRST_CHECK_SECONDS)

    async def _follow_keys(self, encryption: Encryption, known: int) -> None:
        """Enqueue the definitions of encrypted resources after each change of a known generation: a reload may name further resources."""
        while True:
            await asyncio.sleep(KEYS_SECONDS)
            if encryption.generation == known:
                continue
            known = encryption.generation
            for definition in self._catalog.all():
                if definition.owns_objects and self._is_encrypted(definition):
                    self.queue.add(definition.name)

    async def _sync(self, name: str) -> float | None:
        """Migrate the objects of a definition; return the seconds until the next call, None for the next change."""
        definition = self._catalog.get(name)
        if definition is None or not definition.owns_objects:
            return None
        if await self._is_needed(definition):
            work = self._migrate
        elif _is_about(definition.head, _INVALID):
            work = self._check_again
        else:
            return self._next_look(definition)
        if not await self._lock.acquire():
            return TURN_SECONDS
        try:
            again = await work(definition)
        finally:
            await self._lock.release()
        return self._next_look(definition) if again is None else again

    def _is_encrypted(self, definition: Definition) -> bool:
        return self._encryption is not None and self._encryption.names(definition.resource)

    def _next_look(self, definition: Definition) -> float | None:
        """Return the seconds until the next look whether keys have changed, None without encryption."""
        return KEYS_SECONDS if self._is_encrypted(definition) else None

    def _has_new_keys(self, definition: Definition) -> bool:
        """Report whether objects may be stored with other keys than new ones, or in another way."""
        generation = self._encryption.generation if self._encryption is not None else None
        return self._is_encrypted(definition) and self._encrypted.get(definition.name) != generation

    async def _is_needed(self, definition: Definition) -> bool:
        if (_old_stored_versions(definition) and definition.phase is None) or self._has_new_keys(definition):
            return True
        return bool(await self._other_versions(definition))

    async def _other_versions(self, definition: Definition) -> list[str]:
        """Return the versions of stored objects, without the storage version."""
        counts = await self._stores.stored_versions(definition.resource).counts()
        return [version for version in counts.by_version if version != definition.storage_version.name]

    async def _migrate(self, definition: Definition) -> float | None:
        if not await self._is_written_everywhere(definition):
            return LAG_SECONDS
        keys = self._encryption.generation if self._encryption is not None else 0
        report = await self._rewrite(definition)
        if self._has_changed(definition):
            return 0.0
        if report.is_complete:
            self._encrypted[definition.name] = keys
        left = await self._other_versions(definition)
        if report.is_complete and left and not report.failed:
            # objects of clients whose writes began before the change of the definition
            return LAG_SECONDS
        if not await self._is_written_everywhere(definition):
            return LAG_SECONDS
        await self._finish(definition, report, left)
        if report.rejected:
            # objects that earlier passes found invalid may still be invalid
            self._invalid[definition.name] = [*dict.fromkeys((*self._invalid.get(definition.name, ()), *report.rejected))]
        return REPEAT_SECONDS if left or report.rejected else None

    async def _check_again(self, definition: Definition) -> float | None:
        """Check the invalid objects again, and update the condition. Check all objects if their keys are unknown."""
        loop, report, scope = asyncio.get_running_loop(), _Report(), self._scope(definition)
        begun, checked = loop.time(), 0
        known = self._invalid.get(definition.name)
        keys = known or [key async for key, _ in self._stores.stored_versions(definition.resource).revisions()]
        for key in keys:
            try:
                item = await cast("ResourceRest", scope.rest).store.get(key, cast("Codec", scope.codec))
            except (KeyNotFoundError, CorruptObjectError):
                continue
            await self._validate(definition, scope, item, report)
            checked += 1
            await asyncio.sleep(begun + checked / limits.MIGRATED_PER_SECOND - loop.time())
            if self._has_changed(definition):
                return 0.0
        self._invalid[definition.name] = [*report.rejected]

        def change(existing: Object) -> Object:
            if not _is_about(existing, _INVALID) or existing["metadata"].get("generation") != _generation(definition):
                return existing
            crd = dict(existing)
            condition = _condition(definition.storage_version.name, report)
            if condition is None:
                conditions.remove(crd, CONDITION)
            else:
                conditions.put(crd, condition)
            return existing if crd["status"] is existing["status"] else crd

        await self._update(definition, change)
        return REPEAT_SECONDS if report.rejected else None

    async def _is_written_everywhere(self, definition: Definition) -> bool:
        """Report whether every live server writes the storage version."""
        since, version = definition.revision, definition.storage_version.name
        lagging = [one for one in await self._replicas.roll_call() if not one.writes(definition.name, version, since=since)]
        for one in lagging:
            _LOG.info("storage migration waits for a lagging server", definition=definition.name, server=one.id, address=one.address)
        return not lagging

    def _has_changed(self, definition: Definition) -> bool:
        """Report whether a definition has changed so that this pass must end."""
        now = self._catalog.get(definition.name)
        return now is None or now.uid != definition.uid or _generation(now) != _generation(definition) or not now.owns_objects

    async def _rewrite(self, definition: Definition) -> _Report:
        """Rewrite objects at a limited rate until all are done, too many fail, or the definition changes."""
        loop, report = asyncio.get_running_loop(), _Report()
        current = self._catalog.get(definition.name)
        if current is None or self._has_changed(definition):
            return report
        scope = self._scope(current)
        reencoder = self._stores.reencoder(definition.resource, self._guard(current))
        begun = loop.time()
        async for batch in reencoder.batches(cast("Codec", scope.codec)):
            await self._record(definition, scope, batch, report)
            if len(report.failed) >= _MAX_FAILED or self._has_changed(definition):
                return report
            await asyncio.sleep(begun + report.migrated / limits.MIGRATED_PER_SECOND - loop.time())
        report.is_complete = True
        return report

    async def _record(self, definition: Definition, scope: Scope, batch: Reencoded, report: _Report) -> None:
        report.migrated += len(batch.written)
        for key, error in batch.failed:
            report.failed.append(f"{key} ({public_text(error)[:_MAX_CHARACTERS]})")
            if len(report.failed) <= _NAMED:
                _LOG.warning("object cannot be migrated", definition=definition.name, object=key, error=str(error))
        for item in batch.written:
            await self._validate(definition, scope, item, report)

    async def _validate(self, definition: Definition, scope: Scope, item: Item, report: _Report) -> None:
        """Add an object to the report if its schema rejects it."""
        if why := await problems(self._workers, scope, item):
            report.rejected[item.key] = why
            if len(report.rejected) <= _NAMED:
                _LOG.warning("stored object is rejected by its schema", definition=definition.name, object=item.key, error=why)

    async def _finish(self, definition: Definition, report: _Report, left: Sequence[str]) -> None:
        """Remove versions without objects from storedVersions, and report problems in a condition."""
        version = definition.storage_version.name
        _LOG.info(
            "storage migration finished",
            definition=definition.name,
            version=version,
            migrated=report.migrated,
            failed=len(report.failed),
            rejected=len(report.rejected),
        )
        if definition.phase is not None:
            # the host owns the status of a mirror
            return

        def change(existing: Object) -> Object:
            if existing["metadata"].get("generation") != _generation(definition):
                return existing
            crd, status = dict(existing), existing["status"]
            kept = [name for name in status["storedVersions"] if name == version or name in left or UNKNOWN in left]
            if kept != status["storedVersions"]:
                crd["status"] = status | {"storedVersions": kept}
                unused_versions.report(crd, ())
            condition = _condition(version, report)
            if condition is not None:
                conditions.put(crd, condition)
            elif not left and (report.migrated or _is_about(existing, _FAILED)):
                # without a rewrite, the condition about invalid objects still holds
                conditions.remove(crd, CONDITION)
            return existing if crd["status"] is status else crd

        await self._update(definition, change)

    async def _update(self, definition: Definition, change: Callable[[Object], Object]) -> None:
        try:
            await self._writer.update(definition, change)
        except (KeyNotFoundError, InvalidObjectError):
            _LOG.info("definition deleted during its storage migration", definition=definition.name)


def _old_stored_versions(definition: Definition) -> list[str]:
    """Return the versions in status.storedVersions that are not the storage version."""
    return [name for name in definition.head["status"]["storedVersions"] or () if name != definition.storage_version.name]


def _triggers(definition: Definition) -> tuple[object, ...]:
    """Return the parts of a definition whose change requires another pass; conditions of controllers do not."""
    webhook = definition.condition(CONVERSION_WEBHOOK_AVAILABLE) or {}
    return definition.uid, _generation(definition), _old_stored_versions(definition), definition.owns_objects, webhook.get("status")


def _is_about(crd: Object, reason: str) -> bool:
    return (conditions.find(crd, CONDITION) or {}).get("reason") == reason


def _generation(definition: Definition) -> int:
    generation: int = definition.head["metadata"].get("generation", 0)
    return generation


def _condition(version: str, report: _Report) -> Condition | None:
    if not report.failed and not report.rejected:
        return None
    parts = []
    if report.failed:
        count = f"at least {len(report.failed)}" if len(report.failed) >= _MAX_FAILED else f"{len(report.failed)}"
        parts.append(f"objects that cannot be stored in {version} ({count}): {_named(report.failed)}")
    if report.rejected:
        rejected = [f"{key} ({why})" for key, why in report.rejected.items()]
        parts.append(f"objects stored in {version} that its schema rejects ({len(report.rejected)}): {_named(rejected)}")
    return Condition(CONDITION, "True", _FAILED if report.failed else _INVALID, "; ".join(parts))


def _named(texts: Sequence[str]) -> str:
    more = f"; and {len(texts) - _NAMED} more" if len(texts) > _NAMED else ""
    return "; ".join(texts[:_NAMED]) + more
