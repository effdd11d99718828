"""Local copy of the objects that the operator watches: definitions and APIServices of the host, and definitions of apiext."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any, Final

from apiext.base.meta import host_annotations
from apiext.base.meta.selectors import LabelSelector
from apiext.operator.api_clients import API_SERVICES, CRDS, Clients, Json
from apiext.operator.apiservice_owner import Owner, ServiceTarget, owner
from apiext.operator.group_state import GroupState

_OWN_CONDITIONS: Final = frozenset({host_annotations.CONDITION, host_annotations.STORED_VERSIONS_CONDITION})


class ObjectCache:
    """Objects by name, in their newest state from watch events and from responses to the operator's own writes.

    Calls `on_change` with the group of each object with a relevant change.
    """

    def __init__(self, on_change: Callable[[str], None]) -> None:
        self._objects: dict[str, Json] = {}
        self._groups: dict[str, dict[str, Json]] = {}
        self._revisions: dict[str, int] = {}
        """Newest resourceVersion seen by name, also of deleted objects."""
        self._on_change = on_change

    @property
    def newest(self) -> int:
        """The newest seen resourceVersion. A later list has a lower one only if the server's store was restored."""
        return max(self._revisions.values(), default=0)

    def of(self, group: str) -> dict[str, Json]:
        """Return the objects of a group by name."""
        return dict(self._groups.get(group, {}))

    def all(self) -> list[Json]:
        """Return all objects."""
        return list(self._objects.values())

    def replace(self, objects: Iterable[Json]) -> None:
        """Replace the content by a complete list, even with lower resourceVersions than before."""
        self._revisions.clear()
        found = {one["metadata"]["name"]: one for one in objects}
        for one in found.values():
            self.update(one)
        for name in self._objects.keys() - found.keys():
            self.remove(name)

    def update(self, found: Json) -> None:
        """Store an object unless a newer state is known."""
        name = found["metadata"]["name"]
        if not self._is_newer(name, found):
            return
        before, group = self._objects.get(name), _group(found)
        if before is not None and _group(before) != group:
            self.remove(name)
        self._objects[name] = found
        self._groups.setdefault(group, {})[name] = found
        if before is None or _relevant(before) != _relevant(found):
            self._on_change(group)

    def put(self, name: str, found: Json | None) -> None:
        """Store the response to a read or write of an object; None means a missing object."""
        if found is None:
            self.remove(name)
        else:
            self.update(found)

    def delete(self, found: Json) -> None:
        """Remove an object, given by its last state, unless a newer object of that name is known."""
        name = found["metadata"]["name"]
        if self._is_newer(name, found):
            self.remove(name)

    def remove(self, name: str) -> None:
        """Remove the object of that name, if there is one."""
        found = self._objects.pop(name, None)
        if found is None:
            return
        group = _group(found)
        members = self._groups.get(group, {})
        members.pop(name, None)
        if not members:
            self._groups.pop(group, None)
        self._on_change(group)

    def _is_newer(self, name: str, found: Json) -> bool:
        revision = _revision(found)
        if revision < self._revisions.get(name, 0):
            return False
        self._revisions[name] = revision
        return True


class WatchedState:
    """The known state of the host (as long as the operator runs) and of apiext (for one leader session)."""

    def __init__(self, selector: LabelSelector, on_change: Callable[[str], None], service: str = "") -> None:
        self._selector = selector
        self._service = service
        self._on_change = on_change
        self.crds = ObjectCache(on_change)
        """Definitions of the host."""
        self.api_services = ObjectCache(on_change)
        """APIServices of the host."""
        self.reset_session()

    def reset_session(self) -> None:
        """Drop the state of apiext from the previous leader session."""
        self.definitions = ObjectCache(self._on_change)
        """Definitions of apiext."""
        self.known = False
        """Whether apiext has listed its definitions."""
        self.guarded: set[str] = set()
        """Groups with a ValidatingAdmissionPolicy of apiext."""

    def group(self, name: str) -> GroupState:
        """Return the state of a group."""
        return GroupState(
            name=name,
            selector=self._selector,
            crds=self.crds.of(name),
            definitions=self.definitions.of(name),
            api_services=self.api_services.of(name),
            guarded=name in self.guarded,
            service=self._service,
        )

    async def refresh(self, name: str, clients: Clients) -> GroupState:
        """Read the known objects of a group again from both servers, and return its state. Raises ApiError."""
        known = self.group(name)
        for crd in known.crds:
            self.crds.put(crd, await clients.host.find(f"{CRDS}/{crd}"))
        for api_service in known.api_services:
            self.api_services.put(api_service, await clients.host.find(f"{API_SERVICES}/{api_service}"))
        for definition in {**known.crds, **known.definitions}:
            self.definitions.put(definition, await clients.apiext.find(f"{CRDS}/{definition}"))
        return self.group(name)

    def concerns(self, name: str, target: ServiceTarget) -> bool:
        """Return whether the operator has to reconcile a group."""
        group = self.group(name)
        if group.other_service:
            return bool(group.selected)
        ours = any(owner(found, target) is Owner.APIEXT for found in group.api_services.values())
        return bool(group.selected or group.held or group.definitions or group.guarded or ours)

    def groups(self, target: ServiceTarget) -> set[str]:
        """Return the groups that the operator has to reconcile."""
        names = {_group(found) for cache in (self.crds, self.api_services, self.definitions) for found in cache.all()}
        return {name for name in names | self.guarded if self.concerns(name, target)}


def _relevant(found: Json) -> Json:
    """Return an object without the operator's own fields: writes to them must not trigger another reconciliation."""
    metadata = {name: value for name, value in found["metadata"].items() if name not in {"resourceVersion", "managedFields"}}
    status = found.get("status") or {}
    conditions = [one for one in status.get("conditions") or () if one.get("type") not in _OWN_CONDITIONS]
    return {**found, "metadata": metadata, "status": {**status, "conditions": conditions}}


def _group(found: Json) -> str:
    return str(found["spec"].get("group") or "")


def _revision(found: dict[str, Any]) -> int:
    try:
        return int(found["metadata"]["resourceVersion"])
    except (KeyError, ValueError):
        return 0
