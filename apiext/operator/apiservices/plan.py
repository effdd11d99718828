"""Which APIServices a group should have, and what to do about those that it has. Nothing here talks to anybody.

Mirrors what kube-apiserver's crdregistration and autoregister controllers do for definitions that it serves itself.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum
from typing import TYPE_CHECKING, Any, Final

from apiext.meta import host_annotations
from apiext.operator.apiservices.ownership import MANAGED_BY, MANAGER, is_ours
from apiext.operator.group_state import Routing, condition_of, labels_of, served_versions

if TYPE_CHECKING:
    from collections.abc import Iterator

    from apiext.operator.api_clients import Json
    from apiext.operator.group_state import GroupState

Marks = dict[str, dict[str, str | None]]
"""Labels and annotations; None for what must not be there."""
AUTOMANAGED: Final = "kube-aggregator.kubernetes.io/automanaged"
_ALWAYS: Final = "true"
_GROUP_PRIORITY: Final = 1000
_VERSION_PRIORITY: Final = 100
"""The same for all versions, as kube-apiserver has it for definitions: their names tell the order."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Target:
    """Where the host finds apiext."""

    namespace: str
    name: str
    port: int = 443
    ca_bundle: str = ""
    """Authorities of its certificate as an APIService has them (base64 of PEM); empty for those that the host trusts anyway."""

    @property
    def service(self) -> str:
        """The Service, as NAMESPACE/NAME."""
        return f"{self.namespace}/{self.name}"


class Owner(Enum):
    """Whose an APIService is."""

    NOBODY = "nobody"
    APIEXT = "apiext"
    HOST = "host"
    OTHER = "other"
    """Somebody's who has not to do with definitions, or another server's: it is left alone."""


class Act(Enum):
    """What is done with an APIService, as its events say it."""

    REGISTER = "Registered"
    TAKE_OVER = "TakenOver"
    REPAIR = "Repaired"
    GIVE_BACK = "GivenBack"
    REMOVE = "Removed"


@dataclass(frozen=True, slots=True, kw_only=True)
class Step:
    """One change."""

    act: Act
    name: str
    version: str
    body: Json
    """What is created, what is merged, or the options of the deletion."""
    before: Json | None = None
    fields: tuple[str, ...] = ()
    """What was not as it has to be."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Plan:
    """What has to be done for a group."""

    steps: tuple[Step, ...] = ()
    foreign: tuple[Json, ...] = ()
    """APIServices of versions that apiext should have, which belong to somebody else."""
    kept: tuple[str, ...] = ()
    """Versions that apiext serves and the host does too, with definitions that are not meant for apiext: they stay with the host."""


def owner(found: Json | None, target: Target) -> Owner:
    """Whose an APIService is, None for one that is not there."""
    if found is None:
        return Owner.NOBODY
    if _points_at(found, target):
        return Owner.APIEXT
    if is_ours(found):
        return Owner.APIEXT if is_ours(found, target.service) else Owner.OTHER
    automanaged = labels_of(found).get(AUTOMANAGED)
    local = not found["spec"].get("service")
    return Owner.HOST if automanaged == _ALWAYS or (local and automanaged is None) else Owner.OTHER


def plan(group: GroupState, routing: Routing, target: Target) -> Plan:
    """What makes the APIServices of a group what they should be; versions without any change are not in it."""
    steps: list[Step] = []
    foreign: list[Json] = []
    host, wanted = served_versions(group.crds.values()), _wanted(group, routing, target)
    kept = sorted(version for version in served_versions(group.own.values()) & host - wanted if routing is not Routing.HOST)
    names = {f"{version}.{group.name}": version for version in wanted}
    names |= {name: found["spec"]["version"] for name, found in group.api_services.items()}
    for name, version in sorted(names.items()):
        found = group.api_services.get(name)
        whose = owner(found, target)
        if version in wanted:
            if found is not None and whose is Owner.OTHER:
                foreign.append(found)
            else:
                steps += _kept(name, group.name, version, found, whose, target)
        elif found is not None and whose is Owner.APIEXT and _points_at(found, target):
            steps.append(_given_up(name, version, found, local=version in host))
    return Plan(steps=tuple(steps), foreign=tuple(foreign), kept=tuple(kept))


def unavailable(group: GroupState, target: Target) -> Json | None:
    """An APIService of apiext that the host finds not available, None where there is none."""
    for _, found in sorted(group.api_services.items()):
        if _points_at(found, target) and available(found)[0] == "False":
            return found
    return None


def available(found: Json) -> tuple[str, str]:
    """Whether the host finds an APIService available (True, False or empty for not said), and what it says of it."""
    condition = condition_of(found, "Available")
    return condition.get("status", ""), condition.get("message", "")


def _wanted(group: GroupState, routing: Routing, target: Target) -> set[str]:
    """The versions that the host should send to apiext."""
    host = served_versions(group.crds.values())
    own = served_versions(group.own.values())
    if not group.crds:
        return own | served_versions(group.mirrors.values())
    if routing is Routing.APIEXT:
        return host | own | served_versions(group.mirrors.values())
    if routing is Routing.HOST:
        return own - host
    apiexts = {found["spec"]["version"] for found in group.api_services.values() if owner(found, target) is Owner.APIEXT}
    return (own - host) | (host & apiexts)


def _kept(name: str, group: str, version: str, found: Json | None, whose: Owner, target: Target) -> Iterator[Step]:
    """What makes an APIService point at apiext."""
    spec = _spec(group, version, target)
    if found is None:
        body = {
            "apiVersion": "apiregistration.k8s.io/v1",
            "kind": "APIService",
            "metadata": {"name": name, "labels": {MANAGED_BY: MANAGER}, "annotations": {host_annotations.SERVICE: target.service}},
            "spec": {field: value for field, value in spec.items() if value is not None},
        }
        yield Step(act=Act.REGISTER, name=name, version=version, body=body)
        return
    marked: Marks = {"labels": {MANAGED_BY: MANAGER, AUTOMANAGED: None}, "annotations": {host_annotations.SERVICE: target.service}}
    if fields := tuple(_differences(found, marked, spec)):
        act = Act.REPAIR if whose is Owner.APIEXT else Act.TAKE_OVER
        yield Step(act=act, name=name, version=version, body=_merged(found, marked, spec), before=found, fields=fields)


def _given_up(name: str, version: str, found: Json, *, local: bool) -> Step:
    """What makes an APIService the host's own, or takes it away where the host has nothing to serve."""
    if not local:
        metadata = found["metadata"]
        body = {"preconditions": {"uid": metadata["uid"], "resourceVersion": metadata["resourceVersion"]}}
        return Step(act=Act.REMOVE, name=name, version=version, body=body, before=found)
    marked: Marks = {"labels": {MANAGED_BY: None, AUTOMANAGED: _ALWAYS}, "annotations": {host_annotations.SERVICE: None}}
    spec = _priorities() | {"service": None, "caBundle": None, "insecureSkipTLSVerify": None}
    return Step(act=Act.GIVE_BACK, name=name, version=version, body=_merged(found, marked, spec), before=found)


def _spec(group: str, version: str, target: Target) -> dict[str, Any]:
    """The whole spec; None for what must not be there."""
    return {
        "group": group,
        "version": version,
        **_priorities(),
        "service": {"namespace": target.namespace, "name": target.name, "port": target.port},
        "caBundle": target.ca_bundle or None,
        "insecureSkipTLSVerify": None,
    }


def _priorities() -> dict[str, Any]:
    return {"groupPriorityMinimum": _GROUP_PRIORITY, "versionPriority": _VERSION_PRIORITY}


def _merged(found: Json, marked: Marks, spec: dict[str, Any]) -> Json:
    """A merge patch that holds for this state of the object alone."""
    return {"metadata": {"resourceVersion": found["metadata"]["resourceVersion"], **marked}, "spec": spec}


def _differences(found: Json, marked: Marks, spec: dict[str, Any]) -> Iterator[str]:
    for member, texts in marked.items():
        present = found["metadata"].get(member) or {}
        yield from (f"metadata.{member}[{name}]" for name, text in texts.items() if present.get(name) != text)
    for name, value in spec.items():
        if (found["spec"].get(name) or None) != value:
            yield f"spec.{name}"


def _points_at(found: Json, target: Target) -> bool:
    service = found["spec"].get("service") or {}
    return (service.get("namespace"), service.get("name")) == (target.namespace, target.name)
