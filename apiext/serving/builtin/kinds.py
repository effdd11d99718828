"""All built-in kinds except definitions, whose endpoint needs more than a store."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from apiext.serving.builtin import coordination, core, events, flowcontrol, rbac, storage_versions

if TYPE_CHECKING:
    from collections.abc import Iterable

    from apiext.admission.attributes import Admission
    from apiext.endpoints.scopes.open_watches import Watches
    from apiext.meta.builtin_resources import BuiltinGroupVersion, BuiltinResource
    from apiext.serving.builtin.endpoints import BuiltinEndpoint
    from apiext.serving.builtin.served_kind import ServedKind
    from apiext.storage.factory import StoreFactory

_KINDS: Final = {
    served.kind.resource.resource: served
    for served in (
        core.NAMESPACES,
        events.EVENTS,
        events.EVENTS_V1,
        core.SERVICE_ACCOUNTS,
        core.CONFIG_MAPS,
        core.SECRETS,
        coordination.LEASES,
        rbac.ROLES,
        rbac.CLUSTER_ROLES,
        rbac.ROLE_BINDINGS,
        rbac.CLUSTER_ROLE_BINDINGS,
        storage_versions.STORAGE_VERSIONS,
        storage_versions.STORAGE_VERSION_MIGRATIONS,
        flowcontrol.FLOW_SCHEMAS,
        flowcontrol.PRIORITY_LEVEL_CONFIGURATIONS,
    )
}


def served_kind(resource: BuiltinResource) -> ServedKind | None:
    """Return the row of a kind, None for definitions."""
    return _KINDS.get(resource.resource)


def endpoints_of(
    groups: Iterable[BuiltinGroupVersion], stores: StoreFactory, admission: Admission, watches: Watches
) -> list[BuiltinEndpoint]:
    """Return the endpoints of group versions, without that of definitions."""
    return [
        served.endpoint(stores.store(resource.stored_resource, shown=resource.resource.group_resource), admission, watches)
        for group in groups
        for resource in group.resources
        if (served := served_kind(resource)) is not None
    ]
