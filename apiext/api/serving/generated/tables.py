"""The Table columns of each resource."""

from __future__ import annotations

from typing import Final

from apiext.api.endpoints.responsewriters.table import NAME, Column, TableConvertor
from apiext.api.serving.builtin.printing import AGE, PLAIN_TABLE
from apiext.api.serving.generated import network_columns, other_columns, pod_columns, storage_columns, workload_columns

_NAME_AND_AGE: Final = (NAME, AGE)
_COLUMNS: Final[dict[str, tuple[Column, ...]]] = {
    "apiservices": other_columns.API_SERVICES,
    "certificatesigningrequests": other_columns.CERTIFICATE_SIGNING_REQUESTS,
    "clustertrustbundles": other_columns.CLUSTER_TRUST_BUNDLES,
    "controllerrevisions": workload_columns.CONTROLLER_REVISIONS,
    "cronjobs": workload_columns.CRON_JOBS,
    "csidrivers": storage_columns.CSI_DRIVERS,
    "csinodes": storage_columns.CSI_NODES,
    "daemonsets": workload_columns.DAEMON_SETS,
    "deployments": workload_columns.DEPLOYMENTS,
    "deviceclasses": _NAME_AND_AGE,
    "endpoints": network_columns.ENDPOINTS,
    "endpointslices": network_columns.ENDPOINT_SLICES,
    "horizontalpodautoscalers": workload_columns.HORIZONTAL_POD_AUTOSCALERS,
    "ingressclasses": network_columns.INGRESS_CLASSES,
    "ingresses": network_columns.INGRESSES,
    "ipaddresses": other_columns.IP_ADDRESSES,
    "jobs": workload_columns.JOBS,
    "networkpolicies": network_columns.NETWORK_POLICIES,
    "nodes": network_columns.NODES,
    "persistentvolumeclaims": storage_columns.PERSISTENT_VOLUME_CLAIMS,
    "persistentvolumes": storage_columns.PERSISTENT_VOLUMES,
    "poddisruptionbudgets": workload_columns.POD_DISRUPTION_BUDGETS,
    "pods": pod_columns.PODS,
    "podtemplates": pod_columns.POD_TEMPLATES,
    "priorityclasses": other_columns.PRIORITY_CLASSES,
    "replicasets": workload_columns.REPLICA_SETS,
    "replicationcontrollers": workload_columns.REPLICATION_CONTROLLERS,
    "resourceclaims": other_columns.RESOURCE_CLAIMS,
    "resourceclaimtemplates": _NAME_AND_AGE,
    "resourcequotas": other_columns.RESOURCE_QUOTAS,
    "resourceslices": other_columns.RESOURCE_SLICES,
    "runtimeclasses": other_columns.RUNTIME_CLASSES,
    "servicecidrs": other_columns.SERVICE_CIDRS,
    "services": network_columns.SERVICES,
    "statefulsets": workload_columns.STATEFUL_SETS,
    "storageclasses": storage_columns.STORAGE_CLASSES,
    "volumeattachments": storage_columns.VOLUME_ATTACHMENTS,
    "volumeattributesclasses": storage_columns.VOLUME_ATTRIBUTES_CLASSES,
}


def table_of(plural: str) -> TableConvertor:
    """Return the table of a resource; the reference's default one if it has no columns of its own."""
    columns = _COLUMNS.get(plural)
    return TableConvertor(columns) if columns is not None else PLAIN_TABLE
