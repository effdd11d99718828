"""The built-in resources of the server as plain data.

Serving, discovery and OpenAPI read built-in resources here; custom resources come from definitions. Mirrors what kube-apiserver's
storage providers and apiextensions-apiserver install, as its discovery reports it.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, Final

from apiext.base.meta.gvk import GroupResource, GroupVersion, GroupVersionKind, GroupVersionResource

_ALL_VERBS: Final = ("create", "delete", "deletecollection", "get", "list", "patch", "update", "watch")
_READING_VERBS: Final = ("get", "list", "watch")
_STATUS_VERBS: Final = ("get", "patch", "update")


@dataclass(frozen=True, slots=True)
class BuiltinSubresource:
    """A subresource of a built-in resource."""

    name: str
    verbs: tuple[str, ...]
    """Sorted, as discovery lists them."""
    kind: GroupVersionKind
    """Kind of its bodies."""


@dataclass(frozen=True, slots=True)
class BuiltinResource:
    """A built-in resource, which has one version."""

    kind: GroupVersionKind
    plural: str
    singular: str
    namespaced: bool
    verbs: tuple[str, ...] = _ALL_VERBS
    """Sorted, as discovery lists them."""
    short_names: tuple[str, ...] = ()
    categories: tuple[str, ...] = ()
    subresources: tuple[BuiltinSubresource, ...] = ()
    """Sorted by name."""
    hashed_kind: GroupVersionKind | None = None
    """Kind in discovery's storageVersionHash, if that is not `kind`."""
    delete_returns_object: bool = False
    """Whether OpenAPI says that a delete returns the object."""
    stored_group: str = ""
    """Group in the keys of the objects: none for kube-apiserver's own kinds."""
    stored_name: str = ""
    """Resource in the keys of the objects; empty for the plural."""

    @property
    def list_kind(self) -> str:
        """Return the kind of a list of the resource."""
        return f"{self.kind.kind}List"

    @property
    def resource(self) -> GroupVersionResource:
        """Return the resource with its group and version."""
        return GroupVersionResource(self.kind.group, self.kind.version, self.plural)

    @property
    def stored_resource(self) -> GroupResource:
        """Return the resource under which the objects are stored. A custom resource, which has a group, is never equal to it."""
        return GroupResource(self.stored_group, self.stored_name or self.plural)

    def subresource(self, name: str) -> BuiltinSubresource | None:
        """Return the subresource with a name, None if there is none."""
        return next((sub for sub in self.subresources if sub.name == name), None)


@dataclass(frozen=True, slots=True)
class BuiltinGroupVersion:
    """A group and version of built-in resources, with its priority among all groups."""

    group_version: GroupVersion
    group_priority: int
    """Groups with a higher priority are listed first; custom groups have 1000."""
    version_priority: int
    resources: tuple[BuiltinResource, ...]
    """Sorted by plural."""


def builtin_resource(
    kind: GroupVersionKind, *, namespaced: bool = False, subresources: tuple[tuple[str, tuple[str, ...]], ...] = (), **more: Any
) -> BuiltinResource:
    """Return the resource of a kind, whose names come from that of the kind. Its subresources, names with verbs, have the same kind."""
    singular = kind.kind.lower()
    return BuiltinResource(
        kind=kind,
        plural=f"{singular[:-1]}ies" if singular.endswith("y") else f"{singular}s",
        singular=singular,
        namespaced=namespaced,
        subresources=tuple(BuiltinSubresource(name, verbs, kind) for name, verbs in subresources),
        **more,
    )


_CORE: Final = GroupVersionKind("", "v1", "")
_RBAC: Final = GroupVersionKind("rbac.authorization.k8s.io", "v1", "")
_ADMISSION: Final = GroupVersionKind("admissionregistration.k8s.io", "v1", "")
_FLOW_CONTROL: Final = GroupVersionKind("flowcontrol.apiserver.k8s.io", "v1", "")
_MIGRATION: Final = GroupVersionKind("storagemigration.k8s.io", "v1", "StorageVersionMigration")
_STORAGE_VERSION: Final = GroupVersionKind("internal.apiserver.k8s.io", "v1alpha1", "StorageVersion")
_CRD: Final = GroupVersionKind("apiextensions.k8s.io", "v1", "CustomResourceDefinition")
_STATUS: Final = (("status", _STATUS_VERBS),)
_READ_ONLY: Final[dict[str, Any]] = {"verbs": _READING_VERBS, "subresources": (("status", ("get",)),)}
_EXTENSIONS: Final = ("api-extensions",)

EVENTS: Final = builtin_resource(_CORE._replace(kind="Event"), namespaced=True, short_names=("ev",))
SERVICE_ACCOUNTS: Final = replace(
    builtin_resource(_CORE._replace(kind="ServiceAccount"), namespaced=True, short_names=("sa",), delete_returns_object=True),
    subresources=(BuiltinSubresource("token", ("create",), GroupVersionKind("authentication.k8s.io", "v1", "TokenRequest")),),
)
CONFIG_MAPS: Final = builtin_resource(_CORE._replace(kind="ConfigMap"), namespaced=True, short_names=("cm",))
SECRETS: Final = builtin_resource(_CORE._replace(kind="Secret"), namespaced=True)
SERVICES: Final = builtin_resource(
    _CORE._replace(kind="Service"), namespaced=True, verbs=_READING_VERBS, short_names=("svc",), stored_name="services/specs"
)
"""The read-only Services of a standalone server that does not store them."""
NAMESPACES: Final = builtin_resource(
    _CORE._replace(kind="Namespace"),
    verbs=("create", "delete", "get", "list", "patch", "update", "watch"),
    short_names=("ns",),
    subresources=(("finalize", ("update",)), *_STATUS),
)
LEASES: Final = builtin_resource(GroupVersionKind("coordination.k8s.io", "v1", "Lease"), namespaced=True)
# These are the events of the core group in another form.
EVENTS_V1: Final = builtin_resource(
    GroupVersionKind("events.k8s.io", "v1", "Event"), namespaced=True, short_names=("ev",), hashed_kind=EVENTS.kind
)
CUSTOM_RESOURCE_DEFINITIONS: Final = builtin_resource(
    _CRD,
    short_names=("crd", "crds"),
    categories=_EXTENSIONS,
    subresources=_STATUS,
    # The reference hashes the version that it stored first.
    hashed_kind=_CRD._replace(version="v1beta1"),
    stored_group="apiextensions.k8s.io",
)
# as above; the reference stores this version
STORAGE_VERSION_MIGRATIONS: Final = builtin_resource(_MIGRATION, subresources=_STATUS, hashed_kind=_MIGRATION._replace(version="v1beta1"))
STORAGE_VERSIONS: Final = builtin_resource(_STORAGE_VERSION, subresources=_STATUS)
FLOW_SCHEMAS: Final = builtin_resource(_FLOW_CONTROL._replace(kind="FlowSchema"), **_READ_ONLY)
PRIORITY_LEVEL_CONFIGURATIONS: Final = builtin_resource(_FLOW_CONTROL._replace(kind="PriorityLevelConfiguration"), **_READ_ONLY)
ROLES: Final = builtin_resource(_RBAC._replace(kind="Role"), namespaced=True)
CLUSTER_ROLES: Final = builtin_resource(_RBAC._replace(kind="ClusterRole"))
ROLE_BINDINGS: Final = builtin_resource(_RBAC._replace(kind="RoleBinding"), namespaced=True)
CLUSTER_ROLE_BINDINGS: Final = builtin_resource(_RBAC._replace(kind="ClusterRoleBinding"))
VALIDATING_WEBHOOK_CONFIGURATIONS: Final = builtin_resource(
    _ADMISSION._replace(kind="ValidatingWebhookConfiguration"), categories=_EXTENSIONS
)
MUTATING_WEBHOOK_CONFIGURATIONS: Final = builtin_resource(_ADMISSION._replace(kind="MutatingWebhookConfiguration"), categories=_EXTENSIONS)
VALIDATING_ADMISSION_POLICIES: Final = builtin_resource(
    _ADMISSION._replace(kind="ValidatingAdmissionPolicy"), categories=_EXTENSIONS, subresources=_STATUS
)
VALIDATING_ADMISSION_POLICY_BINDINGS: Final = builtin_resource(
    _ADMISSION._replace(kind="ValidatingAdmissionPolicyBinding"), categories=_EXTENSIONS
)
MUTATING_ADMISSION_POLICIES: Final = builtin_resource(_ADMISSION._replace(kind="MutatingAdmissionPolicy"), categories=_EXTENSIONS)
MUTATING_ADMISSION_POLICY_BINDINGS: Final = builtin_resource(
    _ADMISSION._replace(kind="MutatingAdmissionPolicyBinding"), categories=_EXTENSIONS
)

CORE_V1: Final = BuiltinGroupVersion(GroupVersion("", "v1"), 18000, 1, (CONFIG_MAPS, EVENTS, NAMESPACES, SECRETS, SERVICE_ACCOUNTS))
EVENTS_GROUP_V1: Final = BuiltinGroupVersion(GroupVersion("events.k8s.io", "v1"), 17750, 15, (EVENTS_V1,))
RBAC_V1: Final = BuiltinGroupVersion(
    GroupVersion("rbac.authorization.k8s.io", "v1"), 17000, 15, (CLUSTER_ROLE_BINDINGS, CLUSTER_ROLES, ROLE_BINDINGS, ROLES)
)
ADMISSIONREGISTRATION_V1: Final = BuiltinGroupVersion(
    GroupVersion("admissionregistration.k8s.io", "v1"),
    16700,
    15,
    (
        MUTATING_ADMISSION_POLICIES,
        MUTATING_ADMISSION_POLICY_BINDINGS,
        MUTATING_WEBHOOK_CONFIGURATIONS,
        VALIDATING_ADMISSION_POLICIES,
        VALIDATING_ADMISSION_POLICY_BINDINGS,
        VALIDATING_WEBHOOK_CONFIGURATIONS,
    ),
)
APIEXTENSIONS_V1: Final = BuiltinGroupVersion(GroupVersion("apiextensions.k8s.io", "v1"), 16700, 15, (CUSTOM_RESOURCE_DEFINITIONS,))
COORDINATION_V1: Final = BuiltinGroupVersion(GroupVersion("coordination.k8s.io", "v1"), 16500, 15, (LEASES,))
STORAGEMIGRATION_V1: Final = BuiltinGroupVersion(GroupVersion("storagemigration.k8s.io", "v1"), 15800, 15, (STORAGE_VERSION_MIGRATIONS,))
FLOWCONTROL_V1: Final = BuiltinGroupVersion(
    GroupVersion("flowcontrol.apiserver.k8s.io", "v1"), 16100, 21, (FLOW_SCHEMAS, PRIORITY_LEVEL_CONFIGURATIONS)
)
INTERNAL_V1ALPHA1: Final = BuiltinGroupVersion(GroupVersion("internal.apiserver.k8s.io", "v1alpha1"), 16000, 9, (STORAGE_VERSIONS,))

BUILTINS: Final = (
    CORE_V1,
    EVENTS_GROUP_V1,
    RBAC_V1,
    ADMISSIONREGISTRATION_V1,
    APIEXTENSIONS_V1,
    COORDINATION_V1,
    FLOWCONTROL_V1,
    STORAGEMIGRATION_V1,
)
"""Built-in groups of a standalone server with the default feature gates."""
AGGREGATED_BUILTINS: Final = (APIEXTENSIONS_V1,)
"""Built-in groups behind a kube-apiserver, which has the other ones itself."""
