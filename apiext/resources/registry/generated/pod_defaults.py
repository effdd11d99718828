"""Defaults of pods and pod templates (kubernetes pkg/apis/core/v1/defaults.go)."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Iterator

    from apiext.base.meta.encoding.json_codec import Object

_TAG: Final = re.compile(r":([\w][\w.-]{0,127})(?:@|$)", re.ASCII)
_SOURCE_FIELDS: Final = {"name"}
"""The fields of a volume that are no sources."""
_MODE: Final = 0o644


def _pull_policy(image: str) -> str:
    """Return the default pull policy: Always for the tag latest, which an image without tag and digest has."""
    tag = _TAG.search(image.rpartition("/")[2])
    is_latest = tag[1] == "latest" if tag else "@" not in image
    return "Always" if is_latest and image else "IfNotPresent"


def _container(container: Object) -> None:
    container.setdefault("imagePullPolicy", _pull_policy(container.get("image", "")))
    container.setdefault("terminationMessagePath", "/dev/termination-log")
    container.setdefault("terminationMessagePolicy", "File")


def _volume(volume: Object) -> None:
    if not volume.keys() - _SOURCE_FIELDS:
        volume["emptyDir"] = {}
    image = volume.get("image")
    if image is not None:
        image.setdefault("pullPolicy", _pull_policy(image.get("reference", "")))


def _pod_spec(spec: Object) -> None:
    account = spec.get("serviceAccountName") or spec.get("serviceAccount")
    if account:
        spec["serviceAccountName"] = spec["serviceAccount"] = account
    spec.setdefault("dnsPolicy", "ClusterFirst")
    spec.setdefault("restartPolicy", "Always")
    spec.setdefault("securityContext", {})
    spec.setdefault("terminationGracePeriodSeconds", 30)
    spec.setdefault("schedulerName", "default-scheduler")


def _pod(pod: Object) -> None:
    spec = pod["spec"]
    if spec.get("terminationGracePeriodSeconds", 0) < 0:
        spec["terminationGracePeriodSeconds"] = 1
    spec.setdefault("enableServiceLinks", True)
    for container in _containers(spec):
        resources = container.get("resources", {})
        if "limits" in resources:
            resources["requests"] = {**resources["limits"], **resources.get("requests", {})}
        if spec.get("hostNetwork"):
            for port in container.get("ports") or ():
                port.setdefault("hostPort", port["containerPort"])


def _containers(spec: Object) -> Iterator[Object]:
    yield from spec.get("containers") or ()
    yield from spec.get("initContainers") or ()


def _pod_status(status: Object) -> None:
    address, addresses = status.get("podIP"), status.get("podIPs")
    if address and (not addresses or addresses[0].get("ip") != address):
        status["podIPs"] = [{"ip": address}]
    elif addresses and not address and addresses[0].get("ip"):
        status["podIP"] = addresses[0]["ip"]


def _probe(probe: Object) -> None:
    probe.setdefault("timeoutSeconds", 1)
    probe.setdefault("periodSeconds", 10)
    probe.setdefault("successThreshold", 1)
    probe.setdefault("failureThreshold", 3)


def _http_get(action: Object) -> None:
    action.setdefault("path", "/")
    action.setdefault("scheme", "HTTP")


def _mode(source: Object) -> None:
    source.setdefault("defaultMode", _MODE)


def _token(projection: Object) -> None:
    projection.setdefault("expirationSeconds", 3600)


def _host_path(source: Object) -> None:
    source.setdefault("type", "")


def _field_ref(selector: Object) -> None:
    selector.setdefault("apiVersion", "v1")


DEFAULTS: Final = {
    "core/v1.Pod": _pod,
    "core/v1.PodSpec": _pod_spec,
    "core/v1.PodStatus": _pod_status,
    "core/v1.Container": _container,
    "core/v1.EphemeralContainerCommon": _container,
    "core/v1.Volume": _volume,
    "core/v1.Probe": _probe,
    "core/v1.HTTPGetAction": _http_get,
    "core/v1.SecretVolumeSource": _mode,
    "core/v1.ConfigMapVolumeSource": _mode,
    "core/v1.DownwardAPIVolumeSource": _mode,
    "core/v1.ProjectedVolumeSource": _mode,
    "core/v1.ServiceAccountTokenProjection": _token,
    "core/v1.HostPathVolumeSource": _host_path,
    "core/v1.ObjectFieldSelector": _field_ref,
}
"""Defaults by struct."""
