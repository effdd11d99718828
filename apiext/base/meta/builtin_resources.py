"""The built-in resources of the server as plain data.

Serving, discovery and OpenAPI read built-in resources here; custom resources come from definitions. Mirrors what kube-apiserver's
storage providers and apiextensions-apiserver install, as its discovery reports it.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

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


_NAMESPACE: Final = GroupVersionKind("", "v1", "Namespace")
_CRD: Final = GroupVersionKind("apiextensions.k8s.io", "v1", "CustomResourceDefinition")
_STORAGE_VERSION: Final = GroupVersionKind("internal.apiserver.k8s.io", "v1alpha1", "StorageVersion")
_FLOW_SCHEMA: Final = GroupVersionKind("flowcontrol.apiserver.k8s.io", "v1", "FlowSchema")
_PRIORITY_LEVEL: Final = _FLOW_SCHEMA._replace(kind="PriorityLevelConfiguration")
_ROLE: Final = GroupVersionKind("rbac.authorization.k8s.io", "v1", "Role")
_WEBHOOKS: Final = GroupVersionKind("admissionregistration.k8s.io", "v1", "ValidatingWebhookConfiguration")
_POLICY: Final = _WEBHOOKS._replace(kind="ValidatingAdmissionPolicy")
_MIGRATION: Final = GroupVersionKind("storagemigration.k8s.io", "v1", "StorageVersionMigration")

EVENTS: Final = BuiltinResource(
    kind=GroupVersionKind("", "v1", "Event"),
    plural="events",
    singular="event",
    namespaced=True,
    short_names=("ev",),
)

SERVICE_ACCOUNTS: Final = BuiltinResource(
    kind=GroupVersionKind("", "v1", "ServiceAccount"),
    plural="serviceaccounts",
    singular="serviceaccount",
    namespaced=True,
    short_names=("sa",),
    subresources=(BuiltinSubresource("token", ("create",), GroupVersionKind("authentication.k8s.io", "v1", "TokenRequest")),),
    delete_returns_object=True,
)

CONFIG_MAPS: Final = BuiltinResource(
    kind=GroupVersionKind("", "v1", "ConfigMap"), plural="configmaps", singular="configmap", namespaced=True, short_names=("cm",)
)

SECRETS: Final = BuiltinResource(kind=GroupVersionKind("", "v1", "Secret"), plural="secrets", singular="secret", namespaced=True)

SERVICES: Final = BuiltinResource(
    kind=GroupVersionKind("", "v1", "Service"),
    plural="services",
    singular="service",
    namespaced=True,
    verbs=_READING_VERBS,
    short_names=("svc",),
    stored_name="services/specs",
)
"""The read-only Services of a standalone server that does not store them."""

LEASES: Final = BuiltinResource(
    kind=GroupVersionKind("coordination.k8s.io", "v1", "Lease"), plural="leases", singular="lease", namespaced=True
)

EVENTS_V1: Final = BuiltinResource(
    kind=GroupVersionKind("events.k8s.io", "v1", "Event"),
    plural="events",
    singular="event",
    namespaced=True,
    short_names=("ev",),
    # These are the events of the core group in another form.
    hashed_kind=EVENTS.kind,
)

NAMESPACES: Final = BuiltinResource(
    kind=_NAMESPACE,
    plural="namespaces",
    singular="namespace",
    namespaced=False,
    verbs=("create", "delete", "get", "list", "patch", "update", "watch"),
    short_names=("ns",),
    subresources=(
        BuiltinSubresource("finalize", ("update",), _NAMESPACE),
        BuiltinSubresource("status", _STATUS_VERBS, _NAMESPACE),
    ),
)

CUSTOM_RESOURCE_DEFINITIONS: Final = BuiltinResource(
    kind=_CRD,
    plural="customresourcedefinitions",
    singular="customresourcedefinition",
    namespaced=False,
    short_names=("crd", "crds"),
    categories=("api-extensions",),
    subresources=(BuiltinSubresource("status", _STATUS_VERBS, _CRD),),
    # The reference hashes the version that it stored first.
    hashed_kind=GroupVersionKind("apiextensions.k8s.io", "v1beta1", "CustomResourceDefinition"),
    stored_group="apiextensions.k8s.io",
)

STORAGE_VERSION_MIGRATIONS: Final = BuiltinResource(
    kind=_MIGRATION,
    plural="storageversionmigrations",
    singular="storageversionmigration",
    namespaced=False,
    subresources=(BuiltinSubresource("status", _STATUS_VERBS, _MIGRATION),),
    # as above; the reference stores this version
    hashed_kind=_MIGRATION._replace(version="v1beta1"),
)

STORAGE_VERSIONS: Final = BuiltinResource(
    kind=_STORAGE_VERSION,
    plural="storageversions",
    singular="storageversion",
    namespaced=False,
    subresources=(BuiltinSubresource("status", _STATUS_VERBS, _STORAGE_VERSION),),
)

FLOW_SCHEMAS: Final = BuiltinResource(
    kind=_FLOW_SCHEMA,
    plural="flowschemas",
    singular="flowschema",
    namespaced=False,
    verbs=_READING_VERBS,
    subresources=(BuiltinSubresource("status", ("get",), _FLOW_SCHEMA),),
)

PRIORITY_LEVEL_CONFIGURATIONS: Final = BuiltinResource(
    kind=_PRIORITY_LEVEL,
    plural="prioritylevelconfigurations",
    singular="prioritylevelconfiguration",
    namespaced=False,
    verbs=_READING_VERBS,
    subresources=(BuiltinSubresource("status", ("get",), _PRIORITY_LEVEL),),
)

ROLES: Final = BuiltinResource(kind=_ROLE, plural="roles", singular="role", namespaced=True)
CLUSTER_ROLES: Final = BuiltinResource(
    kind=_ROLE._replace(kind="ClusterRole"), plural="clusterroles", singular="clusterrole", namespaced=False
)
ROLE_BINDINGS: Final = BuiltinResource(
    kind=_ROLE._replace(kind="RoleBinding"), plural="rolebindings", singular="rolebinding", namespaced=True
)
CLUSTER_ROLE_BINDINGS: Final = BuiltinResource(
    kind=_ROLE._replace(kind="ClusterRoleBinding"), plural="clusterrolebindings", singular="clusterrolebinding", namespaced=False
)

VALIDATING_WEBHOOK_CONFIGURATIONS: Final = BuiltinResource(
    kind=_WEBHOOKS,
    plural="validatingwebhookconfigurations",
    singular="validatingwebhookconfiguration",
    namespaced=False,
    categories=("api-extensions",),
)
MUTATING_WEBHOOK_CONFIGURATIONS: Final = BuiltinResource(
    kind=_WEBHOOKS._replace(kind="MutatingWebhookConfiguration"),
    plural="mutatingwebhookconfigurations",
    singular="mutatingwebhookconfiguration",
    namespaced=False,
    categories=("api-extensions",),
)
VALIDATING_ADMISSION_POLICIES: Final = BuiltinResource(
    kind=_POLICY,
    plural="validatingadmissionpolicies",
    singular="validatingadmissionpolicy",
    namespaced=False,
    categories=("api-extensions",),
    subresources=(BuiltinSubresource("status", _STATUS_VERBS, _POLICY),),
)
VALIDATING_ADMISSION_POLICY_BINDINGS: Final = BuiltinResource(
    kind=_WEBHOOKS._replace(kind="ValidatingAdmissionPolicyBinding"),
    plural="validatingadmissionpolicybindings",
    singular="validatingadmissionpolicybinding",
    namespaced=False,
    categories=("api-extensions",),
)
MUTATING_ADMISSION_POLICIES: Final = BuiltinResource(
    kind=_WEBHOOKS._replace(kind="MutatingAdmissionPolicy"),
    plural="mutatingadmissionpolicies",
    singular="mutatingadmissionpolicy",
    namespaced=False,
    categories=("api-extensions",),
)
MUTATING_ADMISSION_POLICY_BINDINGS: Final = BuiltinResource(
    kind=_WEBHOOKS._replace(kind="MutatingAdmissionPolicyBinding"),
    plural="mutatingadmissionpolicybindings",
    singular="mutatingadmissionpolicybinding",
    namespaced=False,
    categories=("api-extensions",),
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
