"""The map while somebody looks: one state for all readers, renewed after changes, gone some time after the last reader."""

from __future__ import annotations

import asyncio
import secrets
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from apiext.api.serving.stored_documents import StoredDocuments
from apiext.base.meta.log import get_logger
from apiext.base.scheduling.tasks import end_tasks
from apiext.base.scheduling.time_slice import paced
from apiext.base.scheduling.workqueue import WorkQueue
from apiext.server.version_map.composition import compose
from apiext.server.version_map.problem_scans import ProblemScans
from apiext.server.version_map.renewals import Renewals
from apiext.server.version_map.sources import FactFinder, MapSources
from apiext.storage.watch_events import FAILURES

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterator, Mapping, Sequence

    from apiext.resources.definitions.catalog import Catalog
    from apiext.resources.definitions.definition import Definition
    from apiext.server.version_map.entries import DefinitionEntry
    from apiext.storage.factory import StoreFactory
    from apiext.storage.stored_bytes.version_counts import StoredCounts


_PAUSE_SECONDS: Final = 1.0
"""Least seconds between two counts of a resource in the store."""
_SHARE: Final = 20.0
"""A count is followed by a pause of so many times its duration."""


class CountedVersions:
    """The counts of all definitions. A loaded watch cache has them; others are counted in the store, at a limited share of the time."""

    def __init__(self, catalog: Catalog, stores: StoreFactory, changed: Callable[[], None]) -> None:
        """Create it. `changed` is called after each count."""
        self._catalog = catalog
        self._stores = stores
        self._changed = changed
        self._counted: dict[str, StoredCounts] = {}
        self._next: dict[str, float] = {}
        """When a definition's objects may be counted again."""
        self._queue = WorkQueue(
            self._count, log=_LOG, event="stored objects not counted, retrying", key_field="definition", retryable=FAILURES
        )
        self.run = self._queue.run

    def of(self, definition: Definition) -> StoredCounts | None:
        """Return the latest counts, None before the first."""
        return self._stores.stored_versions(definition.resource).known() or self._counted.get(definition.name)

    def note(self, name: str) -> None:
        """Count the objects of a definition that is new or whose objects have changed."""
        self._queue.add(name)

    def forget(self, name: str) -> None:
        """Drop the counts of a deleted definition."""
        self._counted.pop(name, None)
        self._next.pop(name, None)

    async def settled(self) -> None:
        """Wait until everything was counted that may be counted now."""
        await self._queue.join()

    async def _count(self, name: str) -> float | None:
        """Count in the store; implements workqueue.Sync."""
        definition, loop = self._catalog.get(name), asyncio.get_running_loop()
        if definition is None:
            self.forget(name)
            return None
        stored, now = self._stores.stored_versions(definition.resource), loop.time()
        if stored.known() is not None:
            return None
        if (early := self._next.get(name, 0.0) - now) > 0:
            return early
        self._counted[name] = await stored.counts()
        self._next[name] = loop.time() + max(_PAUSE_SECONDS, _SHARE * (loop.time() - now))
        self._changed()
        return None


_LOG: Final = get_logger(__name__)
LINGER_SECONDS: Final = 30.0
"""Seconds to keep the state after the last reader has left: a reader may reconnect."""
_MAX_REMOVED: Final = 1000
"""Deleted definitions that are remembered for readers that come back."""


@dataclass(frozen=True, slots=True)
class MapChanges:
    """The changes of the map since a reader's state."""

    place: str
    """The reader's new state."""
    is_complete: bool
    """Whether the changes are the whole map: the reader has to drop what it has."""
    entries: Sequence[DefinitionEntry]
    removed: Sequence[str]
    """Names of deleted definitions."""


class LiveMap:
    """The state of the map for all readers. Nothing runs before the first reader, and soon after the last one."""

    def __init__(self, sources: MapSources, *, linger: float = LINGER_SECONDS) -> None:
        self._sources = sources
        self.linger = linger
        self._readers = 0
        self._state: RunningMap | None = None
        self._timer: asyncio.TimerHandle | None = None

    @contextmanager
    def reading(self) -> Iterator[RunningMap]:
        """Return the state for a reader. Keep it alive inside the `with` block."""
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
        if self._state is None:
            self._state = RunningMap(self._sources)
            self._state.start()
        self._readers += 1
        try:
            yield self._state
        finally:
            self._readers -= 1
            if not self._readers:
                self._timer = asyncio.get_running_loop().call_later(self.linger, self._drop)

    @property
    def is_running(self) -> bool:
        """Report whether there is a state."""
        return self._state is not None

    def _drop(self) -> None:
        if self._state is not None and not self._readers:
            self._state.stop()
            self._state = None

    async def close(self) -> None:
        """Stop all work."""
        if self._timer is not None:
            self._timer.cancel()
        if self._state is not None:
            tasks = self._state.stop()
            self._state = None
            await end_tasks(*tasks)


class RunningMap:
    """The entries of all definitions, numbered by their changes."""

    def __init__(self, sources: MapSources) -> None:
        self._sources = sources
        self._epoch = secrets.token_hex(4)
        self._sequence = 0
        self._entries: dict[str, tuple[int, DefinitionEntry]] = {}
        """The entries with the numbers of their latest changes, by definition."""
        self._removed: dict[str, int] = {}
        self._forgotten = 0
        """The number up to which removals are forgotten."""
        self._finder = FactFinder(sources)
        stores = sources.cache.stores
        self._counts = CountedVersions(sources.catalog, stores, self.note_change)
        documents = StoredDocuments(sources.catalog, sources.cache, sources.workers)
        self._scans = ProblemScans(sources.catalog, documents, self.note_change)
        self._renewals = Renewals(self._compose)
        self._published = asyncio.Event()
        self._names: Mapping[str, str] = {}
        """The definitions by the key prefix of their objects, made for the first change after one of a definition."""
        self._unsubscribe: list[Callable[[], None]] = []
        self._tasks: list[asyncio.Task[None]] = []
        self.is_watching = True
        """Whether the store reports changes of objects."""

    # --- for readers ------------------------------------------------------------------------------------------------

    def changes_since(self, place: str) -> MapChanges | None:
        """Return the changes since a reader's state; the whole map for an unknown or outdated one, None without changes."""
        since = self._number(place)
        if since is None:
            return MapChanges(self._place, is_complete=True, entries=[entry for _, entry in self._sorted()], removed=())
        if since == self._sequence:
            return None
        entries = [entry for number, entry in self._sorted() if number > since]
        removed = [name for name, number in self._removed.items() if number > since]
        return MapChanges(self._place, is_complete=False, entries=entries, removed=removed)

    async def renewed(self) -> None:
        """Wait until the map changes."""
        await self._published.wait()

    async def begun(self) -> None:
        """Wait until the map has its first state."""
        if not self._sequence:
            await self._published.wait()

    async def settled(self) -> None:
        """Wait until all objects were counted, as far as they may be counted now, and the map shows it. Readers share renewals."""
        await self._counts.settled()
        await self._renewals.current()

    def entries(self) -> Sequence[DefinitionEntry]:
        """Return the entries of all definitions."""
        return [entry for _, entry in self._sorted()]

    @property
    def _place(self) -> str:
        return f"{self._epoch}.{self._sequence}"

    def _number(self, place: str) -> int | None:
        epoch, _, number = place.partition(".")
        if epoch != self._epoch or not (number.isascii() and number.isdecimal() and len(number) < 16):
            return None
        since = int(number)
        return since if max(self._forgotten, 1) <= since <= self._sequence else None

    def _sorted(self) -> list[tuple[int, DefinitionEntry]]:
        return [self._entries[name] for name in sorted(self._entries)]

    # --- changes ----------------------------------------------------------------------------------------------------

    def start(self) -> None:
        """Follow all sources."""
        sources = self._sources
        self._unsubscribe.append(sources.catalog.subscribe(self._definition_changed))
        self._unsubscribe.append(sources.converters.circuits.subscribe(lambda *_: self.note_change()))
        self._unsubscribe.append(sources.converters.known.subscribe(self._rules_changed))
        end = sources.cache.stores.observe(self._objects_changed)
        self.is_watching = end is not None
        if end is not None:
            self._unsubscribe.append(end)
        for definition in sources.catalog.all():
            self._counts.note(definition.name)
            self._scans.note(definition.name)
        self._tasks = [
            asyncio.create_task(work, name=f"version-map-{name}")
            for name, work in (("counts", self._counts.run()), ("scans", self._scans.run()), ("renewal", self._renewals.run()))
        ]

    def stop(self) -> Sequence[asyncio.Task[None]]:
        """End all work. Return the tasks that are ending."""
        for end in self._unsubscribe:
            end()
        self._unsubscribe.clear()
        self._renewals.stop()
        for task in self._tasks:
            task.cancel()
        return self._tasks

    def note_change(self) -> None:
        """Renew the map soon."""
        self._renewals.note()

    def _definition_changed(self, old: Definition | None, new: Definition | None) -> None:
        self._names = {}
        if new is not None:
            if old is None or old.uid != new.uid:
                self._forget(new.name)
            self._counts.note(new.name)
            if old is None or old.owns_objects != new.owns_objects or _generation(old) != _generation(new):
                self._scans.note(new.name)
        elif old is not None:
            self._forget(old.name)
        self.note_change()

    def _rules_changed(self, name: str | None) -> None:
        for changed in [name] if name is not None else self._entries:
            self._scans.note(changed)
        self.note_change()

    def _forget(self, name: str) -> None:
        self._counts.forget(name)
        self._scans.forget(name)

    def _objects_changed(self, prefixes: Collection[str]) -> None:
        """Note the definitions of changed objects; implements feed.ChangeObserver."""
        if not self._names:
            prefix = self._sources.cache.stores.key_prefix
            self._names = {prefix(definition.resource): definition.name for definition in self._sources.catalog.all()}
        for name in map(self._names.get, prefixes or self._names):
            if name is not None:
                self._counts.note(name)
                self._scans.note(name)
        self.note_change()

    # --- renewal ----------------------------------------------------------------------------------------------------

    async def _compose(self) -> None:
        """Compose all entries, and publish those that have changed."""
        if not self.is_watching:
            for name in self._entries:
                self._counts.note(name)
        try:
            await self._finder.refresh()
        except FAILURES as error:
            _LOG.warning("storage version migrations not read, retrying", error=str(error))
        catalog, number = self._sources.catalog, self._sequence + 1
        changed = False
        async for definition in paced(catalog.all()):
            facts = await self._finder.facts(definition, self._scans.of(definition.name))
            entry = compose(definition, self._counts.of(definition), facts)
            known = self._entries.get(definition.name)
            if known is None or known[1] != entry:
                self._entries[definition.name] = (number, entry)
                self._removed.pop(definition.name, None)
                changed = True
        for name in [name for name in self._entries if catalog.get(name) is None]:
            del self._entries[name]
            self._removed[name] = number
            changed = True
        while len(self._removed) > _MAX_REMOVED:
            self._forgotten = self._removed.pop(next(iter(self._removed)))
        if changed or not self._sequence:
            self._publish(number)

    def _publish(self, number: int) -> None:
        self._sequence = number
        self._published.set()
        self._published = asyncio.Event()


def _generation(definition: Definition) -> int:
    generation: int = definition.head["metadata"].get("generation", 0)
    return generation
