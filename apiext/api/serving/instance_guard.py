"""Write guards of instances: a write commits only in the definition's storage version, and if the definition's phase allows writes.

A request may be older than a change of the definition, and a server may not know of the change yet. So each write to an instance has a
precondition: the definition in the store still has the revision by which this server allowed the write. The write commits atomically
with the precondition. If it fails, the server reads the definition again and repeats the check. This holds for all servers on one
store: after a change of the storage version, no server writes an object in the former version. A migration that has rewritten all
objects leaves none in it. (The reference does not guard writes: it may drop a version with stored objects.)
"""

from __future__ import annotations

import asyncio
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final

from apiext.base.meta import errors
from apiext.resources.definitions import mirror_phases
from apiext.storage import stored_object
from apiext.storage.backend import Guard

if TYPE_CHECKING:
    from collections.abc import Callable

    from apiext.resources.definitions.definition import Definition
    from apiext.resources.definitions.definition_informer import DefinitionInformer
    from apiext.storage.writer import WriteGuard

_LARGE_BYTES: Final = 16 << 10
"""Size of a definition above which etcd would notice that each write reads it."""


class InstanceGuards:
    """Creates the write guards for the instances of definitions."""

    def __init__(self, informer: DefinitionInformer, prefix: str) -> None:
        """Create guards from an informer; `prefix` is the prefix of definitions' keys in the store."""
        self._informer = informer
        self._prefix = prefix
        self.has_former: Callable[[], bool] = _no_former
        """Reports whether a server of an earlier release runs: guards then compare definitions themselves, also large ones."""

    def for_clients(self, definition: Definition) -> WriteGuard:
        """Return the guard for clients' writes. It checks the current definition of that name, even one created later."""
        return self._guard(definition, mirror_phases.check_write)

    def for_repairs(self, definition: Definition) -> WriteGuard:
        """Return the guard for repairs of stored objects, which may have any version."""
        return self._guard(definition, mirror_phases.check_write, any_version=True)

    def for_imports(self, definition: Definition) -> WriteGuard:
        """Return the guard for imports. It fails if the definition was recreated."""
        return self._guard(definition, _require_uid(definition.uid, mirror_phases.check_import))

    def for_removals(self, definition: Definition) -> WriteGuard:
        """Return the guard for the removal of copies. It fails if the definition was recreated."""
        return self._guard(definition, _require_uid(definition.uid, mirror_phases.check_removal))

    def current(self, definition: Definition) -> Definition:
        """Return the catalog's state of a definition, or the given state if the definition is gone."""
        known = self._informer.catalog.get(definition.name)
        return known if known is not None and known.uid == definition.uid else definition

    async def latest(self, name: str) -> Definition | None:
        """Return a definition from the store, or None.

        Raises:
            StorageError, BackendError: the definition cannot be read.
        """
        await self._informer.refresh(name)
        return self._informer.catalog.get(name)

    def _guard(self, definition: Definition, check: Callable[[Definition], None], *, any_version: bool = False) -> WriteGuard:
        return _InstanceGuard(self, self._informer, check, definition, self._prefix + definition.name, any_version)


def _no_former() -> bool:
    return False


def _require_uid(uid: str, check: Callable[[Definition], None]) -> Callable[[Definition], None]:
    """Return a check that also raises StatusError (404) for a definition with another uid."""

    def check_uid_too(definition: Definition) -> None:
        if definition.uid != uid:
            raise errors.path_not_found()
        check(definition)

    return check_uid_too


def _stored_version(definition: Definition) -> str:
    """Return the apiVersion that the definition stores."""
    return f"{definition.group}/{definition.storage_version.name}"


def _check_version(definition: Definition, api_version: str) -> None:
    """Check that the definition stores this version. Raises StatusError (429)."""
    if api_version != _stored_version(definition):
        message = f"the storage version of {definition.resource} has just changed to {definition.storage_version.name}: retry the write"
        raise errors.too_many_requests(message, mirror_phases.RETRY_AFTER)


@dataclass(slots=True)
class _InstanceGuard:
    """Implements WriteGuard with the phase and the storage version of one definition."""

    _guards: InstanceGuards
    _informer: DefinitionInformer
    _check: Callable[[Definition], None]
    _known: Definition
    _key: str
    _any_version: bool
    _refreshing: asyncio.Lock = field(default_factory=asyncio.Lock)
    """Lets one of many overtaken writes read the definition for all."""
    _guard: Guard | None = None
    """The precondition on the known definition."""
    _head: bytes = b""
    """The first bytes of nearly all objects in the storage version."""

    def decide(self, value: bytes | None, /) -> Guard | None:
        """Check phase and storage version; return the precondition of the write, None if the definition was deleted.

        Raises:
            StatusError: the phase forbids the write, the value has another version than the storage version, or the mirror does not
                exist any more.
        """
        definition = self._informer.catalog.get(self._known.name)
        if definition is None:
            if self._known.phase is None:
                return None
            raise errors.path_not_found()
        if definition is not self._known:
            self._known, self._guard = definition, None
        self._check(definition)
        if self._guard is None or (self._guard.is_large and self._guards.has_former()):
            is_large = len(definition.item.data) > _LARGE_BYTES and not self._guards.has_former()
            self._guard = Guard(self._key, definition.revision, is_large)
            self._head = stored_object.head(_stored_version(definition))
        if value is not None and not self._any_version and not value.startswith(self._head):
            _check_version(definition, stored_object.api_version(value))
        return self._guard

    async def outdated(self, guard: Guard) -> None:
        """Read the definition again after a failed precondition, unless the catalog has a newer state.

        Raises:
            StatusError: the definition in the store is not newer (500). Writes change it continuously, or the store is inconsistent.
        """
        catalog = self._informer.catalog
        async with self._refreshing:
            definition = catalog.get(self._known.name)
            if definition is None or definition.revision > guard.expected:
                return
            await self._informer.refresh(definition.name)
            if catalog.get(definition.name) is definition:
                raise errors.server_timeout(definition.resource, "write", 1)
