"""What the strategies of single kinds set on writes (PrepareForCreate and PrepareForUpdate of kubernetes pkg/registry)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from apiext.base.meta import quantity, time
from apiext.base.meta.encoding import json_values
from apiext.resources.registry.generated.workload_defaults import TEMPLATE_GENERATION

if TYPE_CHECKING:
    from collections.abc import Mapping

    from apiext.base.meta.encoding.json_codec import Object

_CONTROLLER_UID: Final = "batch.kubernetes.io/controller-uid"
_NAME_LABELS: Final = ("job-name", "batch.kubernetes.io/job-name")
_UID_LABELS: Final = ("controller-uid", _CONTROLLER_UID)


class Preparation:
    """What a kind's strategy sets, beyond the rules of all kinds. As in Strategy, deeper members change only by replacement."""

    def create(self, obj: Object) -> None:
        """Prepare a new object."""

    def update(self, obj: Object, old: Object) -> None:
        """Prepare a changed object."""

    def update_status(self, obj: Object, old: Object) -> None:
        """Prepare an object with a changed status."""


class _Pod(Preparation):
    def create(self, obj: Object) -> None:
        obj["status"] = {"phase": "Pending", "qosClass": _pod_class(obj["spec"])}


def _pod_class(spec: Object) -> str:
    """Return the quality of service class."""
    if "resources" in spec:
        return _class_of(spec["resources"])
    containers = [*(spec.get("initContainers") or ()), *(spec.get("containers") or ())]
    classes = {_class_of(container.get("resources") or {}) for container in containers}
    return classes.pop() if len(classes) == 1 else "Burstable" if classes else "BestEffort"


def _class_of(resources: Object) -> str:
    requests, limits = resources.get("requests") or {}, resources.get("limits") or {}
    if not requests and not limits:
        return "BestEffort"
    found = {_class(_amount(requests, name), _amount(limits, name)) for name in ("cpu", "memory")}
    return found.pop() if len(found) == 1 else "Burstable"


def _amount(amounts: Mapping[str, str], name: str) -> quantity.Quantity:
    return quantity.parse(amounts.get(name, "0"))


def _class(request: quantity.Quantity, limit: quantity.Quantity) -> str:
    if request.amount != limit.amount:
        return "Burstable"
    return "Guaranteed" if request.amount else "BestEffort"


class _Job(Preparation):
    def create(self, obj: Object) -> None:
        spec, metadata = obj["spec"], obj["metadata"]
        if spec.get("manualSelector"):
            return
        template = dict(spec["template"])
        labels = dict.fromkeys(_NAME_LABELS, metadata["name"]) | dict.fromkeys(_UID_LABELS, metadata["uid"])
        template["metadata"] = {**template["metadata"], "labels": labels | template["metadata"].get("labels", {})}
        selector = spec.get("selector") or {}
        matched = {_CONTROLLER_UID: metadata["uid"], **selector.get("matchLabels", {})}
        obj["spec"] = {**spec, "template": template, "selector": {**selector, "matchLabels": matched}}


class _DaemonSet(Preparation):
    def create(self, obj: Object) -> None:
        _annotate(obj["metadata"], "1")

    def update(self, obj: Object, old: Object) -> None:
        before = old["metadata"].get("annotations", {}).get(TEMPLATE_GENERATION, "0")
        changed = not json_values.equal(obj["spec"]["template"], old["spec"]["template"])
        _annotate(obj["metadata"], str(int(before) + 1) if changed and before.isdecimal() else before)


def _annotate(metadata: Object, generation: str) -> None:
    metadata["annotations"] = {**metadata.get("annotations", {}), TEMPLATE_GENERATION: generation}


class _Service(Preparation):
    """Addresses are not allocated."""

    def create(self, obj: Object) -> None:
        obj["spec"] = _with_families(obj["spec"])

    def update(self, obj: Object, old: Object) -> None:
        spec, before = obj["spec"], old["spec"]
        if spec.get("type") != "ExternalName":
            kept = {name: before[name] for name in ("clusterIP", "clusterIPs", "ipFamilies", "ipFamilyPolicy") if name in before}
            spec = {**kept, **spec} if before.get("type") != "ExternalName" else spec
        obj["spec"] = _with_families(spec)


def _with_families(spec: Object) -> Object:
    if spec.get("type") == "ExternalName":
        return spec
    given = {"clusterIPs": [spec["clusterIP"]]} if spec.get("clusterIP") else {}
    return {"ipFamilies": ["IPv4"], "ipFamilyPolicy": "SingleStack", **given, **spec}


class _Volume(Preparation):
    def create(self, obj: Object) -> None:
        obj["status"] = {"phase": "Pending", "lastPhaseTransitionTime": time.now()}

    def update_status(self, obj: Object, old: Object) -> None:
        status, before = obj["status"], old["status"]
        moment, since = status.get("lastPhaseTransitionTime"), before.get("lastPhaseTransitionTime")
        if status.get("phase") == before.get("phase"):
            moment = moment or since
        elif moment is None or moment == since:
            moment = time.now()
        if moment is not None:
            obj["status"] = {**status, "lastPhaseTransitionTime": moment}


class _APIService(Preparation):
    def create(self, obj: Object) -> None:
        if "service" not in obj["spec"]:
            condition = {"type": "Available", "status": "True", "lastTransitionTime": time.now()}
            obj["status"] = {"conditions": [condition | {"reason": "Local", "message": "Local APIServices are always available"}]}


class _SigningRequest(Preparation):
    def update(self, obj: Object, old: Object) -> None:
        obj["spec"] = old["spec"]


PREPARATIONS: Final[Mapping[str, Preparation]] = {
    "apiservices": _APIService(),
    "certificatesigningrequests": _SigningRequest(),
    "daemonsets": _DaemonSet(),
    "jobs": _Job(),
    "persistentvolumes": _Volume(),
    "pods": _Pod(),
    "services": _Service(),
}
"""Preparations by plural."""
