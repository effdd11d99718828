"""The CRDs and Conversion objects of the cluster, by name."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final

from apiext.operator.api_clients import Json

STRATEGY: Final = "conversion.apiext.dev/strategy"
"""Annotation of a CRD that asks for a conversion: WEBHOOK, or NONE to get the strategy None back. Without it spec.conversion stays.

It is on the CRD and not on the Conversion object: who may write Conversion objects must not thereby change other people's CRDs.
"""
WEBHOOK: Final = "webhook"
NONE: Final = "none"


class ClusterObjects:
    """Objects of a collection by name (implements webhook.reflector.Follower). Calls `on_change` with the name of each changed one."""

    def __init__(self, on_change: Callable[[str], None], reduce: Callable[[Json], Json] = lambda found: found) -> None:
        """Create the follower. `reduce` returns the part of an object that is kept."""
        self._on_change = on_change
        self.reduce = reduce
        self._objects: dict[str, Json] = {}
        self.synced = asyncio.Event()
        """Set when the collection has been listed once."""

    def get(self, name: str) -> Json | None:
        """Return an object, None if there is none of that name."""
        return self._objects.get(name)

    def names(self) -> list[str]:
        """Return the names of all objects."""
        return list(self._objects)

    def all(self) -> list[Json]:
        """Return all objects."""
        return list(self._objects.values())

    def replaced(self, objects: Sequence[dict[str, Any]]) -> None:
        """Implement Follower.replaced."""
        found = {one["metadata"]["name"]: one for one in objects}
        for name in self._objects.keys() - found.keys():
            self._remove(name)
        for one in found.values():
            self.changed(one)
        self.synced.set()

    def changed(self, found: dict[str, Any]) -> None:
        """Implement Follower.changed."""
        name, kept = found["metadata"]["name"], self.reduce(found)
        if self._objects.get(name) != kept:
            self._objects[name] = kept
            self._on_change(name)

    def deleted(self, found: dict[str, Any]) -> None:
        """Implement Follower.deleted."""
        self._remove(found["metadata"]["name"])

    def _remove(self, name: str) -> None:
        if self._objects.pop(name, None) is not None:
            self._on_change(name)


def crd_summary(crd: Json) -> Json:
    """Return what is kept of a CRD: its identity, its wish and its present conversion, without schemas.

    resourceVersion is left out: a change of other fields, such as conditions, is none.
    """
    metadata, spec = crd["metadata"], crd["spec"]
    accepted = (crd.get("status") or {}).get("acceptedNames") or {}
    wish = (metadata.get("annotations") or {}).get(STRATEGY)
    return {
        "metadata": {
            **{name: metadata.get(name) for name in ("name", "uid", "generation")},
            "annotations": {} if wish is None else {STRATEGY: wish},
        },
        "spec": {
            "group": spec["group"],
            # "" while another CRD of the group has the kind: objects of the kind are not of this one
            "names": {"kind": accepted.get("kind", spec["names"]["kind"])},
            "conversion": spec.get("conversion") or {},
        },
    }


def conversion_summary(conversion: Json) -> Json:
    """Return what is kept of a Conversion object: all but its managed fields and its revision."""
    metadata = {name: value for name, value in conversion["metadata"].items() if name not in {"managedFields", "resourceVersion"}}
    return {**conversion, "metadata": metadata}


def wish_of(crd: Mapping[str, Any]) -> str:
    """Return the value of the annotation STRATEGY of a CRD, "" without one."""
    return str((crd["metadata"].get("annotations") or {}).get(STRATEGY) or "")
