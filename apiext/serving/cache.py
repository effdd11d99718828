"""The serving infos of all definitions in use: made when first asked for, replaced when their definition changes.

Mirrors the storage map of apiextensions-apiserver pkg/apiserver/customresource_handler.go.
"""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Final, Protocol

from apiext.admission.terminating_definition import Ending
from apiext.endpoints.handlers.open_watches import Watches
from apiext.meta.gvk import GroupResource
from apiext.meta.host_annotations import LEAVING
from apiext.meta.tasks import end_tasks
from apiext.serving.info import ServedVersion, ServingInfo
from apiext.serving.mirror_phases import ended

if TYPE_CHECKING:
    from apiext.admission.attributes import Admission
    from apiext.definitions.definition import Definition
    from apiext.serving.mirror_guard import Custodian
    from apiext.storage.interface import Store
    from apiext.storage.raw_objects import RawObjects
    from apiext.storage.write_guards import WriteGuard

DRAIN: Final = 120.0
"""Seconds that requests have to end before what serves them is torn down."""


class Stores(Protocol):
    """Where the stores of resources come from."""

    def store(self, resource: GroupResource) -> Store:
        """The store of a resource, always the same one until it is dropped."""
        ...

    def raw(self, resource: GroupResource, guard: WriteGuard) -> RawObjects:
        """The objects of a resource as they are stored."""
        ...

    def drop(self, resource: GroupResource) -> None:
        """Let the store of a resource go."""
        ...


class ServingCache:
    """Serving infos by the uid of their definition. Whoever follows the definitions tells it of changes."""

    def __init__(self, stores: Stores, admission: Admission, custodian: Custodian, watches: Watches | None = None) -> None:
        self.stores = stores
        self.custodian = custodian
        self._admission = admission
        self._infos: dict[str, ServingInfo] = {}
        self._retired: set[ServingInfo] = set()
        self._tasks: set[asyncio.Task[None]] = set()
        self.watches = Watches(watches)
        """Every open watch on a custom resource."""

    def info(self, definition: Definition) -> ServingInfo:
        """What serves a definition as it is now."""
        info = self._infos.get(definition.uid)
        if info is not None:
            if info.definition is definition:
                return info
            if info.fits(definition):
                info.definition = definition
                return info
            self._retire(info)
        info = ServingInfo(definition, watches=Watches(self.watches), ending=Ending(definition.is_terminating))
        self._infos[definition.uid] = info
        return info

    def current(self, definition: Definition) -> ServingInfo:
        """What serves a definition as far as is known here, which may be a later state than the one given."""
        return self._infos.get(definition.uid) or self.info(definition)

    def version(self, info: ServingInfo, name: str) -> ServedVersion | None:
        """What serves one version, built when first asked for; None for a version that the definition does not have."""
        served = info.versions.get(name)
        if served is None:
            version = info.definition.version(name)
            if version is None:
                return None
            # loaded with the first custom resource that is asked for: schemas take long
            from apiext.serving.builder import build_version

            store = self.stores.store(info.definition.resource)
            store.guard_writes(self.custodian.clients(info.definition))
            served = info.versions[name] = build_version(info, version, store, self._admission)
        return served

    def changed(self, old: Definition | None, new: Definition | None) -> None:
        """A definition has come, changed or gone: what served its former state is torn down once its requests have ended."""
        if old is None:
            return
        if new is None or new.uid != old.uid or new.is_terminating:
            self._end(old)
        if new is not None and new.phase != old.phase:
            self._turn(new)
        info = self._infos.get(old.uid)
        if info is None:
            return
        if new is None or new.uid != old.uid:
            del self._infos[old.uid]
            self._retire(info, gone=True)
        elif info.fits(new):
            info.definition = new
        else:
            del self._infos[old.uid]
            self._retire(info)

    def _end(self, definition: Definition) -> None:
        for info in self._serving(definition):
            info.ending.begun = True

    def _turn(self, definition: Definition) -> None:
        """A definition has come to another phase."""
        refusal = ended() if definition.phase == LEAVING else None
        for info in self._serving(definition):
            info.watches.refuse(refusal)

    def _serving(self, definition: Definition) -> list[ServingInfo]:
        """All that serves a definition, or has until a moment ago."""
        return [info for info in (*self._infos.values(), *self._retired) if info.definition.uid == definition.uid]

    def _retire(self, info: ServingInfo, *, gone: bool = False) -> None:
        if not info.busy:
            self._tear_down(info, gone=gone)
            return
        self._retired.add(info)
        task = asyncio.get_running_loop().create_task(self._retire_later(info, gone=gone))
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    async def _retire_later(self, info: ServingInfo, *, gone: bool) -> None:
        await info.drained(DRAIN)
        self._retired.discard(info)
        self._tear_down(info, gone=gone)

    def _tear_down(self, info: ServingInfo, *, gone: bool) -> None:
        info.watches.close()
        resource = info.definition.resource
        if gone and not any(other.definition.resource == resource for other in self._infos.values()):
            self.stores.drop(resource)

    async def close(self) -> None:
        """End everything."""
        self.watches.close()
        await end_tasks(*self._tasks)
        self._infos.clear()
