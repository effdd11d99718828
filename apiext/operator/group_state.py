"""The state of a group on host and apiext, and its desired routing."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from enum import Enum
from typing import Final

from apiext.base.meta import host_annotations
from apiext.base.meta.selectors import LabelSelector
from apiext.operator.api_clients import Json
from apiext.operator.ownership import is_of_another, service_of

_PHASES_WITH_OBJECTS: Final = frozenset({host_annotations.SERVING, host_annotations.FROZEN, host_annotations.LEAVING})


class Routing(Enum):
    """The server that should answer requests for a group that has definitions on the host."""

    APIEXT = "apiext"
    HOST = "host"
    AS_IT_IS = "as it is"
    """Keep the present routing; repair only APIServices that apiext owns."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Desired:
    """The result of the adoption steps of a group."""

    routing: Routing
    after: float | None = None
    """Seconds until the next reconciliation if nothing changes; None for the usual interval."""


@dataclass(frozen=True, slots=True, kw_only=True)
class GroupState:
    """The last known objects of one group, by name. Callers must not change them."""

    name: str
    selector: LabelSelector
    crds: Mapping[str, Json] = field(default_factory=dict)
    """Definitions of the host."""
    definitions: Mapping[str, Json] = field(default_factory=dict)
    """Definitions of apiext: mirrors of the host's definitions, and its own."""
    api_services: Mapping[str, Json] = field(default_factory=dict)
    """APIServices of the group's versions on the host."""
    guarded: bool = False
    """Whether the host has the ValidatingAdmissionPolicy of the group."""
    service: str = ""
    """The Service of this apiext, as NAMESPACE/NAME."""

    @property
    def selected(self) -> dict[str, Json]:
        """Definitions of the host that the selector matches."""
        return {name: crd for name, crd in self.crds.items() if self.selector.matches(labels_of(crd))}

    @property
    def unselected(self) -> dict[str, Json]:
        """Definitions of the host that the selector does not match. apiext cannot serve a group with such definitions."""
        return {name: crd for name, crd in self.crds.items() if not self.selector.matches(labels_of(crd))}

    @property
    def terminating(self) -> dict[str, Json]:
        """Definitions of the host that are being deleted."""
        return {name: crd for name, crd in self.crds.items() if crd["metadata"].get("deletionTimestamp")}

    @property
    def held(self) -> dict[str, Json]:
        """Definitions of the host with the finalizer of apiext: apiext may store instances of them."""
        return {name: crd for name, crd in self.crds.items() if is_held(crd)}

    @property
    def adopted(self) -> dict[str, Json]:
        """Definitions of the host whose mirrors have left the phase Importing: apiext may have the only valid objects of them."""
        return {name: crd for name, crd in self.crds.items() if self.phase(name) in _PHASES_WITH_OBJECTS}

    @property
    def reported(self) -> dict[str, Json]:
        """Definitions of the host whose condition ServedByApiext concerns this apiext."""
        return self.selected | self.held | self.adopted

    @property
    def other_service(self) -> str:
        """The Service of another apiext that owns the group, empty if there is none.

        The annotation of an adopted definition does not count while the host sends requests of the group to this apiext.
        """
        ours = self.adopted if self.is_routed_here else {}
        services = (service_of(crd) for name, crd in self.held.items() if name not in ours and is_of_another(crd, self.service))
        return min(services, default="")

    @property
    def is_routed_here(self) -> bool:
        """Whether an APIService of the group leads to the Service of this apiext."""
        return any(service_name(found) == self.service for found in self.api_services.values())

    @property
    def hand_back_requested(self) -> bool:
        """Whether a live definition of the host requests the hand-over of the group."""
        live = (crd for name, crd in self.crds.items() if name not in self.terminating)
        return any(host_annotations.wants_hand_over(annotations_of(crd)) for crd in live)

    @property
    def mirrors(self) -> dict[str, Json]:
        """Definitions of apiext that mirror one of the host."""
        return {name: found for name, found in self.definitions.items() if host_annotations.HOST_UID in annotations_of(found)}

    @property
    def own(self) -> dict[str, Json]:
        """Definitions of apiext that mirror none of the host."""
        return {name: found for name, found in self.definitions.items() if host_annotations.HOST_UID not in annotations_of(found)}

    def phase(self, name: str) -> str | None:
        """Return the phase of the mirror of a definition, None if the present definition of that name has none."""
        mirror, crd = self.mirrors.get(name), self.crds.get(name)
        return phase_of(mirror) if mirror is not None and crd is not None and is_mirror_of(mirror, crd) else None


def service_name(api_service: Json) -> str:
    """Return the Service to which an APIService leads, as NAMESPACE/NAME; empty if it is local."""
    service = api_service["spec"].get("service")
    return f"{service['namespace']}/{service['name']}" if service else ""


def phase_of(mirror: Json) -> str:
    """Return the phase of a mirror."""
    return annotations_of(mirror).get(host_annotations.PHASE) or host_annotations.IMPORTING


def is_mirror_of(mirror: Json, crd: Json) -> bool:
    """Return whether a mirror is that of a definition of the host, not of an earlier one with its name."""
    return bool(annotations_of(mirror).get(host_annotations.HOST_UID) == crd["metadata"]["uid"])


def is_held(crd: Json) -> bool:
    """Return whether a definition of the host has the finalizer of apiext."""
    return host_annotations.INSTANCES_FINALIZER in (crd["metadata"].get("finalizers") or ())


def labels_of(found: Json) -> dict[str, str]:
    """Return the labels of an object."""
    return found["metadata"].get("labels") or {}


def annotations_of(found: Json) -> dict[str, str]:
    """Return the annotations of an object."""
    return found["metadata"].get("annotations") or {}


def condition_of(found: Json, type: str) -> Json:
    """Return a condition of an object, empty if it has none of that type."""
    conditions = (found.get("status") or {}).get("conditions") or ()
    return next((one for one in conditions if one.get("type") == type), {})


def is_established(crd: Json) -> bool:
    """Return whether a definition has the condition Established."""
    return bool(condition_of(crd, "Established").get("status") == "True")


def served_versions(definitions: Iterable[Json]) -> set[str]:
    """Return the versions that at least one of the definitions serves to clients."""
    found = {version["name"] for one in definitions for version in one["spec"]["versions"] if version.get("served")}
    return found - {host_annotations.CLEANUP_VERSION}
