"""Table columns of the remaining kinds (kubernetes pkg/printers/internalversion/printers.go)."""

from __future__ import annotations

from datetime import datetime
from typing import TYPE_CHECKING, Any, Final

from apiext.api.endpoints.responsewriters.human_duration import human_duration
from apiext.api.endpoints.responsewriters.table import NAME
from apiext.api.serving.builtin.printing import AGE, text
from apiext.api.serving.generated.cells import field, find, flag, number

if TYPE_CHECKING:
    from apiext.base.meta.encoding.json_codec import Object

_NONE: Final = "<none>"
_UNSET: Final = "<unset>"


# --- quotas ---------------------------------------------------------------------------------------------------------


def _quota(quota: Object, *, limits: bool) -> str:
    hard, used = find(quota, "status.hard") or {}, find(quota, "status.used") or {}
    names = [name for name in sorted(hard) if name.startswith("limits.") is limits]
    return ", ".join(f"{name}: {used.get(name, '0')}/{hard[name]}" for name in names)


RESOURCE_QUOTAS: Final = (
    NAME,
    text("Request", "Used and allowed requests and objects.", lambda obj, _now: _quota(obj, limits=False)),
    text("Limit", "Used and allowed limits.", lambda obj, _now: _quota(obj, limits=True)),
    AGE,
)


# --- certificates ---------------------------------------------------------------------------------------------------


def _condition(request: Object, _now: datetime) -> str:
    conditions = {each.get("type") for each in find(request, "status.conditions") or ()}
    state = "Denied" if "Denied" in conditions else "Approved" if "Approved" in conditions else "Pending"
    state += ",Failed" if "Failed" in conditions else ""
    return state + (",Issued" if find(request, "status.certificate") else "")


def _requested(request: Object, _now: datetime) -> str:
    seconds = find(request, "spec.expirationSeconds")
    return _NONE if seconds is None else human_duration(seconds)


CERTIFICATE_SIGNING_REQUESTS: Final = (
    NAME,
    AGE,
    field("SignerName", "spec.signerName", "The signer.", missing=_NONE),
    field("Requestor", "spec.username", "Who asked for the certificate."),
    text("RequestedDuration", "How long the certificate shall be valid.", _requested),
    text("Condition", "The state of the request.", _condition),
)
CLUSTER_TRUST_BUNDLES: Final = (NAME, field("SignerName", "spec.signerName", "The signer.", missing=_NONE))


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


API_SERVICES: Final = (
    NAME,
    text("Service", "The service that answers.", _backend),
    text("Available", "Whether the service answers.", _availability),
    AGE,
)
IP_ADDRESSES: Final = (NAME, text("ParentRef", "The object that uses the address.", _parent), AGE)
SERVICE_CIDRS: Final = (NAME, text("CIDRs", "The ranges.", lambda obj, _now: ",".join(find(obj, "spec.cidrs") or ())), AGE)
PRIORITY_CLASSES: Final = (
    NAME,
    number("Value", "value", "The priority."),
    flag("Global-Default", "globalDefault", "Whether pods without a class have the priority."),
    AGE,
    field("PreemptionPolicy", "preemptionPolicy", "Whether pods with the priority remove other ones."),
)
RUNTIME_CLASSES: Final = (NAME, field("Handler", "handler", "The container runtime."), AGE)
RESOURCE_CLAIMS: Final = (NAME, text("State", "Whether devices are allocated and reserved.", _claim_state), AGE)
RESOURCE_SLICES: Final = (
    NAME,
    field("Node", "spec.nodeName", "The node."),
    field("Driver", "spec.driver", "The driver."),
    field("Pool", "spec.pool.name", "The pool."),
    AGE,
)
