"""The CRDs, XRDs and Conversion objects of the cluster, by name."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final, NamedTuple

from apiext.operator.api_clients import CRDS, Json
from apiext.resources.definitions.composite_definition import GROUP, KIND, PLURAL, composite_owner, crd_names

STRATEGY: Final = "conversion.apiext.dev/strategy"
"""Annotation of a CRD or XRD that asks for a conversion: WEBHOOK, or NONE to get the strategy None back. Without it spec.conversion stays.

It is on the CRD and not on the Conversion object: who may write Conversion objects must not thereby change other people's CRDs.
"""
WEBHOOK: Final = "webhook"
NONE: Final = "none"
XRDS: Final = f"/apis/{GROUP}/v1/{PLURAL}"
"""The path of XRDs, in the version that all releases of Crossplane serve."""
CRD_OF_XRDS: Final = f"{PLURAL}.{GROUP}"


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
    """Return what is kept of a CRD: its identity, its wish, its present conversion and its XRD, without schemas.

    resourceVersion is left out: a change of other fields, such as conditions, is none.
    """
    metadata, spec = crd["metadata"], crd["spec"]
    accepted = (crd.get("status") or {}).get("acceptedNames") or {}
    owners = {"ownerReferences": metadata["ownerReferences"]} if composite_owner(metadata) else {}
    return {
        "metadata": _identity(metadata) | owners,
        "spec": {
            "group": spec["group"],
            # "" while another CRD of the group has the kind: objects of the kind are not of this one
            "names": {"kind": accepted.get("kind", spec["names"]["kind"])},
            "conversion": spec.get("conversion") or {},
        },
    }


def xrd_summary(xrd: Json) -> Json:
    """Return what is kept of an XRD: its identity, its wish, its present conversion, and what names its CRDs."""
    spec = xrd["spec"]
    claim = spec.get("claimNames")
    return {
        "apiVersion": f"{GROUP}/v1",
        "kind": KIND,
        "metadata": _identity(xrd["metadata"]),
        "spec": {
            "group": spec["group"],
            "claimNames": {"plural": claim["plural"]} if claim else None,
            "conversion": spec.get("conversion") or {},
        },
    }


def _identity(metadata: Json) -> Json:
    """Return what is kept of metadata: with the wish."""
    wish = (metadata.get("annotations") or {}).get(STRATEGY)
    kept = {name: metadata.get(name) for name in ("name", "uid", "generation")}
    return {**kept, "annotations": {} if wish is None else {STRATEGY: wish}}


class ConversionHolder(NamedTuple):
    """An object whose spec.conversion counts: a CRD, or an XRD, of which Crossplane copies it to its CRDs."""

    object: Json
    """The summary."""
    collection: str
    """The path of its collection."""
    crds: Sequence[str]
    """The names of the CRDs that it is about."""

    @property
    def kind(self) -> str:
        """The kind in words."""
        return "CRD" if self.collection == CRDS else "XRD"


class ClusterDefinitions:
    """The CRDs of a cluster, and the XRDs of Crossplane if there are any."""

    def __init__(self, crds: ClusterObjects, xrds: ClusterObjects) -> None:
        self.crds = crds
        self.xrds = xrds

    def holder(self, name: str) -> ConversionHolder | None:
        """Return the object that has the conversion of a CRD, None if it is not known (yet)."""
        crd = self.crds.get(name)
        if crd is None:
            return None
        owner = composite_owner(crd["metadata"])
        if not owner:
            return ConversionHolder(crd, CRDS, [name])
        xrd = self.xrds.get(owner)
        return None if xrd is None else ConversionHolder(xrd, XRDS, crd_names(xrd))

    def are_known(self) -> bool:
        """Report whether all definitions have been listed: the XRDs, too, if the cluster has them."""
        return self.crds.synced.is_set() and (self.crds.get(CRD_OF_XRDS) is None or self.xrds.synced.is_set())


def conversion_summary(conversion: Json) -> Json:
    """Return what is kept of a Conversion object: all but its managed fields and its revision."""
    metadata = {name: value for name, value in conversion["metadata"].items() if name not in {"managedFields", "resourceVersion"}}
    return {**conversion, "metadata": metadata}


def wish_of(crd: Mapping[str, Any]) -> str:
    """Return the value of the annotation STRATEGY of a CRD or XRD, "" without one."""
    return str((crd["metadata"].get("annotations") or {}).get(STRATEGY) or "")
