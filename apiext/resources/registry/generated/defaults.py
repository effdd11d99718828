"""Defaults of the structs of kinds from generated data (kubernetes pkg/apis/*/v1/defaults.go, pkg/apis/autoscaling/v2/defaults.go)."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

from apiext.base.meta import time
from apiext.base.meta.encoding import json_values
from apiext.resources.registry.builtin.defaulting import StructDefault, StructDefaults

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from apiext.base.meta.encoding.json_codec import Object

# --- pods and pod templates -----------------------------------------------------------------------------------------

_TAG: Final = re.compile(r":([\w][\w.-]{0,127})(?:@|$)", re.ASCII)
_SOURCE_FIELDS: Final = {"name"}
"""The fields of a volume that are no sources."""


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


_MODE: Final = {"defaultMode": 0o644}
_PODS: Final[dict[str, StructDefault]] = {
    "core/v1.Pod": _pod,
    "core/v1.PodSpec": _pod_spec,
    "core/v1.PodStatus": _pod_status,
    "core/v1.Container": _container,
    "core/v1.EphemeralContainerCommon": _container,
    "core/v1.Volume": _volume,
    "core/v1.Probe": {"timeoutSeconds": 1, "periodSeconds": 10, "successThreshold": 1, "failureThreshold": 3},
    "core/v1.HTTPGetAction": {"path": "/", "scheme": "HTTP"},
    "core/v1.SecretVolumeSource": _MODE,
    "core/v1.ConfigMapVolumeSource": _MODE,
    "core/v1.DownwardAPIVolumeSource": _MODE,
    "core/v1.ProjectedVolumeSource": _MODE,
    "core/v1.ServiceAccountTokenProjection": {"expirationSeconds": 3600},
    "core/v1.HostPathVolumeSource": {"type": ""},
    "core/v1.ObjectFieldSelector": {"apiVersion": "v1"},
}


# --- controllers ----------------------------------------------------------------------------------------------------

TEMPLATE_GENERATION: Final = "deprecated.daemonset.template.generation"
"""The annotation of a DaemonSet that has the generation of its template."""
_ROLLING: Final = "RollingUpdate"
_SCALE_UP: Final = {
    "stabilizationWindowSeconds": 0,
    "selectPolicy": "Max",
    "policies": [{"type": "Pods", "value": 4, "periodSeconds": 15}, {"type": "Percent", "value": 100, "periodSeconds": 15}],
}
_SCALE_DOWN: Final = {"selectPolicy": "Max", "policies": [{"type": "Percent", "value": 100, "periodSeconds": 15}]}
_CPU: Final = {"type": "Resource", "resource": {"name": "cpu", "target": {"type": "Utilization", "averageUtilization": 80}}}


def _deployment(deployment: Object) -> None:
    spec = deployment["spec"]
    spec.setdefault("replicas", 1)
    strategy = spec.setdefault("strategy", {})
    if strategy.setdefault("type", _ROLLING) == _ROLLING:
        rolling = strategy.setdefault("rollingUpdate", {})
        rolling.setdefault("maxUnavailable", "25%")
        rolling.setdefault("maxSurge", "25%")
    spec.setdefault("revisionHistoryLimit", 10)
    spec.setdefault("progressDeadlineSeconds", 600)


def _daemon_set(daemon_set: Object) -> None:
    spec, metadata = daemon_set["spec"], daemon_set["metadata"]
    metadata["annotations"] = {TEMPLATE_GENERATION: "0"} | metadata.get("annotations", {})
    strategy = spec.setdefault("updateStrategy", {})
    if strategy.setdefault("type", _ROLLING) == _ROLLING:
        rolling = strategy.setdefault("rollingUpdate", {})
        rolling.setdefault("maxUnavailable", 1)
        rolling.setdefault("maxSurge", 0)
    spec.setdefault("revisionHistoryLimit", 10)


def _stateful_set(stateful_set: Object) -> None:
    spec = stateful_set["spec"]
    spec.setdefault("podManagementPolicy", "OrderedReady")
    strategy = spec.setdefault("updateStrategy", {})
    if "type" not in strategy:
        strategy["type"] = _ROLLING
        strategy.setdefault("rollingUpdate", {})
    if strategy["type"] == _ROLLING and "rollingUpdate" in strategy:
        strategy["rollingUpdate"].setdefault("partition", 0)
        strategy["rollingUpdate"].setdefault("maxUnavailable", 1)
    retention = spec.setdefault("persistentVolumeClaimRetentionPolicy", {})
    retention.setdefault("whenDeleted", "Retain")
    retention.setdefault("whenScaled", "Retain")
    spec.setdefault("replicas", 1)
    spec.setdefault("revisionHistoryLimit", 10)
    for template in spec.get("volumeClaimTemplates") or ():
        template.setdefault("kind", "PersistentVolumeClaim")
        template.setdefault("apiVersion", "v1")


def _replication_controller(controller: Object) -> None:
    labels = controller["spec"].get("template", {}).get("metadata", {}).get("labels")
    if labels:
        controller["spec"].setdefault("selector", dict(labels))
        controller["metadata"].setdefault("labels", dict(labels))


def _job(job: Object) -> None:
    spec = job["spec"]
    if "completions" not in spec and "parallelism" not in spec:
        spec["completions"] = 1
    spec.setdefault("parallelism", 1)
    spec.setdefault("backoffLimit", 2**31 - 1 if "backoffLimitPerIndex" in spec else 6)
    labels = spec["template"].get("metadata", {}).get("labels")
    if labels:
        job["metadata"].setdefault("labels", dict(labels))
    spec.setdefault("completionMode", "NonIndexed")
    spec.setdefault("suspend", False)
    spec.setdefault("podReplacementPolicy", "Failed" if "podFailurePolicy" in spec else "TerminatingOrFailed")
    spec.setdefault("manualSelector", False)


def _pod_condition_pattern(pattern: Object) -> None:
    pattern["status"] = pattern.get("status") or "True"


def _autoscaler(autoscaler: Object) -> None:
    spec = autoscaler["spec"]
    spec.setdefault("minReplicas", 1)
    if not spec.get("metrics"):
        spec["metrics"] = [json_values.copy(_CPU)]
    behavior = spec.get("behavior")
    if behavior is not None:
        for name, rules in (("scaleUp", _SCALE_UP), ("scaleDown", _SCALE_DOWN)):
            behavior[name] = _rules(behavior.get(name, {}), rules)


def _rules(given: Object, defaults: Mapping[str, object]) -> Object:
    return {**json_values.copy(defaults), **{name: value for name, value in given.items() if value is not None}}


_WORKLOADS: Final[dict[str, StructDefault]] = {
    "apps/v1.Deployment": _deployment,
    "apps/v1.DaemonSet": _daemon_set,
    "apps/v1.StatefulSet": _stateful_set,
    "apps/v1.ReplicaSetSpec": {"replicas": 1},
    "core/v1.ReplicationController": _replication_controller,
    "batch/v1.Job": _job,
    "batch/v1.CronJobSpec": {
        "concurrencyPolicy": "Allow",
        "suspend": False,
        "successfulJobsHistoryLimit": 3,
        "failedJobsHistoryLimit": 1,
    },
    "batch/v1.PodFailurePolicyOnPodConditionsPattern": _pod_condition_pattern,
    "autoscaling/v2.HorizontalPodAutoscaler": _autoscaler,
}


# --- Services and networking ----------------------------------------------------------------------------------------

_IN_CLUSTER: Final = ("ClusterIP", "NodePort", "LoadBalancer")
_OUTSIDE: Final = ("NodePort", "LoadBalancer")
_AFFINITY_SECONDS: Final = 10800


def _service(service: Object) -> None:
    spec = service["spec"]
    kind = spec.setdefault("type", "ClusterIP")
    _affinity(spec)
    for port in spec.get("ports") or ():
        port.setdefault("protocol", "TCP")
        if port.get("targetPort") in (None, 0, ""):
            port["targetPort"] = port["port"]
    if kind in _OUTSIDE or (kind == "ClusterIP" and spec.get("externalIPs")):
        spec.setdefault("externalTrafficPolicy", "Cluster")
    if kind in _IN_CLUSTER:
        spec.setdefault("internalTrafficPolicy", "Cluster")
    if kind == "LoadBalancer":
        spec.setdefault("allocateLoadBalancerNodePorts", True)
        for ingress in service["status"].get("loadBalancer", {}).get("ingress") or ():
            if ingress.get("ip"):
                ingress.setdefault("ipMode", "VIP")


def _affinity(spec: Object) -> None:
    affinity = spec.setdefault("sessionAffinity", "None")
    if affinity == "None":
        spec.pop("sessionAffinityConfig", None)
    elif affinity == "ClientIP":
        client = (spec.get("sessionAffinityConfig") or {}).get("clientIP") or {}
        if "timeoutSeconds" not in client:
            spec["sessionAffinityConfig"] = {"clientIP": {"timeoutSeconds": _AFFINITY_SECONDS}}


def _network_policy(policy: Object) -> None:
    spec = policy["spec"]
    if not spec.get("policyTypes"):
        spec["policyTypes"] = ["Ingress", "Egress"] if spec.get("egress") else ["Ingress"]


def _ingress_class(ingress_class: Object) -> None:
    parameters = ingress_class["spec"].get("parameters")
    if parameters is not None and parameters.get("scope") is None:
        parameters["scope"] = "Cluster"


_NETWORKING: Final[dict[str, StructDefault]] = {
    "core/v1.Service": _service,
    "core/v1.EndpointPort": {"protocol": "TCP"},
    "discovery/v1.EndpointPort": {"name": "", "protocol": "TCP"},
    "networking/v1.NetworkPolicy": _network_policy,
    "networking/v1.NetworkPolicyPort": {"protocol": "TCP"},
    "networking/v1.IngressClass": _ingress_class,
    "kube-aggregator/pkg/apis/apiregistration/v1.ServiceReference": {"port": 443},
}


# --- volumes, limits and devices ------------------------------------------------------------------------------------

_CONTAINER: Final = "Container"
_EXACT_COUNT: Final = "ExactCount"


def _persistent_volume(volume: Object) -> None:
    volume["status"].setdefault("phase", "Pending")
    volume["spec"].setdefault("persistentVolumeReclaimPolicy", "Retain")
    volume["spec"].setdefault("volumeMode", "Filesystem")


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


def _device_request(request: Object) -> None:
    if request.setdefault("allocationMode", _EXACT_COUNT) == _EXACT_COUNT:
        request.setdefault("count", 1)


def _device_taint(taint: Object) -> None:
    taint.setdefault("timeAdded", time.now())


STRUCT_DEFAULTS: Final = StructDefaults(
    _PODS
    | _WORKLOADS
    | _NETWORKING
    | {
        "core/v1.PersistentVolume": _persistent_volume,
        "core/v1.PersistentVolumeClaimSpec": {"volumeMode": "Filesystem"},
        "core/v1.PersistentVolumeClaimStatus": {"phase": "Pending"},
        "core/v1.NodeSpec": _node_spec,
        "core/v1.NodeStatus": _node_status,
        "core/v1.LimitRangeItem": _limit,
        "storage/v1.StorageClass": {"reclaimPolicy": "Delete", "volumeBindingMode": "Immediate"},
        "storage/v1.CSIDriver": _driver,
        "scheduling/v1.PriorityClass": {"preemptionPolicy": "PreemptLowerPriority"},
        "resource/v1.ExactDeviceRequest": _device_request,
        "resource/v1.DeviceSubRequest": _device_request,
        "resource/v1.DeviceTaint": _device_taint,
    }
)
