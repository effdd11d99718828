"""The definitions that are known right now, looked up on every request."""

from __future__ import annotations

import asyncio
import heapq
import itertools
from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Final

from apiext.meta.log import get_logger

if TYPE_CHECKING:
    from apiext.definitions.definition import Definition

_LOG: Final = get_logger(__name__)

Listener = Callable[["Definition | None", "Definition | None"], None]
"""Called with a definition's last state and its new one (None: not there) whenever it changes, at once and in order."""


class Catalog:
    """All definitions by name. Fed by the controllers; everybody else only reads it.

    Changes arrive from a watch and, sooner, from whoever made them; a definition never goes back to an older revision.
    """

    __slots__ = ("_all", "_by_name", "_listeners", "_removed", "_served", "_ticket", "_waiters", "generation", "revision")

    def __init__(self) -> None:
        self.generation = 0
        """Grows with every change."""
        self.revision = 0
        """The store's revision up to which changes are known."""
        self._by_name: dict[str, Definition] = {}
        self._served: dict[tuple[str, str], Definition] = {}
        self._removed: dict[str, int] = {}
        self._all: tuple[Definition, ...] | None = ()
        self._listeners: list[Listener] = []
        self._waiters: list[tuple[int, int, asyncio.Future[None]]] = []
        self._ticket = itertools.count()

    # --- for readers --------------------------------------------------------------------------------------------------

    def lookup(self, group: str, resource: str) -> Definition | None:
        """The definition that serves a resource: its names are accepted, or it has been established (also while it terminates)."""
        return self._served.get((group, resource))

    def get(self, name: str) -> Definition | None:
        """A definition by its own name, served or not."""
        return self._by_name.get(name)

    def all(self) -> tuple[Definition, ...]:
        """All definitions in the order of their names, served or not; the same tuple until something changes."""
        if self._all is None:
            self._all = tuple(self._by_name[name] for name in sorted(self._by_name))
        return self._all

    def subscribe(self, listener: Listener) -> Callable[[], None]:
        """Hear of every change from now on; the result ends it. A listener must not raise or wait."""
        self._listeners.append(listener)

        def unsubscribe() -> None:
            if listener in self._listeners:
                self._listeners.remove(listener)

        return unsubscribe

    async def wait_for(self, revision: int, timeout: float) -> bool:  # noqa: ASYNC109
        """Wait until changes up to a revision are known; False if that takes more than so many seconds."""
        if self.revision >= revision:
            return True
        future = asyncio.get_running_loop().create_future()
        heapq.heappush(self._waiters, (revision, next(self._ticket), future))
        try:
            async with asyncio.timeout(timeout):
                await future
        except TimeoutError:
            return self.revision >= revision
        return True

    # --- for the feed -------------------------------------------------------------------------------------------------

    def put(self, definition: Definition) -> bool:
        """Take over a state of a definition, unless a newer one is known; whether it was taken."""
        # of what is not there, the watch has told already, and of its end
        if definition.revision < self.revision and definition.name not in self._by_name:
            return False
        return self._take(definition)

    def _take(self, definition: Definition) -> bool:
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
        self._changed(known, definition)
        return True

    def remove(self, name: str, revision: int) -> bool:
        """Take away a definition that was deleted at a revision; whether it was there."""
        known = self._by_name.get(name)
        if known is None:
            return False
        if known.revision > revision:
            return False
        del self._by_name[name]
        self._served.pop(_key(name, known.group), None)
        self._removed[name] = revision
        self._changed(known, None)
        return True

    def replace(self, definitions: Iterable[Definition], revision: int) -> None:
        """Take over a list of all definitions at a revision."""
        listed = {definition.name: definition for definition in definitions}
        for name in [name for name in self._by_name if name not in listed]:
            self.remove(name, revision)
        for definition in listed.values():
            self._take(definition)
        self.advance(revision)

    def advance(self, revision: int) -> None:
        """All changes up to a revision have been told."""
        if revision <= self.revision:
            return
        self.revision = revision
        # What is told late of a deleted definition is older than this, and not taken for that.
        for name in [name for name, removed in self._removed.items() if removed <= revision]:
            del self._removed[name]
        while self._waiters and self._waiters[0][0] <= revision:
            future = heapq.heappop(self._waiters)[2]
            if not future.done():
                future.set_result(None)

    def _changed(self, old: Definition | None, new: Definition | None) -> None:
        self.generation += 1
        self._all = None
        for listener in tuple(self._listeners):
            try:
                listener(old, new)
            except Exception:  # noqa: BLE001 -- the change has happened, and the others must hear of it
                _LOG.exception("a listener of the catalog failed")


def _key(name: str, group: str) -> tuple[str, str]:
    # A definition is found by the plural in its name, which validation keeps equal to that of its spec.
    return group, name.removesuffix(f".{group}")
