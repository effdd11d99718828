"""A definition, its objects, and the definition of the next release."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

Json = dict[str, Any]


@dataclass(frozen=True, slots=True)
class AppliedBodies:
    """An object that managers apply in turn."""

    bodies: tuple[Json, ...]
    """What each manager applies, without apiVersion, kind and metadata."""
    version: str = "v1"
    status: Json | None = None
    """The status that is set afterwards."""
    metadata: Json = field(default_factory=dict)

    def manifest(self, crd: Json, name: str, place: int) -> Json:
        """Return what a manager applies."""
        namespace = {"namespace": "default"} if crd["spec"]["scope"] == "Namespaced" else {}
        return {
            "apiVersion": f"{crd['spec']['group']}/{self.version}",
            "kind": crd["spec"]["names"]["kind"],
            "metadata": {"name": name} | namespace | self.metadata,
        } | self.bodies[place]


@dataclass(frozen=True, slots=True)
class ReleasePair:
    """A change of a definition whose objects are in the namespace default, if in any. Both have the same name."""

    name: str
    """What changes, and how to get the same pair again."""
    old: Json
    new: Json
    objects: tuple[AppliedBodies, ...]
    """Objects of the old definition; they are called o0, o1 and so on."""
    refused: tuple[Json, ...] = ()
    """Other changes of the old definition, which a server most likely refuses."""

    @property
    def versions(self) -> list[str]:
        """Return the versions of the new definition."""
        return [version["name"] for version in self.new["spec"]["versions"]]
