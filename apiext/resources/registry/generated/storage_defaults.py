"""Defaults of volumes, limits and devices (kubernetes pkg/apis/{core,resource,scheduling,storage}/v1/defaults.go)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from apiext.base.meta import time

if TYPE_CHECKING:
    from apiext.base.meta.encoding.json_codec import Object

_CONTAINER: Final = "Container"
_EXACT_COUNT: Final = "ExactCount"


def _volume(volume: Object) -> None:
    volume["status"].setdefault("phase", "Pending")
    volume["spec"].setdefault("persistentVolumeReclaimPolicy", "Retain")
    volume["spec"].setdefault("volumeMode", "Filesystem")


def _claim(claim: Object) -> None:
    claim["status"].setdefault("phase", "Pending")


def _claim_spec(spec: Object) -> None:
    spec.setdefault("volumeMode", "Filesystem")


def _storage_class(storage_class: Object) -> None:
    storage_class.setdefault("reclaimPolicy", "Delete")
    storage_class.setdefault("volumeBindingMode", "Immediate")


def _driver(driver: Object) -> None:
    spec = driver["spec"]
    spec.setdefault("attachRequired", True)
    for name in ("podInfoOnMount", "storageCapacity", "requiresRepublish", "seLinuxMount", "preventPodSchedulingIfMissing"):
        spec.setdefault(name, False)
    spec.setdefault("fsGroupPolicy", "ReadWriteOnceWithFSType")
    if not spec.get("volumeLifecycleModes"):
        spec["volumeLifecycleModes"] = ["Persistent"]


def _node_status(status: Object) -> None:
    if "capacity" in status:
        status.setdefault("allocatable", dict(status["capacity"]))


def _node_spec(spec: Object) -> None:
    ranges = spec.get("podCIDRs")
    if spec.get("podCIDR") and not ranges:
        spec["podCIDRs"] = [spec["podCIDR"]]
    elif ranges and "podCIDR" not in spec:
        spec["podCIDR"] = ranges[0]


def _limit(limit: Object) -> None:
    if limit.get("type") != _CONTAINER:
        return
    defaults = {**limit.get("max", {}), **limit.get("default", {})}
    requests = {**limit.get("min", {}), **defaults, **limit.get("defaultRequest", {})}
    for name, found in (("default", defaults), ("defaultRequest", requests)):
        if found:
            limit[name] = found


def _priority_class(priority_class: Object) -> None:
    priority_class.setdefault("preemptionPolicy", "PreemptLowerPriority")


def _device_request(request: Object) -> None:
    if request.setdefault("allocationMode", _EXACT_COUNT) == _EXACT_COUNT:
        request.setdefault("count", 1)


def _device_taint(taint: Object) -> None:
    taint.setdefault("timeAdded", time.now())


DEFAULTS: Final = {
    "core/v1.PersistentVolume": _volume,
    "core/v1.PersistentVolumeClaim": _claim,
    "core/v1.PersistentVolumeClaimSpec": _claim_spec,
    "core/v1.NodeSpec": _node_spec,
    "core/v1.NodeStatus": _node_status,
    "core/v1.LimitRangeItem": _limit,
    "storage/v1.StorageClass": _storage_class,
    "storage/v1.CSIDriver": _driver,
    "scheduling/v1.PriorityClass": _priority_class,
    "resource/v1.ExactDeviceRequest": _device_request,
    "resource/v1.DeviceSubRequest": _device_request,
    "resource/v1.DeviceTaint": _device_taint,
}
"""Defaults by struct."""
