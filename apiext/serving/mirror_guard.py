"""The phases of mirrors, held to in the moment of each write, by all servers on one store.

A server that is behind does not know that a mirror has gone on to another phase. So a write to an instance of a mirror is done
only if the mirror is still, in the store, at the revision by which the server has decided; where it is not, the server catches up
and decides anew.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from apiext.meta import errors
from apiext.serving import mirror_phases
from apiext.storage.backend import Guard

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

    from apiext.definitions.catalog import Catalog
    from apiext.definitions.definition import Definition
    from apiext.storage.write_guards import WriteGuard


class Custodian:
    """Makes the guards of definitions' instances."""

    def __init__(self, catalog: Catalog, refresh: Callable[[str], Awaitable[None]], prefix: str) -> None:
        """`refresh` brings the catalogue up to date about one definition; `prefix` is that of definitions in the store."""
        self._catalog = catalog
        self._refresh = refresh
        self._prefix = prefix

    def clients(self, definition: Definition) -> WriteGuard:
        """For what clients write, by the definition of that name, whichever it is by then."""
        return self._guard(definition, mirror_phases.check_write)

    def imports(self, definition: Definition) -> WriteGuard:
        """For what is imported for this very definition."""
        return self._guard(definition, _of_uid(definition.uid, mirror_phases.check_import))

    def removals(self, definition: Definition) -> WriteGuard:
        """For the removal of the copies that this very definition has."""
        return self._guard(definition, _of_uid(definition.uid, mirror_phases.check_removal))

    def current(self, definition: Definition) -> Definition:
        """What is known of this very definition by now, or was known last."""
        known = self._catalog.get(definition.name)
        return known if known is not None and known.uid == definition.uid else definition

    async def latest(self, name: str) -> Definition | None:
        """A definition as it is in the store, None where there is none. Raises StatusError, StorageError and BackendError."""
        await self._refresh(name)
        return self._catalog.get(name)

    def _guard(self, definition: Definition, check: Callable[[Definition], None]) -> WriteGuard:
        return _PhaseGuard(self._catalog, self._refresh, check, definition, self._prefix + definition.name)


def _of_uid(uid: str, check: Callable[[Definition], None]) -> Callable[[Definition], None]:
    """A check that another definition, which has come in the place of one, does not pass."""

    def both(definition: Definition) -> None:
        if definition.uid != uid:
            raise errors.path_not_found()
        check(definition)

    return both


class _PhaseGuard:
    """Implements WriteGuard by the phase of a definition."""

    __slots__ = ("_catalog", "_check", "_key", "_known", "_refresh")

    def __init__(
        self,
        catalog: Catalog,
        refresh: Callable[[str], Awaitable[None]],
        check: Callable[[Definition], None],
        definition: Definition,
        key: str,
    ) -> None:
        self._catalog = catalog
        self._refresh = refresh
        self._check = check
        self._known = definition
        self._key = key

    def decide(self) -> Guard | None:
        """Nothing must hold for instances of a definition that is no mirror. Raises StatusError."""
        definition = self._catalog.get(self._known.name)
        if definition is None:
            if self._known.phase is None:
                return None
            raise errors.path_not_found()
        self._known = definition
        self._check(definition)
        return None if definition.phase is None else Guard(self._key, definition.revision)

    async def outdated(self, guard: Guard) -> None:
        """Catch up, where the catalogue has not gone on by itself."""
        definition = self._catalog.get(self._known.name)
        if definition is None or definition.revision > guard.expected:
            return
        await self._refresh(definition.name)
        if self._catalog.get(definition.name) is definition:
            # it is being written over and over, or the store is not what it seems: later, then
            raise errors.server_timeout(definition.resource, "write", 1)
