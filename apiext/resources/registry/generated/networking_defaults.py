"""Defaults of Services and networking (kubernetes pkg/apis/{core,discovery,networking}/v1/defaults.go)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from apiext.base.meta.encoding.json_codec import Object

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


def _tcp(port: Object) -> None:
    port.setdefault("protocol", "TCP")


def _slice_port(port: Object) -> None:
    port.setdefault("name", "")
    port.setdefault("protocol", "TCP")


def _network_policy(policy: Object) -> None:
    spec = policy["spec"]
    if not spec.get("policyTypes"):
        spec["policyTypes"] = ["Ingress", "Egress"] if spec.get("egress") else ["Ingress"]


def _ingress_class(ingress_class: Object) -> None:
    parameters = ingress_class["spec"].get("parameters")
    if parameters is not None and parameters.get("scope") is None:
        parameters["scope"] = "Cluster"


DEFAULTS: Final = {
    "core/v1.Service": _service,
    "core/v1.EndpointPort": _tcp,
    "discovery/v1.EndpointPort": _slice_port,
    "networking/v1.NetworkPolicy": _network_policy,
    "networking/v1.NetworkPolicyPort": _tcp,
    "networking/v1.IngressClass": _ingress_class,
}
"""Defaults by struct."""
