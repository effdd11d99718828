"""The mandatory and suggested FlowSchemas and PriorityLevelConfigurations (apiserver pkg/apis/flowcontrol/bootstrap/default.go)."""

from __future__ import annotations

import uuid
from typing import TYPE_CHECKING, Any, Final

from apiext.api.flowcontrol.configuration.priority_level import CATCH_ALL, EXEMPT
from apiext.base.meta.request import AUTHENTICATED, MASTERS, UNAUTHENTICATED

if TYPE_CHECKING:
    from apiext.base.meta.encoding.json_codec import Object

API_VERSION: Final = "flowcontrol.apiserver.k8s.io/v1"
_AUTO_UPDATE: Final = "apf.kubernetes.io/autoupdate-spec"
_NODES: Final = "system:nodes"
_CONTROLLER_MANAGER: Final = "system:kube-controller-manager"
_SCHEDULER: Final = "system:kube-scheduler"
_ALL: Final = ["*"]
_CREATED: Final = "2026-01-01T00:00:00Z"
"""The creation time of the bootstrap objects, equal on all servers of this version."""


def _object(kind: str, name: str, spec: Object) -> Object:
    metadata = {"name": name, "annotations": {_AUTO_UPDATE: "true"}}
    return {"apiVersion": API_VERSION, "kind": kind, "metadata": metadata, "spec": spec, "status": {}}


# --- priority levels ------------------------------------------------------------------------------------------------


def _limited(name: str, shares: int, lendable: int, queuing: tuple[int, int] | None) -> Object:
    """Return a priority level with a number of queues and a hand size, or without queues."""
    response: Object = {"type": "Reject"}
    if queuing is not None:
        response = {"type": "Queue", "queuing": {"queues": queuing[0], "handSize": queuing[1], "queueLengthLimit": 50}}
    limited = {"nominalConcurrencyShares": shares, "limitResponse": response, "lendablePercent": lendable}
    return _object("PriorityLevelConfiguration", name, {"type": "Limited", "limited": limited})


_EXEMPT_SPEC: Final[Object] = {"type": "Exempt", "exempt": {"nominalConcurrencyShares": 0, "lendablePercent": 0}}

MANDATORY_PRIORITY_LEVELS: Final = (
    _limited(CATCH_ALL, 5, 0, None),
    _object("PriorityLevelConfiguration", EXEMPT, _EXEMPT_SPEC),
)
SUGGESTED_PRIORITY_LEVELS: Final = (
    _limited("system", 30, 33, (64, 6)),
    _limited("node-high", 40, 25, (64, 6)),
    _limited("leader-election", 10, 0, (16, 4)),
    _limited("workload-high", 40, 50, (128, 6)),
    _limited("workload-low", 100, 90, (128, 6)),
    _limited("global-default", 20, 50, (128, 6)),
)


# --- flow schemas ---------------------------------------------------------------------------------------------------


def _schema(name: str, level: str, precedence: int, distinguisher: str, rule: Object) -> Object:
    spec: Object = {"priorityLevelConfiguration": {"name": level}, "matchingPrecedence": precedence}
    if distinguisher:
        spec["distinguisherMethod"] = {"type": distinguisher}
    return _object("FlowSchema", name, spec | {"rules": [rule]})


def _rule(subjects: list[Object], resources: list[Object] | None = None, paths: list[Object] | None = None) -> Object:
    rule: Object = {"subjects": subjects}
    if resources:
        rule["resourceRules"] = resources
    if paths:
        rule["nonResourceRules"] = paths
    return rule


def _everything(*subjects: Object) -> Object:
    return _rule(list(subjects), [_resources(_ALL, "*", _ALL, cluster_scope=True)], [{"verbs": _ALL, "nonResourceURLs": _ALL}])


def _resources(verbs: list[str], group: str, resources: list[str], *, cluster_scope: bool) -> Object:
    rule: dict[str, Any] = {"verbs": verbs, "apiGroups": [group], "resources": resources}
    if cluster_scope:
        rule["clusterScope"] = True
    return rule | {"namespaces": _ALL}


def _group(name: str) -> Object:
    return {"kind": "Group", "group": {"name": name}}


def _user(name: str) -> Object:
    return {"kind": "User", "user": {"name": name}}


_EVERYONE: Final = (_group(UNAUTHENTICATED), _group(AUTHENTICATED))
_SYSTEM_ACCOUNTS: Final[Object] = {"kind": "ServiceAccount", "serviceAccount": {"namespace": "kube-system", "name": "*"}}
_LEASES: Final = ("coordination.k8s.io", ["leases"])

MANDATORY_FLOW_SCHEMAS: Final = (
    _schema(EXEMPT, EXEMPT, 1, "", _everything(_group(MASTERS))),
    _schema(CATCH_ALL, CATCH_ALL, 10000, "ByUser", _everything(*_EVERYONE)),
)
SUGGESTED_FLOW_SCHEMAS: Final = (
    _schema(
        "probes",
        EXEMPT,
        2,
        "",
        _rule(list(_EVERYONE), paths=[{"verbs": ["get"], "nonResourceURLs": ["/healthz", "/readyz", "/livez"]}]),
    ),
    _schema(
        "system-leader-election",
        "leader-election",
        100,
        "ByUser",
        _rule(
            [_user(_CONTROLLER_MANAGER), _user(_SCHEDULER), _SYSTEM_ACCOUNTS],
            [_resources(["get", "create", "update"], *_LEASES, cluster_scope=False)],
        ),
    ),
    _schema(
        "system-node-high",
        "node-high",
        400,
        "ByUser",
        _rule(
            [_group(_NODES)],
            [
                _resources(_ALL, "", ["nodes", "nodes/status"], cluster_scope=True),
                _resources(_ALL, *_LEASES, cluster_scope=False),
            ],
        ),
    ),
    _schema("system-nodes", "system", 500, "ByUser", _everything(_group(_NODES))),
    _schema("kube-controller-manager", "workload-high", 800, "ByNamespace", _everything(_user(_CONTROLLER_MANAGER))),
    _schema("kube-scheduler", "workload-high", 800, "ByNamespace", _everything(_user(_SCHEDULER))),
    _schema("kube-system-service-accounts", "workload-high", 900, "ByNamespace", _everything(_SYSTEM_ACCOUNTS)),
    _schema("service-accounts", "workload-low", 9000, "ByUser", _everything(_group("system:serviceaccounts"))),
    _schema("global-default", "global-default", 9900, "ByUser", _everything(*_EVERYONE)),
)


# --- objects of a standalone server ---------------------------------------------------------------------------------


def bootstrap_flow_schemas() -> list[Object]:
    """Return the mandatory and suggested FlowSchemas with the metadata and status that a standalone server shows."""
    found = []
    for obj in MANDATORY_FLOW_SCHEMAS + SUGGESTED_FLOW_SCHEMAS:
        status = {"conditions": [_found(obj)]}
        applied = _managed("consumer", "Apply", {"f:status": {"f:conditions": _CONDITIONS_FIELDS}}) | {"subresource": "status"}
        found.append(_existing(obj, [applied]) | {"status": status})
    return found


def bootstrap_priority_levels() -> list[Object]:
    """Return the mandatory and suggested PriorityLevelConfigurations with the metadata that a standalone server shows."""
    return [_existing(obj, []) for obj in MANDATORY_PRIORITY_LEVELS + SUGGESTED_PRIORITY_LEVELS]


def _existing(obj: Object, applied: list[Object]) -> Object:
    """Return an object with its field managers and a uid. The uid is the same on every server and after every restart."""
    metadata = obj["metadata"]
    uid = str(uuid.uuid5(uuid.NAMESPACE_DNS, f"{obj['kind'].lower()}.{metadata['name']}.{API_VERSION}"))
    written = {"metadata": {"annotations": metadata["annotations"]}, "spec": obj["spec"]}
    managers = [*applied, _managed("producer", "Update", _fields(written))]
    known = {"uid": uid, "generation": 1, "creationTimestamp": _CREATED}
    return obj | {"metadata": known | metadata | {"managedFields": managers}}


def _found(obj: Object) -> Object:
    level = obj["spec"]["priorityLevelConfiguration"]["name"]
    return {
        "type": "Dangling",
        "status": "False",
        "lastTransitionTime": _CREATED,
        "reason": "Found",
        "message": f'This FlowSchema references the PriorityLevelConfiguration object named "{level}" and it exists',
    }


# --- managedFields --------------------------------------------------------------------------------------------------

_CONDITIONS_FIELDS: Final[Object] = {
    'k:{"type":"Dangling"}': {".": {}, "f:lastTransitionTime": {}, "f:message": {}, "f:reason": {}, "f:status": {}, "f:type": {}}
}
_ALWAYS_PRESENT: Final = frozenset({"metadata", "spec", "priorityLevelConfiguration"})
"""Fields that every new object has, so that no manager owns them."""


def _managed(role: str, operation: str, fields: Object) -> Object:
    """Return the entry of one of the reference's controllers."""
    manager = f"api-priority-and-fairness-config-{role}-v1"
    entry = {"manager": manager, "operation": operation, "apiVersion": API_VERSION, "time": _CREATED}
    return entry | {"fieldsType": "FieldsV1", "fieldsV1": fields}


def _fields(members: Object) -> Object:
    """Return the fields of an object's members."""
    found: Object = {}
    for name, value in sorted(members.items()):
        is_object = isinstance(value, dict)
        own: Object = {".": {}} if is_object and name not in _ALWAYS_PRESENT else {}
        found[f"f:{name}"] = own | _fields(value) if is_object else own
    return found
