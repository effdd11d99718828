"""internal.apiserver.k8s.io/v1alpha1 StorageVersions, and storagemigration.k8s.io/v1 StorageVersionMigrations."""

from __future__ import annotations

from datetime import datetime
from typing import Final

from apiext.api.endpoints.responsewriters.table import NAME, Column, TableConvertor
from apiext.api.serving.builtin.printing import AGE, text
from apiext.api.serving.builtin.served_kind import WITH_CONDITIONS, ServedKind, ServedSubresource
from apiext.base.meta.encoding.json_codec import Object
from apiext.resources.registry.builtin.storageversion import STORAGE_VERSION_KIND, StorageVersionStatusStrategy
from apiext.resources.registry.builtin.storageversionmigration import (
    FAILED,
    RUNNING,
    STORAGE_VERSION_MIGRATION_KIND,
    SUCCEEDED,
    StorageVersionMigrationStatusStrategy,
)

_SERVERS_SHOWN: Final = 3


# --- storage versions -----------------------------------------------------------------------------------------------


def _common_encoding(obj: Object, _now: datetime) -> str:
    common: str | None = obj["status"].get("commonEncodingVersion")
    return "<unset>" if common is None else common


def _encodings(obj: Object, _now: datetime) -> str:
    servers = obj["status"].get("storageVersions") or ()
    shown = ",".join(f"{one.get('apiServerID', '')}={one.get('encodingVersion', '')}" for one in servers[:_SERVERS_SHOWN])
    more = len(servers) - _SERVERS_SHOWN
    return f"{shown} + {more} more..." if more > 0 else shown or "<unset>"


_STORAGE_VERSION_COLUMNS: Final = (
    NAME,
    text(
        "CommonEncodingVersion",
        "commonEncodingVersion is set to an encoding storage version if all API server instances share that same version. "
        "If they don't share one storage version, this field is left empty. API servers should finish updating its storageVersionStatus "
        "entry before serving write operations, so that this field will be in sync with the reality.",
        _common_encoding,
    ),
    text("StorageVersions", "storageVersions lists the reported versions per API server instance.", _encodings),
    AGE,
)
STORAGE_VERSIONS: Final = ServedKind(
    kind=STORAGE_VERSION_KIND,
    table=TableConvertor(_STORAGE_VERSION_COLUMNS),
    subresources={"status": ServedSubresource(strategy=StorageVersionStatusStrategy())},
)


# --- storage version migrations -------------------------------------------------------------------------------------


def _group_resource(obj: Object, _now: datetime) -> str:
    resource = obj["spec"]["resource"]
    return f"{resource['resource']}.{resource['group']}" if resource["group"] else str(resource["resource"])


def _migration_state(obj: Object, _now: datetime) -> str:
    """Return the last known condition that is true."""
    state = "Unknown"
    for condition in obj["status"].get("conditions") or ():
        if condition["status"] == "True" and condition["type"] in {RUNNING, SUCCEEDED, FAILED}:
            state = condition["type"]
    return state


_MIGRATION_COLUMNS: Final = (
    Column("Name", "string", description=NAME.description, value=NAME.value),
    text("Resource", "GroupResource to migrate", _group_resource),
    text("Status", "Status of the migration", _migration_state),
)
STORAGE_VERSION_MIGRATIONS: Final = ServedKind(
    kind=STORAGE_VERSION_MIGRATION_KIND,
    table=TableConvertor(_MIGRATION_COLUMNS),
    other_versions=("v1beta1",),
    strategic_keys=WITH_CONDITIONS,
    subresources={"status": ServedSubresource(strategy=StorageVersionMigrationStatusStrategy())},
)
