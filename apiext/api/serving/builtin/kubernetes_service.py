"""The Service of the server itself, default/kubernetes (kubernetes pkg/controlplane/controller/kubernetesservice)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from apiext.base.meta.encoding.json_codec import Object

SERVICE_CIDR: Final = "10.0.0.0/24"
"""kube-apiserver's default of --service-cluster-ip-range."""
SERVICE_ADDRESS: Final = "10.0.0.1"
"""The first address of the range. Nothing listens on it: there is no kube-proxy."""
_PORT: Final = 443
_CREATED: Final = "2026-01-01T00:00:00Z"
_UID: Final = "6c1ac5f7-3f0e-5d43-9e6c-0d4b6a3b9a0e"


def kubernetes_service(port: int) -> Object:
    """Return the Service as the server creates it, given the server's port."""
    return {
        "metadata": {"name": "kubernetes", "namespace": "default", "labels": {"component": "apiserver", "provider": "kubernetes"}},
        "spec": {
            "clusterIP": SERVICE_ADDRESS,
            "ipFamilyPolicy": "SingleStack",
            "ports": [{"name": "https", "port": _PORT, "protocol": "TCP", "targetPort": port}],
            "sessionAffinity": "None",
            "type": "ClusterIP",
        },
    }


def constant_service(port: int) -> Object:
    """Return the Service as a server shows it that does not store Services. Its uid is the same on every server."""
    service = kubernetes_service(port)
    service["metadata"] |= {"uid": _UID, "creationTimestamp": _CREATED}
    service["spec"] |= {"clusterIPs": [SERVICE_ADDRESS], "internalTrafficPolicy": "Cluster", "ipFamilies": ["IPv4"]}
    return {"kind": "Service", "apiVersion": "v1", **service, "status": {"loadBalancer": {}}}
