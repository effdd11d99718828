"""rbac.authorization.k8s.io/v1: Roles, ClusterRoles and their bindings."""

from __future__ import annotations

from datetime import datetime
from typing import Final

from apiext.api.endpoints.responsewriters.table import NAME, Cell, Column, TableConvertor
from apiext.api.serving.builtin.printing import AGE, PLAIN_TABLE, text
from apiext.api.serving.builtin.served_kind import ServedKind
from apiext.base.meta.encoding.json_codec import Object
from apiext.resources.registry.builtin.rbac import (
    CLUSTER_ROLE_BINDING_KIND,
    CLUSTER_ROLE_KIND,
    GROUP_KIND,
    ROLE_BINDING_KIND,
    ROLE_KIND,
    SERVICE_ACCOUNT,
    USER,
)

_ROLE: Final = (
    "roleRef can reference a Role in the current namespace or a ClusterRole in the global namespace. If the RoleRef cannot be "
    "resolved, the Authorizer must return an error."
)
_CLUSTER_ROLE: Final = (
    "roleRef can only reference a ClusterRole in the global namespace. If the RoleRef cannot be resolved, the Authorizer must "
    "return an error."
)


def _role(obj: Object, _now: datetime) -> str:
    return f"{obj['roleRef']['kind']}/{obj['roleRef']['name']}"


def _subjects(kind: str) -> Cell:
    """Return a cell function that prints the subjects of a kind."""

    def cell(obj: Object, _now: datetime) -> str:
        found = [subject for subject in obj.get("subjects", ()) if subject["kind"] == kind]
        return ", ".join(f"{one.get('namespace', '')}/{one['name']}" if kind == SERVICE_ACCOUNT else one["name"] for one in found)

    return cell


def _columns(kind: str, role: str) -> tuple[Column, ...]:
    return (
        NAME,
        text("Role", role, _role),
        AGE,
        text("Users", f"Users in the {kind}", _subjects(USER), priority=1),
        text("Groups", f"Groups in the {kind}", _subjects(GROUP_KIND), priority=1),
        text("ServiceAccounts", f"ServiceAccounts in the {kind}", _subjects(SERVICE_ACCOUNT), priority=1),
    )


ROLES: Final = ServedKind(kind=ROLE_KIND, table=PLAIN_TABLE, null_rows=True, creates_on_update=True)
CLUSTER_ROLES: Final = ServedKind(kind=CLUSTER_ROLE_KIND, table=PLAIN_TABLE, null_rows=True, creates_on_update=True)
ROLE_BINDINGS: Final = ServedKind(kind=ROLE_BINDING_KIND, table=TableConvertor(_columns("roleBinding", _ROLE)), creates_on_update=True)
CLUSTER_ROLE_BINDINGS: Final = ServedKind(
    kind=CLUSTER_ROLE_BINDING_KIND, table=TableConvertor(_columns("clusterRoleBinding", _CLUSTER_ROLE)), creates_on_update=True
)
