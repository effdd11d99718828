"""Controller of status.storedVersions: compares it with the stored objects. The reference has none.

A definition with one stored version costs nothing, unless versions are guarded.
"""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Final

from apiext.base.meta.log import get_logger
from apiext.base.scheduling.workqueue import WorkQueue
from apiext.resources.definitions import unused_versions
from apiext.resources.definitions.catalog import CatalogFollower
from apiext.resources.definitions.controllers.status_writer import StatusWriter
from apiext.storage.errors import InvalidObjectError, KeyNotFoundError
from apiext.storage.watch_events import FAILURES

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Sequence

    from apiext.base.meta.encoding.json_codec import Object
    from apiext.base.meta.gvk import GroupResource
    from apiext.resources.definitions.controllers.status_writer import RecordFields
    from apiext.resources.definitions.definition import Definition
    from apiext.resources.definitions.definition_informer import DefinitionInformer
    from apiext.storage.stored_bytes.version_counts import StoredCounts, StoredVersions

_LOG: Final = get_logger(__name__)
INTERVAL_SECONDS: Final = 15.0
"""Seconds between two counts of a definition's objects. The condition reports an entry as unused after two counts without objects."""
_SHARE: Final = 20
"""A count that reads the store takes at most 1/20 of the time."""


class StoredVersionsController:
    """Reports unused entries of storedVersions in a condition; with `restores`, adds missing entries back.

    An entry is missing if objects are stored in a version of the spec: a write overtook the update that removed the entry.
    """

    def __init__(
        self,
        informer: DefinitionInformer,
        stored: Callable[[GroupResource], StoredVersions],
        record: RecordFields,
        *,
        restores: bool = False,
        interval: float = INTERVAL_SECONDS,
    ) -> None:
        """Create the controller. `record` records the fields that it changes, `interval` is in seconds."""
        self._catalog = informer.catalog
        self._writer = StatusWriter(informer, record)
        self._stored = stored
        self._restores = restores
        self._interval = interval
        self._unused: dict[str, frozenset[str]] = {}
        """The unused entries that the last count found."""
        self._queue = WorkQueue(
            self._sync, log=_LOG, event="stored versions check failed, retrying", key_field="definition", retryable=FAILURES
        )
        self._follower = CatalogFollower(informer.catalog, self._on_change)

    def start(self) -> None:
        """Check every definition that changes from now on. Call it before the informer starts."""
        self._follower.start({"definition-stored-versions": self._queue.run()})

    async def close(self) -> None:
        """Stop."""
        await self._follower.close()

    def _on_change(self, old: Definition | None, new: Definition | None) -> None:
        """Enqueue a definition that needs checks from now on, or no longer does; implements catalog.Listener."""
        if new is not None and self._concerns(new) != (old is not None and self._concerns(old)):
            self._queue.add(new.name)

    def _concerns(self, definition: Definition) -> bool:
        return definition.owns_objects and (self._restores or len(_entries(definition.head)) > 1)

    async def _sync(self, name: str) -> float | None:
        """Compare the entries with the store. Return the seconds until the next comparison, None if there is nothing to compare."""
        definition = self._catalog.get(name)
        if definition is None or definition.is_terminating or not definition.is_established:
            self._unused.pop(name, None)
            return None
        if not self._concerns(definition):
            self._unused.pop(name, None)
            await self._write(definition, (), ())
            return None
        entries, stored = _entries(definition.head), self._stored(definition.resource)
        begin = asyncio.get_running_loop().time()
        # with one entry, a late count does no harm
        counts = await stored.counts() if len(entries) > 1 else stored.known()
        pause = max(self._interval, (asyncio.get_running_loop().time() - begin) * _SHARE)
        if counts is not None:
            await self._report(definition, entries, counts)
        return pause

    async def _report(self, definition: Definition, entries: Sequence[str], counts: StoredCounts) -> None:
        found = frozenset(name for name in entries if not counts.at_most(name))
        # report a new entry after two counts, also by a server that has just started; keep a reported one
        unused = found & (self._unused.get(definition.name, frozenset()) | unused_versions.reported(definition.head))
        self._unused[definition.name] = found
        missing = [version.name for version in definition.versions if counts.of(version.name) and version.name not in entries]

        await self._write(definition, unused, missing if self._restores else ())

    async def _write(self, definition: Definition, unused: Collection[str], missing: Collection[str]) -> None:
        """Write the condition and the missing entries, if they have changed."""

        def change(existing: Object) -> Object:
            crd = dict(existing)
            _restore(crd, missing)
            unused_versions.report(crd, unused)
            return existing if crd["status"] is existing["status"] else crd

        if change(definition.head) is definition.head:
            return
        try:
            await self._writer.update(definition, change)
        except (KeyNotFoundError, InvalidObjectError):
            # Deleted, or deleted and created again.
            return
        if missing:
            _LOG.warning("stored versions restored", definition=definition.name, versions=",".join(missing))


def _entries(crd: Object) -> list[str]:
    return crd["status"]["storedVersions"] or []


def _restore(crd: Object, missing: Collection[str]) -> None:
    """Add missing versions to storedVersions."""
    entries = _entries(crd)
    added = [name for name in missing if name not in entries]
    if added:
        crd["status"] = crd["status"] | {"storedVersions": [*entries, *added]}
