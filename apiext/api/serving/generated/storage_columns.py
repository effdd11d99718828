"""Table columns of volumes and storage (kubernetes pkg/printers/internalversion/printers.go)."""

from __future__ import annotations

from datetime import datetime
from typing import TYPE_CHECKING, Any, Final

from apiext.api.endpoints.responsewriters.table import NAME, Column
from apiext.api.serving.builtin.printing import AGE, text
from apiext.api.serving.generated.cells import field, find, flag, length

if TYPE_CHECKING:
    from collections.abc import Iterable

    from apiext.base.meta.encoding.json_codec import Object

_UNSET: Final = "<unset>"
_CLASS: Final = "volume.beta.kubernetes.io/storage-class"
_MODES: Final = (("ReadWriteOnce", "RWO"), ("ReadOnlyMany", "ROX"), ("ReadWriteMany", "RWX"), ("ReadWriteOncePod", "RWOP"))


def _modes(modes: Iterable[str] | None) -> str:
    return ",".join(short for name, short in _MODES if name in (modes or ()))


def _phase(obj: Object, _now: datetime) -> Any:
    return "Terminating" if "deletionTimestamp" in obj["metadata"] else find(obj, "status.phase") or ""


def _class(obj: Object, _now: datetime) -> Any:
    annotations = obj["metadata"].get("annotations") or {}
    return annotations.get(_CLASS, find(obj, "spec.storageClassName") or "")


def _claim(volume: Object, _now: datetime) -> str:
    claim = find(volume, "spec.claimRef")
    return f"{claim.get('namespace', '')}/{claim.get('name', '')}" if claim is not None else ""


def _claimed(claim: Object, _now: datetime) -> str:
    if not find(claim, "spec.volumeName"):
        return ""
    return str((find(claim, "status.capacity") or {}).get("storage", "0"))


def _claimed_modes(claim: Object, _now: datetime) -> str:
    return _modes(find(claim, "status.accessModes")) if find(claim, "spec.volumeName") else ""


PERSISTENT_VOLUMES: Final = (
    NAME,
    text("Capacity", "The size.", lambda obj, _now: (find(obj, "spec.capacity") or {}).get("storage", "0")),
    text("Access Modes", "How the volume may be mounted.", lambda obj, _now: _modes(find(obj, "spec.accessModes"))),
    field("Reclaim Policy", "spec.persistentVolumeReclaimPolicy", "What happens to a released volume."),
    text("Status", "The phase.", _phase),
    text("Claim", "The claim that uses the volume.", _claim),
    text("StorageClass", "The StorageClass.", _class),
    field("VolumeAttributesClass", "spec.volumeAttributesClassName", "The VolumeAttributesClass.", missing=_UNSET),
    field("Reason", "status.reason", "Why the volume is in its phase."),
    AGE,
    field("VolumeMode", "spec.volumeMode", "Whether the volume has a file system.", missing=_UNSET, priority=1),
)
PERSISTENT_VOLUME_CLAIMS: Final = (
    NAME,
    text("Status", "The phase.", _phase),
    field("Volume", "spec.volumeName", "The volume."),
    text("Capacity", "The size of the volume.", _claimed),
    text("Access Modes", "How the volume may be mounted.", _claimed_modes),
    text("StorageClass", "The StorageClass.", _class),
    field("VolumeAttributesClass", "spec.volumeAttributesClassName", "The VolumeAttributesClass.", missing=_UNSET),
    AGE,
    field("VolumeMode", "spec.volumeMode", "Whether the volume has a file system.", missing=_UNSET, priority=1),
)
STORAGE_CLASSES: Final = (
    NAME,
    field("Provisioner", "provisioner", "What makes the volumes."),
    field("ReclaimPolicy", "reclaimPolicy", "What happens to released volumes.", missing="Delete"),
    field("VolumeBindingMode", "volumeBindingMode", "When volumes are bound.", missing="Immediate"),
    text("AllowVolumeExpansion", "Whether volumes may grow.", lambda obj, _now: bool(obj.get("allowVolumeExpansion"))),
    AGE,
)


def _audiences(driver: Object, _now: datetime) -> str:
    requests = find(driver, "spec.tokenRequests")
    return _UNSET if requests is None else ",".join(each.get("audience", "") for each in requests)


CSI_DRIVERS: Final = (
    NAME,
    flag("AttachRequired", "spec.attachRequired", "Whether volumes are attached."),
    flag("PodInfoOnMount", "spec.podInfoOnMount", "Whether mounts get information about the pod."),
    flag("StorageCapacity", "spec.storageCapacity", "Whether the scheduler considers capacity."),
    text("TokenRequests", "Audiences of the pod's tokens.", _audiences),
    flag("RequiresRepublish", "spec.requiresRepublish", "Whether volumes are published periodically."),
    text("Modes", "The life cycles of volumes.", lambda obj, _now: ",".join(find(obj, "spec.volumeLifecycleModes") or ()) or "<none>"),
    AGE,
)
CSI_NODES: Final = (NAME, length("Drivers", "spec.drivers", "The number of drivers on the node."), AGE)
VOLUME_ATTACHMENTS: Final = (
    NAME,
    Column("Attacher", "string", description="What attaches the volume.", format="name", cell=lambda o, _n: find(o, "spec.attacher") or ""),
    field("PV", "spec.source.persistentVolumeName", "The volume."),
    field("Node", "spec.nodeName", "The node."),
    flag("Attached", "status.attached", "Whether the volume is attached."),
    AGE,
)
VOLUME_ATTRIBUTES_CLASSES: Final = (NAME, field("DriverName", "driverName", "The driver."), AGE)
