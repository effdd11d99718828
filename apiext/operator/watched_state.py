"""What the operator knows of the host and of apiext, from lists and from changes in whatever order they come."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from apiext.meta import host_annotations
from apiext.operator.apiservices.plan import Owner, owner
from apiext.operator.group_state import GroupState, is_held, labels_of

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from apiext.meta.selectors import LabelSelector
    from apiext.operator.api_clients import Json
    from apiext.operator.apiservices.plan import Target


class Collection:
    """Objects by name, each in the latest state that was told. `changed` is called with the group of what is not as before."""

    def __init__(self, changed: Callable[[str], None]) -> None:
        self._objects: dict[str, Json] = {}
        self._groups: dict[str, dict[str, Json]] = {}
        self._seen: dict[str, int] = {}
        self._changed = changed

    @property
    def newest(self) -> int:
        """The latest revision that was told; a list that was asked for afterwards can only be older where the server was restored."""
        return max(self._seen.values(), default=0)

    def of(self, group: str) -> dict[str, Json]:
        """The objects of a group."""
        return dict(self._groups.get(group, {}))

    def all(self) -> Iterable[Json]:
        """All objects."""
        return self._objects.values()

    def listed(self, objects: Sequence[Json], revision: int) -> None:
        """These are all objects as of a revision; what was told of later states stays."""
        names = {found["metadata"]["name"] for found in objects}
        for found in objects:
            self.changed(found)
        for name, found in list(self._objects.items()):
            if name not in names and self._seen.get(name, 0) <= revision:
                self._drop(name, found)
        self._seen = {name: self._seen[name] for name in self._objects}

    def replaced(self, objects: Sequence[Json]) -> None:
        """These are all objects, whatever was told before."""
        self._seen.clear()
        names = {found["metadata"]["name"] for found in objects}
        for found in objects:
            self.changed(found)
        for name, found in list(self._objects.items()):
            if name not in names:
                self._drop(name, found)

    def changed(self, found: Json) -> None:
        """An object is new or not what it was, unless something later has been told."""
        name = found["metadata"]["name"]
        if not self._is_news(name, found):
            return
        before = self._objects.get(name)
        self._objects[name] = found
        group = _group(found)
        if before is not None and _group(before) != group:
            self._drop(name, before)
            self._objects[name] = found
        self._groups.setdefault(group, {})[name] = found
        if before is None or _gist(before) != _gist(found):
            self._changed(group)

    def deleted(self, found: Json) -> None:
        """An object has gone; this is its last state."""
        name = found["metadata"]["name"]
        if self._is_news(name, found):
            self.gone(name)

    def gone(self, name: str) -> None:
        """There is no such object."""
        before = self._objects.get(name)
        if before is not None:
            self._drop(name, before)

    def _drop(self, name: str, found: Json) -> None:
        group = _group(found)
        self._objects.pop(name, None)
        members = self._groups.get(group, {})
        members.pop(name, None)
        if not members:
            self._groups.pop(group, None)
        self._changed(group)

    def _is_news(self, name: str, found: Json) -> bool:
        revision = _revision(found)
        if revision < self._seen.get(name, 0):
            return False
        self._seen[name] = revision
        return True


class Watched:
    """Definitions and APIServices of the host, and definitions of apiext."""

    def __init__(self, selector: LabelSelector, changed: Callable[[str], None], service: str = "") -> None:
        self._selector = selector
        self._service = service
        self.crds = Collection(changed)
        self.api_services = Collection(changed)
        self.definitions = Collection(changed)
        self.known = False
        """Whether apiext has said which definitions it has."""
        self.guarded: set[str] = set()
        """Groups with a ValidatingAdmissionPolicy of apiext."""

    def group(self, name: str) -> GroupState:
        """A group as it was told last."""
        return GroupState(
            name=name,
            selector=self._selector,
            crds=self.crds.of(name),
            definitions=self.definitions.of(name),
            api_services=self.api_services.of(name),
            guarded=name in self.guarded,
            service=self._service,
        )

    def concerns(self, name: str, target: Target) -> bool:
        """Whether a group is one of those."""
        group = self.group(name)
        if group.taken_by:
            return bool(group.selected)
        ours = any(owner(found, target) is Owner.APIEXT for found in group.api_services.values())
        return bool(group.selected or group.held or group.definitions or group.guarded or ours)

    def groups(self, target: Target) -> set[str]:
        """The groups that have anything to do with apiext."""
        chosen = {_group(crd) for crd in self.crds.all() if self._selector.matches(labels_of(crd)) or is_held(crd)}
        served = {_group(found) for found in self.definitions.all()}
        registered = {_group(found) for found in self.api_services.all() if owner(found, target) is Owner.APIEXT}
        return chosen | served | registered | self.guarded


def _gist(found: Json) -> Json:
    """What there may be something to do about: not what the operator itself says on it, which would call it again and again."""
    metadata = {name: value for name, value in found["metadata"].items() if name not in {"resourceVersion", "managedFields"}}
    status = found.get("status") or {}
    conditions = [one for one in status.get("conditions") or () if one.get("type") != host_annotations.CONDITION]
    return {**found, "metadata": metadata, "status": {**status, "conditions": conditions}}


def _group(found: Json) -> str:
    return str(found["spec"].get("group") or "")


def _revision(found: dict[str, Any]) -> int:
    try:
        return int(found["metadata"]["resourceVersion"])
    except (KeyError, ValueError):
        return 0
