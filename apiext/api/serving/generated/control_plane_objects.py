"""The objects that kube-apiserver makes for itself: what they contain.

Mirrors kubernetes pkg/controlplane/controller, pkg/registry/scheduling/rest and pkg/controlplane/apiserver/aggregator.go.
"""

from __future__ import annotations

import datetime
import json
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from apiext.api.serving.builtin.kubernetes_service import SERVICE_ADDRESS, SERVICE_CIDR
from apiext.base.cert.renewal import still_valid
from apiext.base.meta import time
from apiext.resources.registry.generated.verbs import CLUSTER_CRITICAL, NODE_CRITICAL

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from apiext.api.authentication.request_header import RequestHeaders
    from apiext.base.meta.builtin_resources import BuiltinGroupVersion
    from apiext.base.meta.encoding.json_codec import Object

AUTHENTICATION: Final = "extension-apiserver-authentication"
TOKEN_TRACKING: Final = "kube-apiserver-legacy-service-account-token-tracking"  # noqa: S105 -- the name of a ConfigMap
_SINCE: Final = "since"
_CLIENT_CA: Final = "client-ca-file"
_PROXY_CA: Final = "requestheader-client-ca-file"
_EXPIRY_SLACK: Final = datetime.timedelta(minutes=5)
_CRITICAL: Final = 2_000_000_000
_NODE_CRITICAL: Final = "Used for system critical pods that must not be moved from their current node."
_CLUSTER_CRITICAL: Final = "Used for system critical pods that must run in the cluster, but can be moved to another node if necessary."

PRIORITY_CLASSES: Final[tuple[Object, ...]] = (
    {"metadata": {"name": NODE_CRITICAL}, "value": _CRITICAL + 1000, "description": _NODE_CRITICAL},
    {"metadata": {"name": CLUSTER_CRITICAL}, "value": _CRITICAL, "description": _CLUSTER_CRITICAL},
)
SERVICE_CIDR_OBJECT: Final[Object] = {"metadata": {"name": "kubernetes"}, "spec": {"cidrs": [SERVICE_CIDR]}}
IP_ADDRESS: Final[Object] = {
    "metadata": {
        "name": SERVICE_ADDRESS,
        "labels": {"ipaddress.kubernetes.io/ip-family": "IPv4", "ipaddress.kubernetes.io/managed-by": "ipallocator.k8s.io"},
    },
    "spec": {"parentRef": {"name": "kubernetes", "namespace": "default", "resource": "services"}},
}


def api_services(groups: Iterable[BuiltinGroupVersion]) -> list[Object]:
    """Return the APIServices of built-in group versions, but for that of APIServices themselves."""
    found: list[Object] = []
    for one in groups:
        group, version = one.group_version
        if group != "apiregistration.k8s.io":
            name = {"name": f"{version}.{group}", "labels": {"kube-aggregator.kubernetes.io/automanaged": "onstart"}}
            spec: Object = {"groupPriorityMinimum": one.group_priority, "version": version, "versionPriority": one.version_priority}
            found.append({"metadata": name, "spec": ({"group": group} if group else {}) | spec})
    return found


def is_ready(cidr: Object) -> bool:
    """Return whether the default ServiceCIDR needs no condition: it has one, or is another's."""
    metadata, spec, status = cidr["metadata"], cidr["spec"], cidr.get("status") or {}
    known = any(one["type"] == "Ready" and one["status"] != "Unknown" for one in status.get("conditions") or ())
    return known or "deletionTimestamp" in metadata or spec["cidrs"] != [SERVICE_CIDR]


def ready_status() -> Object:
    """Return the applied status of the default ServiceCIDR."""
    condition = {
        "type": "Ready",
        "status": "True",
        "lastTransitionTime": time.now(),
        "message": "Kubernetes default Service CIDR is ready",
    }
    name = SERVICE_CIDR_OBJECT["metadata"]["name"]
    return {
        "kind": "ServiceCIDR",
        "apiVersion": "networking.k8s.io/v1",
        "metadata": {"name": name},
        "status": {"conditions": [condition]},
    }


def token_tracking(today: datetime.date, data: dict[str, str] | None) -> dict[str, str] | None:
    """Return the data of the ConfigMap that says since when tokens in Secrets are tracked; None if it need not change."""
    try:
        datetime.datetime.strptime((data or {})[_SINCE], "%Y-%m-%d").replace(tzinfo=datetime.UTC)
    except (KeyError, ValueError):
        return (data or {}) | {_SINCE: today.isoformat()}
    return None


@dataclass(frozen=True, slots=True)
class AuthenticationTrust:
    """What the server trusts: the data of the ConfigMap that aggregated servers read."""

    client_ca: str
    """PEM, "" for none."""
    proxy_ca: str
    proxy_names: tuple[str, ...]
    headers: RequestHeaders

    def joined(self, data: dict[str, str], moment: datetime.datetime) -> dict[str, str]:
        """Return the data with that of other servers, without expired certificates.

        Raises:
            ValueError: the data has a list that is no JSON.
        """
        result: dict[str, str] = {}
        if client_ca := _joined_pem(data.get(_CLIENT_CA, ""), self.client_ca, moment):
            result[_CLIENT_CA] = client_ca
        proxy_ca = _joined_pem(data.get(_PROXY_CA, ""), self.proxy_ca, moment)
        if not proxy_ca:
            return result
        lists: dict[str, Sequence[str]] = {
            "username-headers": self.headers.username,
            "group-headers": self.headers.group,
            "extra-headers-prefix": self.headers.extra_prefixes,
            "allowed-names": self.proxy_names,
            "uid-headers": self.headers.uid,
        }
        for suffix, own in lists.items():
            key = f"requestheader-{suffix}"
            if (names := list(dict.fromkeys((*_names(data.get(key, "")), *own)))) or suffix != "uid-headers":
                result[key] = json.dumps(names, separators=(",", ":"), ensure_ascii=False)
        return result | {_PROXY_CA: proxy_ca}


def _names(text: str) -> list[str]:
    found: Any = json.loads(text) if text else []
    if not isinstance(found, list) or not all(isinstance(name, str) for name in found):
        raise ValueError("not a list of texts")
    return found


def _joined_pem(one: str, other: str, moment: datetime.datetime) -> str:
    found = still_valid(f"{one}\n{other}", moment - _EXPIRY_SLACK)
    return "".join(f"{pem}\n" for pem in dict.fromkeys(pem.strip() for pem in found))
