"""A group as the operator finds it, and who should serve it."""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import Enum
from typing import TYPE_CHECKING, Protocol

from apiext.meta import host_annotations
from apiext.operator.apiservices.ownership import is_of_another, service_of

if TYPE_CHECKING:
    from collections.abc import Awaitable, Iterable, Mapping

    from apiext.meta.selectors import LabelSelector
    from apiext.operator.api_clients import Json


class Routing(Enum):
    """Where the host should send the requests of a group that has definitions on the host."""

    APIEXT = "apiext"
    HOST = "host"
    AS_IT_IS = "as it is"
    """Whatever the APIServices say now; only those that apiext has are kept in order."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Desired:
    """What is left to do for a group once its steps have been taken."""

    routing: Routing
    after: float | None = None
    """Seconds after which the group is looked at again, whether or not anything changes; None for the usual time."""


@dataclass(frozen=True, slots=True, kw_only=True)
class GroupState:
    """One group, as it was read last. Objects are those of the API, by name; they must not be changed."""

    name: str
    selector: LabelSelector
    crds: Mapping[str, Json] = field(default_factory=dict)
    """Definitions of the host."""
    definitions: Mapping[str, Json] = field(default_factory=dict)
    """Definitions of apiext: mirrors of the host's, and its own."""
    api_services: Mapping[str, Json] = field(default_factory=dict)
    """APIServices of the host for versions of the group."""
    guarded: bool = False
    """Whether the host has the ValidatingAdmissionPolicy of the group."""
    service: str = ""
    """The Service of this apiext, as NAMESPACE/NAME."""

    @property
    def selected(self) -> dict[str, Json]:
        """Definitions of the host that are to be served by apiext."""
        return {name: crd for name, crd in self.crds.items() if self.selector.matches(labels_of(crd))}

    @property
    def unselected(self) -> dict[str, Json]:
        """The others; as long as there are any, the group cannot be served by apiext."""
        return {name: crd for name, crd in self.crds.items() if not self.selector.matches(labels_of(crd))}

    @property
    def terminating(self) -> dict[str, Json]:
        """Definitions of the host that are being deleted."""
        return {name: crd for name, crd in self.crds.items() if crd["metadata"].get("deletionTimestamp")}

    @property
    def held(self) -> dict[str, Json]:
        """Definitions of the host with the finalizer of apiext, which may keep instances of them."""
        return {name: crd for name, crd in self.crds.items() if is_held(crd)}

    @property
    def taken_by(self) -> str:
        """The Service of another apiext that has the group, empty where none has."""
        services = (service_of(crd) for crd in self.held.values() if is_of_another(crd, self.service))
        return min(services, default="")

    @property
    def hand_over_asked(self) -> bool:
        """Whether a definition of the host asks to give the group back."""
        return any(host_annotations.is_asked_back(annotations_of(crd)) for crd in self.crds.values())

    @property
    def mirrors(self) -> dict[str, Json]:
        """Definitions of apiext that follow one of the host."""
        return {name: found for name, found in self.definitions.items() if host_annotations.HOST_UID in annotations_of(found)}

    @property
    def own(self) -> dict[str, Json]:
        """Definitions of apiext that have nothing to do with the host's."""
        return {name: found for name, found in self.definitions.items() if host_annotations.HOST_UID not in annotations_of(found)}

    def phase(self, name: str) -> str | None:
        """The phase of a mirror, None where there is no such mirror."""
        found = self.mirrors.get(name)
        return None if found is None else annotations_of(found).get(host_annotations.PHASE) or host_annotations.IMPORTING


class Hands(Protocol):
    """What the steps of a group may ask of the operator while they go on."""

    def read(self) -> Awaitable[GroupState]:
        """The group as it is now on both sides. Raises ApiError."""
        ...

    def route(self, routing: Routing) -> Awaitable[None]:
        """Write all APIServices of the group so, and return when the host has taken them. Raises ApiError."""
        ...


def is_held(crd: Json) -> bool:
    """Whether a definition of the host has the finalizer of apiext."""
    return host_annotations.INSTANCES_FINALIZER in (crd["metadata"].get("finalizers") or ())


def labels_of(found: Json) -> dict[str, str]:
    """The labels of an object."""
    return found["metadata"].get("labels") or {}


def annotations_of(found: Json) -> dict[str, str]:
    """The annotations of an object."""
    return found["metadata"].get("annotations") or {}


def condition_of(found: Json, type: str) -> Json:
    """A condition of an object, empty where it has none of that type."""
    conditions = (found.get("status") or {}).get("conditions") or ()
    return next((one for one in conditions if one.get("type") == type), {})


def served_versions(definitions: Iterable[Json]) -> set[str]:
    """The versions that any of some definitions serves."""
    return {version["name"] for found in definitions for version in found["spec"]["versions"] if version.get("served")}
