"""Catalog of the known CustomResourceDefinitions, where requests look them up, and the base of controllers that follow it."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Any, Final

from apiext.base.meta.log import get_logger
from apiext.base.scheduling.tasks import end_tasks

if TYPE_CHECKING:
    from collections.abc import Coroutine, Mapping

    from apiext.resources.definitions.definition import Definition

_LOG: Final = get_logger(__name__)

Listener = Callable[["Definition | None", "Definition | None"], None]
"""Listener to each change, called with the old and the new state of a definition; None stands for a missing one.

It runs before the change is visible to other tasks. It must not raise or block.
"""


class Catalog:
    """All definitions by name. The informer writes the catalog (definition_informer.py); other parts only read it.

    A change arrives from the watch or, earlier, from the request that wrote it. An older revision never replaces a newer one.
    Subscribers receive changes in the order of their subscription: the serving cache first, so that no other
    part acts on a definition while its old state is still served.
    """

    __slots__ = ("_all", "_by_name", "_groups", "_listeners", "_removed", "_served", "generation", "revision")

    def __init__(self) -> None:
        self.generation = 0
        """Number of changes so far."""
        self.revision = 0
        """Store revision up to which the catalog is complete."""
        self._by_name: dict[str, Definition] = {}
        self._served: dict[tuple[str, str], Definition] = {}
        self._removed: dict[str, int] = {}
        self._all: tuple[Definition, ...] | None = ()
        self._groups: frozenset[str] | None = frozenset()
        self._listeners: list[Listener] = []

    def lookup(self, group: str, resource: str) -> Definition | None:
        """Return the definition that serves a resource, or None.

        A definition is served if its names are accepted or it is established, also while it terminates.
        """
        return self._served.get((group, resource))

    def get(self, name: str) -> Definition | None:
        """Return a definition by name, served or not."""
        return self._by_name.get(name)

    def all(self) -> tuple[Definition, ...]:
        """Return all definitions sorted by name, served or not. Return the same tuple until something changes."""
        if self._all is None:
            self._all = tuple(self._by_name[name] for name in sorted(self._by_name))
        return self._all

    def has_group(self, group: str) -> bool:
        """Return whether a definition has the group, served or not."""
        if self._groups is None:
            self._groups = frozenset(definition.group for definition in self._by_name.values())
        return group in self._groups

    def subscribe(self, listener: Listener) -> Callable[[], None]:
        """Call a listener with every later change. Return a function that ends the subscription."""
        self._listeners.append(listener)

        def unsubscribe() -> None:
            if listener in self._listeners:
                self._listeners.remove(listener)

        return unsubscribe

    # --- written by the informer --------------------------------------------------------------------------------------

    def put(self, definition: Definition) -> bool:
        """Add or replace a definition. Return False if the catalog has the same or a newer revision."""
        # A definition is deleted if it is missing at a later revision of the catalog.
        if definition.revision < self.revision and definition.name not in self._by_name:
            return False
        return self._store(definition)

    def _store(self, definition: Definition) -> bool:
        name, revision = definition.name, definition.revision
        known = self._by_name.get(name)
        if (known is not None and known.revision >= revision) or self._removed.get(name, -1) >= revision:
            return False
        self._by_name[name] = definition
        self._removed.pop(name, None)
        if definition.names_accepted or definition.is_established:
            self._served[_key(name, definition.group)] = definition
        elif known is not None:
            self._served.pop(_key(name, known.group), None)
        self._notify(known, definition)
        return True

    def remove(self, name: str, revision: int) -> bool:
        """Remove a definition that was deleted at a revision. Return False if it is missing or newer."""
        known = self._by_name.get(name)
        if known is None or known.revision > revision:
            return False
        del self._by_name[name]
        self._served.pop(_key(name, known.group), None)
        self._removed[name] = revision
        self._notify(known, None)
        return True

    def replace(self, definitions: Iterable[Definition], revision: int) -> None:
        """Replace all definitions by a list that was read at a revision."""
        listed = {definition.name: definition for definition in definitions}
        for name in [name for name in self._by_name if name not in listed]:
            self.remove(name, revision)
        for definition in listed.values():
            self._store(definition)
        self.advance(revision)

    def advance(self, revision: int) -> None:
        """Record that the catalog includes all changes up to a revision."""
        if revision <= self.revision:
            return
        self.revision = revision
        # From this revision on, `put` refuses older states of deleted definitions.
        for name in [name for name, removed in self._removed.items() if removed <= revision]:
            del self._removed[name]

    def _notify(self, old: Definition | None, new: Definition | None) -> None:
        self.generation += 1
        self._all = self._groups = None
        for listener in tuple(self._listeners):
            try:
                listener(old, new)
            except Exception:  # noqa: BLE001 -- the other listeners must receive the change
                _LOG.exception("definition listener failed")


def _key(name: str, group: str) -> tuple[str, str]:
    # Validation keeps the plural in the name equal to spec.names.plural.
    return group, name.removesuffix(f".{group}")


class CatalogFollower:
    """A controller's subscription to the catalog, and its tasks."""

    def __init__(self, catalog: Catalog, listener: Listener) -> None:
        self._catalog = catalog
        self._listener = listener
        self._unsubscribe: Callable[[], None] | None = None
        self._tasks: list[asyncio.Task[None]] = []

    def start(self, work: Mapping[str, Coroutine[Any, Any, None]]) -> None:
        """Call the listener with every later change, and run the work in tasks with the given names."""
        self._unsubscribe = self._catalog.subscribe(self._listener)
        self._tasks = [asyncio.create_task(coroutine, name=name) for name, coroutine in work.items()]

    async def close(self) -> None:
        """End the subscription and the tasks. Do nothing before `start`."""
        if self._unsubscribe is not None:
            self._unsubscribe()
        await end_tasks(*self._tasks)
