"""The changes that a group's APIServices need. Sends no requests.

Mirrors what kube-apiserver's crdregistration and autoregister controllers do for definitions that it serves itself.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from enum import Enum
from typing import Any, Final

from apiext.base.meta import host_annotations
from apiext.base.meta.host_annotations import MANAGED_BY, MANAGER
from apiext.operator.api_clients import Json
from apiext.operator.apiservice_owner import ALWAYS, AUTOMANAGED, Owner, ServiceTarget, owner, points_to
from apiext.operator.group_state import GroupState, Routing, condition_of, served_versions

Metadata = dict[str, dict[str, str | None]]
"""Labels and annotations; None for those that must be absent."""
_GROUP_PRIORITY: Final = 1000
_VERSION_PRIORITY: Final = 100
"""The same for all versions, as in kube-apiserver's crdregistration controller: the names of versions determine their order."""


class Action(Enum):
    """A change of an APIService; the value is the reason of its event."""

    REGISTER = "Registered"
    TAKE_OVER = "TakenOver"
    REPAIR = "Repaired"
    GIVE_BACK = "GivenBack"
    REMOVE = "Removed"


@dataclass(frozen=True, slots=True, kw_only=True)
class APIServiceStep:
    """One change."""

    action: Action
    name: str
    version: str
    body: Json
    """The new object, the merge patch, or the DeleteOptions."""
    before: Json = field(default_factory=dict)
    """The object that is removed."""
    fields: tuple[str, ...] = ()
    """The fields that were wrong."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Plan:
    """The changes for a group."""

    steps: tuple[APIServiceStep, ...] = ()
    foreign: tuple[Json, ...] = ()
    """APIServices of versions that apiext should serve, with another owner."""
    kept: tuple[str, ...] = ()
    """Versions that host and apiext both define, but whose host definitions apiext must not serve: the host keeps them."""


def plan(group: GroupState, routing: Routing, target: ServiceTarget) -> Plan:
    """Return the changes of a group's APIServices for the desired routing."""
    steps: list[APIServiceStep] = []
    foreign: list[Json] = []
    host, wanted = served_versions(group.crds.values()), _wanted(group, routing, target)
    kept = sorted(version for version in served_versions(group.own.values()) & host - wanted if routing is not Routing.HOST)
    names = {f"{version}.{group.name}": version for version in wanted}
    names |= {name: found["spec"]["version"] for name, found in group.api_services.items()}
    for name, version in sorted(names.items()):
        found = group.api_services.get(name)
        found_owner = owner(found, target)
        if version in wanted:
            if found is not None and found_owner is Owner.OTHER:
                foreign.append(found)
            else:
                steps += _point_to_apiext(name, group.name, version, found, found_owner, target)
        elif found is not None and found_owner is Owner.APIEXT and points_to(found, target):
            steps.append(_give_up(name, version, found, local=version in host))
    return Plan(steps=tuple(steps), foreign=tuple(foreign), kept=tuple(kept))


def unavailable(group: GroupState, target: ServiceTarget) -> Json | None:
    """Return an unavailable APIService of apiext, None if the host reports none."""
    for _, found in sorted(group.api_services.items()):
        if points_to(found, target) and available(found)[0] == "False":
            return found
    return None


def available(found: Json) -> tuple[str, str]:
    """Return status (True, False, or empty if missing) and message of the condition Available."""
    condition = condition_of(found, "Available")
    return condition.get("status", ""), condition.get("message", "")


def _wanted(group: GroupState, routing: Routing, target: ServiceTarget) -> set[str]:
    """Return the versions that the host should proxy to apiext."""
    host = served_versions(group.crds.values())
    own = served_versions(group.own.values())
    if routing is Routing.APIEXT or not group.crds:
        return host | served_versions(group.definitions.values())
    if routing is Routing.HOST:
        return own - host
    apiexts = {found["spec"]["version"] for found in group.api_services.values() if owner(found, target) is Owner.APIEXT}
    return (own - host) | (host & apiexts)


def _point_to_apiext(
    name: str, group: str, version: str, found: Json | None, found_owner: Owner, target: ServiceTarget
) -> Iterator[APIServiceStep]:
    """Yield the change that makes an APIService point to apiext, if one is needed."""
    spec = _spec(group, version, target)
    annotations = {host_annotations.SERVICE: str(target.service)}
    if found is None:
        body = {
            "apiVersion": "apiregistration.k8s.io/v1",
            "kind": "APIService",
            "metadata": {"name": name, "labels": {MANAGED_BY: MANAGER}, "annotations": annotations},
            "spec": {field: value for field, value in spec.items() if value is not None},
        }
        yield APIServiceStep(action=Action.REGISTER, name=name, version=version, body=body)
        return
    metadata: Metadata = {"labels": {MANAGED_BY: MANAGER, AUTOMANAGED: None}, "annotations": {**annotations}}
    if fields := tuple(_differences(found, metadata, spec)):
        action = Action.REPAIR if found_owner is Owner.APIEXT else Action.TAKE_OVER
        yield APIServiceStep(action=action, name=name, version=version, body=_patch(found, metadata, spec), fields=fields)


def _give_up(name: str, version: str, found: Json, *, local: bool) -> APIServiceStep:
    """Return the change that makes an APIService local, or deletes it if the host does not serve the version."""
    if not local:
        identity = found["metadata"]
        body = {"preconditions": {"uid": identity["uid"], "resourceVersion": identity["resourceVersion"]}}
        return APIServiceStep(action=Action.REMOVE, name=name, version=version, body=body, before=found)
    metadata: Metadata = {"labels": {MANAGED_BY: None, AUTOMANAGED: ALWAYS}, "annotations": {host_annotations.SERVICE: None}}
    spec = _priorities() | {"service": None, "caBundle": None, "insecureSkipTLSVerify": None}
    return APIServiceStep(action=Action.GIVE_BACK, name=name, version=version, body=_patch(found, metadata, spec))


def _spec(group: str, version: str, target: ServiceTarget) -> dict[str, Any]:
    """Return the desired spec; None marks fields that must be absent."""
    return {
        "group": group,
        "version": version,
        **_priorities(),
        "service": {**target.service._asdict(), "port": target.port},
        "caBundle": target.ca_bundle or None,
        "insecureSkipTLSVerify": None,
    }


def _priorities() -> dict[str, Any]:
    return {"groupPriorityMinimum": _GROUP_PRIORITY, "versionPriority": _VERSION_PRIORITY}


def _patch(found: Json, metadata: Metadata, spec: dict[str, Any]) -> Json:
    """Return a merge patch with the resourceVersion as precondition."""
    return {"metadata": {"resourceVersion": found["metadata"]["resourceVersion"], **metadata}, "spec": spec}


def _differences(found: Json, metadata: Metadata, spec: dict[str, Any]) -> Iterator[str]:
    for member, texts in metadata.items():
        present = found["metadata"].get(member) or {}
        yield from (f"metadata.{member}[{name}]" for name, text in texts.items() if present.get(name) != text)
    for name, value in spec.items():
        if (found["spec"].get(name) or None) != value:
            yield f"spec.{name}"
