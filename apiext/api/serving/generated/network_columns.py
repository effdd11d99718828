"""Table columns of Services, networking and nodes (kubernetes pkg/printers/internalversion/printers.go)."""

from __future__ import annotations

from datetime import datetime
from typing import TYPE_CHECKING, Final

from apiext.api.endpoints.responsewriters.table import NAME
from apiext.api.serving.builtin.printing import AGE, text
from apiext.api.serving.generated.cells import addresses, field, find, labels_text, shortened
from apiext.resources.registry.generated.scale import selector_text

if TYPE_CHECKING:
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


SERVICES: Final = (
    NAME,
    field("Type", "spec.type", "How the service is reached."),
    text("Cluster-IP", "The address inside the cluster.", _cluster_ip),
    text("External-IP", "The addresses outside the cluster.", _external_ip),
    text("Port(s)", "The ports of the service.", _ports),
    AGE,
    text("Selector", "Labels of the selected pods.", lambda obj, _now: labels_text(find(obj, "spec.selector")), priority=1),
)


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


ENDPOINTS: Final = (NAME, text("Endpoints", "The addresses and ports.", _endpoints), AGE)
ENDPOINT_SLICES: Final = (
    NAME,
    field("AddressType", "addressType", "The family of the addresses."),
    text("Ports", "The ports.", _slice_ports),
    text("Endpoints", "The addresses.", _slice_endpoints),
    AGE,
)


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


INGRESSES: Final = (
    NAME,
    field("Class", "spec.ingressClassName", "The IngressClass.", missing=_NONE),
    text("Hosts", "The hosts of the rules.", _hosts),
    text("Address", "The addresses.", lambda obj, _now: addresses(find(obj, "status.loadBalancer.ingress") or ())),
    text("Ports", "The open ports.", lambda obj, _now: "80, 443" if obj["spec"].get("tls") else "80"),
    AGE,
)
INGRESS_CLASSES: Final = (
    NAME,
    field("Controller", "spec.controller", "The controller of the class."),
    text("Parameters", "The object with further settings.", _parameters),
    AGE,
)
NETWORK_POLICIES: Final = (
    NAME,
    text("Pod-Selector", "Labels of the selected pods.", lambda obj, _now: selector_text(find(obj, "spec.podSelector")) or _NONE),
    AGE,
)


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


NODES: Final = (
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
)
