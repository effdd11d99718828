"""Translates managers between an object and its scale (scalehandler.go of apimachinery pkg/util/managedfields)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from apiext.resources.managedfields import field_set, managers
from apiext.resources.managedfields.managers import Managers, VersionedSet

if TYPE_CHECKING:
    from apiext.base.meta.encoding.json_codec import Object
    from apiext.resources.managedfields.field_set import FieldSet

_SCALE: Final = "autoscaling/v1"
_REPLICAS: Final = field_set.from_paths(("f:spec", "f:replicas"))


@dataclass(frozen=True, slots=True)
class ScaleManagers:
    """Translates the managers of the replicas, for objects in one version. Its methods raise ValueError for invalid entries."""

    version: str
    """apiVersion of the objects."""
    paths: Mapping[str, FieldSet]
    """The path of the replicas by apiVersion; an empty set without a scale."""

    def to_scale(self, parent: list[Object] | None) -> list[Object] | None:
        """Return the entries of the scale: the managers of the replicas."""
        owners, times = managers.decode(parent or ())
        found = {
            manager: VersionedSet(_REPLICAS, _SCALE, owned.applied)
            for manager, owned in owners.items()
            if field_set.intersection(owned.fields, self.paths.get(owned.version, field_set.LEAF))
        }
        return managers.encode(found, times)

    def to_parent(self, parent: list[Object] | None, scale: list[Object] | None) -> list[Object] | None:
        """Return the object's entries after an update of its scale: other managers lose the replicas to those of the scale.

        A new manager has no time, as in the reference.
        """
        owners, times = managers.decode(parent or ())
        scaled, _ = managers.decode(scale or ())
        found: Managers = {}
        for manager, owned in owners.items():
            path = self.paths.get(owned.version)
            if path is None:
                continue
            if not field_set.intersection(owned.fields, path) or scaled.pop(manager, None) is not None:
                found[manager] = owned
            elif rest := field_set.difference(owned.fields, path):
                found[manager] = owned._replace(fields=rest)
        for manager, owned in scaled.items():
            if field_set.intersection(owned.fields, _REPLICAS):
                found[manager] = VersionedSet(self.paths[self.version], self.version, owned.applied)
        return managers.encode(found, times)
