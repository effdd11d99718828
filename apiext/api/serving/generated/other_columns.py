"""Table columns of Services, nodes, storage and the remaining kinds (kubernetes pkg/printers/internalversion/printers.go)."""

from __future__ import annotations

from datetime import datetime
from typing import TYPE_CHECKING, Any, Final

from apiext.api.endpoints.responsewriters.human_duration import human_duration
from apiext.api.endpoints.responsewriters.table import NAME, Column
from apiext.api.serving.builtin.printing import AGE, addresses, field, find, flag, labels_text, length, number, shortened, text
from apiext.base.meta.objectmeta.label_selector import selector_text

if TYPE_CHECKING:
    from collections.abc import Iterable

    from apiext.api.endpoints.responsewriters.table import Cell
    from apiext.base.meta.encoding.json_codec import Object

_NONE: Final = "<none>"
_ROLE_PREFIX: Final = "node-role.kubernetes.io/"


# --- Services -------------------------------------------------------------------------------------------------------


def _cluster_ip(service: Object, _now: datetime) -> str:
    return next(iter(find(service, "spec.clusterIPs") or ()), _NONE)


def _external_ip(service: Object, _now: datetime) -> str:
    spec = service["spec"]
    own = spec.get("externalIPs") or []
    kind = spec.get("type")
    if kind in {"ClusterIP", "NodePort"}:
        return ",".join(own) or _NONE
    if kind == "LoadBalancer":
        balanced = addresses(find(service, "status.loadBalancer.ingress") or ())
        return ",".join([balanced, *own] if balanced else own) or "<pending>"
    return spec.get("externalName", "") if kind == "ExternalName" else "<unknown>"


def _ports(service: Object, _now: datetime) -> str:
    return ",".join(_port(port) for port in service["spec"].get("ports") or ()) or _NONE


def _port(port: Object) -> str:
    node = f":{port['nodePort']}" if port.get("nodePort") else ""
    return f"{port['port']}{node}/{port.get('protocol', '')}"


def _endpoints(obj: Object, _now: datetime) -> str:
    subsets = obj.get("subsets") or ()
    found = []
    for subset in subsets:
        for port in subset.get("ports") or (None,):
            found += [_endpoint(each.get("ip", ""), port) for each in subset.get("addresses") or ()]
    return shortened(found) if subsets else _NONE


def _endpoint(address: str, port: Object | None) -> str:
    if port is None:
        return address
    return f"[{address}]:{port['port']}" if ":" in address else f"{address}:{port['port']}"


def _slice_ports(obj: Object, _now: datetime) -> str:
    return shortened([str(port.get("port") or port.get("name", "*")) for port in obj.get("ports") or ()]) or "<unset>"


def _slice_endpoints(obj: Object, _now: datetime) -> str:
    return shortened([each for one in obj.get("endpoints") or () for each in one.get("addresses") or ()]) or "<unset>"


# --- Ingresses ------------------------------------------------------------------------------------------------------


def _hosts(ingress: Object, _now: datetime) -> str:
    rules = ingress["spec"].get("rules") or ()
    listed: list[str] = []
    more = False
    for rule in rules:
        more = more or len(listed) == 3
        if not more and rule.get("host"):
            listed.append(rule["host"])
    shown = ",".join(listed) or "*"
    return f"{shown} + {len(rules) - 3} more..." if more else shown


def _parameters(ingress_class: Object, _now: datetime) -> str:
    parameters = ingress_class["spec"].get("parameters")
    if parameters is None:
        return _NONE
    group = f".{parameters['apiGroup']}" if "apiGroup" in parameters else ""
    return f"{parameters['kind']}{group}/{parameters['name']}"


# --- nodes ----------------------------------------------------------------------------------------------------------


def _state(node: Object, _now: datetime) -> str:
    conditions = {each["type"]: each.get("status") for each in find(node, "status.conditions") or ()}
    states = ["Unknown"]
    if "Ready" in conditions:
        states = ["Ready" if conditions["Ready"] == "True" else "NotReady"]
    return ",".join([*states, "SchedulingDisabled"] if find(node, "spec.unschedulable") else states)


def _roles(node: Object, _now: datetime) -> str:
    labels = node["metadata"].get("labels") or {}
    roles = {name.removeprefix(_ROLE_PREFIX) for name in labels if name.startswith(_ROLE_PREFIX)}
    return ",".join(sorted(filter(None, roles | {labels.get("kubernetes.io/role", "")}))) or _NONE


def _address(kind: str) -> Cell:
    def cell(node: Object, _now: datetime) -> str:
        found = (each for each in find(node, "status.addresses") or () if each.get("type") == kind)
        return next((each.get("address", "") for each in found), _NONE)

    return cell


def _kernel(node: Object, _now: datetime) -> str:
    info = find(node, "status.nodeInfo") or {}
    suffix = f" ({info['architecture']})" if info.get("architecture") else ""
    return (info.get("kernelVersion") or "<unknown>") + suffix


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


def _audiences(driver: Object, _now: datetime) -> str:
    requests = find(driver, "spec.tokenRequests")
    return _UNSET if requests is None else ",".join(each.get("audience", "") for each in requests)


# --- quotas ---------------------------------------------------------------------------------------------------------


def _quota(quota: Object, *, limits: bool) -> str:
    hard, used = find(quota, "status.hard") or {}, find(quota, "status.used") or {}
    names = [name for name in sorted(hard) if name.startswith("limits.") is limits]
    return ", ".join(f"{name}: {used.get(name, '0')}/{hard[name]}" for name in names)


# --- certificates ---------------------------------------------------------------------------------------------------


def _condition(request: Object, _now: datetime) -> str:
    conditions = {each.get("type") for each in find(request, "status.conditions") or ()}
    state = "Denied" if "Denied" in conditions else "Approved" if "Approved" in conditions else "Pending"
    state += ",Failed" if "Failed" in conditions else ""
    return state + (",Issued" if find(request, "status.certificate") else "")


def _requested(request: Object, _now: datetime) -> str:
    seconds = find(request, "spec.expirationSeconds")
    return _NONE if seconds is None else human_duration(seconds)


# --- others ---------------------------------------------------------------------------------------------------------


def _parent(address: Object, _now: datetime) -> str:
    parent = find(address, "spec.parentRef")
    if parent is None:
        return _NONE
    group = f".{parent['group']}" if parent.get("group") else ""
    namespace = f"/{parent['namespace']}" if parent.get("namespace") else ""
    return f"{parent['resource']}{group}".lower() + f"{namespace}/{parent['name']}"


def _availability(service: Object, _now: datetime) -> Any:
    found = next((each for each in find(service, "status.conditions") or () if each.get("type") == "Available"), None)
    if found is None:
        return "Unknown"
    return found["status"] if found["status"] == "True" else f"{found['status']} ({found.get('reason', '')})"


def _backend(service: Object, _now: datetime) -> str:
    found = find(service, "spec.service")
    return "Local" if found is None else f"{found.get('namespace', '')}/{found.get('name', '')}"


def _claim_state(claim: Object, _now: datetime) -> str:
    states = ["deleted"] if "deletionTimestamp" in claim["metadata"] else []
    if find(claim, "status.allocation") is None:
        return states[0] if states else "pending"
    states.append("allocated")
    return ",".join([*states, "reserved"] if find(claim, "status.reservedFor") else states)


OTHER_COLUMNS: Final[dict[str, tuple[Column, ...]]] = {
    "services": (
        NAME,
        field("Type", "spec.type", "How the service is reached."),
        text("Cluster-IP", "The address inside the cluster.", _cluster_ip),
        text("External-IP", "The addresses outside the cluster.", _external_ip),
        text("Port(s)", "The ports of the service.", _ports),
        AGE,
        text("Selector", "Labels of the selected pods.", lambda obj, _now: labels_text(find(obj, "spec.selector")), priority=1),
    ),
    "endpoints": (NAME, text("Endpoints", "The addresses and ports.", _endpoints), AGE),
    "endpointslices": (
        NAME,
        field("AddressType", "addressType", "The family of the addresses."),
        text("Ports", "The ports.", _slice_ports),
        text("Endpoints", "The addresses.", _slice_endpoints),
        AGE,
    ),
    "ingresses": (
        NAME,
        field("Class", "spec.ingressClassName", "The IngressClass.", missing=_NONE),
        text("Hosts", "The hosts of the rules.", _hosts),
        text("Address", "The addresses.", lambda obj, _now: addresses(find(obj, "status.loadBalancer.ingress") or ())),
        text("Ports", "The open ports.", lambda obj, _now: "80, 443" if obj["spec"].get("tls") else "80"),
        AGE,
    ),
    "ingressclasses": (
        NAME,
        field("Controller", "spec.controller", "The controller of the class."),
        text("Parameters", "The object with further settings.", _parameters),
        AGE,
    ),
    "networkpolicies": (
        NAME,
        text("Pod-Selector", "Labels of the selected pods.", lambda obj, _now: selector_text(find(obj, "spec.podSelector")) or _NONE),
        AGE,
    ),
    "nodes": (
        NAME,
        text("Status", "Whether the node is ready.", _state),
        text("Roles", "The roles of the node.", _roles),
        AGE,
        field("Version", "status.nodeInfo.kubeletVersion", "The version of the kubelet."),
        text("Internal-IP", "The address inside the cluster.", _address("InternalIP"), priority=1),
        text("External-IP", "The address outside the cluster.", _address("ExternalIP"), priority=1),
        field("OS-Image", "status.nodeInfo.osImage", "The operating system.", missing="<unknown>", priority=1),
        text("Kernel-Version", "The version and architecture of the kernel.", _kernel, priority=1),
        field("Container-Runtime", "status.nodeInfo.containerRuntimeVersion", "The container runtime.", missing="<unknown>", priority=1),
    ),
    "persistentvolumes": (
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
    ),
    "persistentvolumeclaims": (
        NAME,
        text("Status", "The phase.", _phase),
        field("Volume", "spec.volumeName", "The volume."),
        text("Capacity", "The size of the volume.", _claimed),
        text("Access Modes", "How the volume may be mounted.", _claimed_modes),
        text("StorageClass", "The StorageClass.", _class),
        field("VolumeAttributesClass", "spec.volumeAttributesClassName", "The VolumeAttributesClass.", missing=_UNSET),
        AGE,
        field("VolumeMode", "spec.volumeMode", "Whether the volume has a file system.", missing=_UNSET, priority=1),
    ),
    "storageclasses": (
        NAME,
        field("Provisioner", "provisioner", "What makes the volumes."),
        field("ReclaimPolicy", "reclaimPolicy", "What happens to released volumes.", missing="Delete"),
        field("VolumeBindingMode", "volumeBindingMode", "When volumes are bound.", missing="Immediate"),
        text("AllowVolumeExpansion", "Whether volumes may grow.", lambda obj, _now: bool(obj.get("allowVolumeExpansion"))),
        AGE,
    ),
    "csidrivers": (
        NAME,
        flag("AttachRequired", "spec.attachRequired", "Whether volumes are attached."),
        flag("PodInfoOnMount", "spec.podInfoOnMount", "Whether mounts get information about the pod."),
        flag("StorageCapacity", "spec.storageCapacity", "Whether the scheduler considers capacity."),
        text("TokenRequests", "Audiences of the pod's tokens.", _audiences),
        flag("RequiresRepublish", "spec.requiresRepublish", "Whether volumes are published periodically."),
        text("Modes", "The life cycles of volumes.", lambda obj, _now: ",".join(find(obj, "spec.volumeLifecycleModes") or ()) or "<none>"),
        AGE,
    ),
    "csinodes": (NAME, length("Drivers", "spec.drivers", "The number of drivers on the node."), AGE),
    "volumeattachments": (
        NAME,
        Column(
            "Attacher", "string", description="What attaches the volume.", format="name", cell=lambda o, _n: find(o, "spec.attacher") or ""
        ),
        field("PV", "spec.source.persistentVolumeName", "The volume."),
        field("Node", "spec.nodeName", "The node."),
        flag("Attached", "status.attached", "Whether the volume is attached."),
        AGE,
    ),
    "volumeattributesclasses": (NAME, field("DriverName", "driverName", "The driver."), AGE),
    "resourcequotas": (
        NAME,
        text("Request", "Used and allowed requests and objects.", lambda obj, _now: _quota(obj, limits=False)),
        text("Limit", "Used and allowed limits.", lambda obj, _now: _quota(obj, limits=True)),
        AGE,
    ),
    "certificatesigningrequests": (
        NAME,
        AGE,
        field("SignerName", "spec.signerName", "The signer.", missing=_NONE),
        field("Requestor", "spec.username", "Who asked for the certificate."),
        text("RequestedDuration", "How long the certificate shall be valid.", _requested),
        text("Condition", "The state of the request.", _condition),
    ),
    "clustertrustbundles": (NAME, field("SignerName", "spec.signerName", "The signer.", missing=_NONE)),
    "apiservices": (
        NAME,
        text("Service", "The service that answers.", _backend),
        text("Available", "Whether the service answers.", _availability),
        AGE,
    ),
    "ipaddresses": (NAME, text("ParentRef", "The object that uses the address.", _parent), AGE),
    "servicecidrs": (NAME, text("CIDRs", "The ranges.", lambda obj, _now: ",".join(find(obj, "spec.cidrs") or ())), AGE),
    "priorityclasses": (
        NAME,
        number("Value", "value", "The priority."),
        flag("Global-Default", "globalDefault", "Whether pods without a class have the priority."),
        AGE,
        field("PreemptionPolicy", "preemptionPolicy", "Whether pods with the priority remove other ones."),
    ),
    "runtimeclasses": (NAME, field("Handler", "handler", "The container runtime."), AGE),
    "resourceclaims": (NAME, text("State", "Whether devices are allocated and reserved.", _claim_state), AGE),
    "resourceslices": (
        NAME,
        field("Node", "spec.nodeName", "The node."),
        field("Driver", "spec.driver", "The driver."),
        field("Pool", "spec.pool.name", "The pool."),
        AGE,
    ),
    "deviceclasses": (NAME, AGE),
    "resourceclaimtemplates": (NAME, AGE),
}
"""Columns by plural."""
