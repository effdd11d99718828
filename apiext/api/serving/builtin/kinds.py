"""All built-in kinds except definitions, whose endpoint needs more than a store."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from apiext.api.serving.builtin import coordination, core, events, flowcontrol, rbac, storage_versions
from apiext.api.serving.builtin.endpoints import BuiltinEndpoint
from apiext.api.serving.builtin.lazy_scopes import DeferredScopes
from apiext.base.meta.builtin_resources import ADMISSIONREGISTRATION_V1

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from apiext.api.admission.attributes import Admission
    from apiext.api.endpoints.scopes.open_watches import Watches
    from apiext.api.endpoints.scopes.scope import Scope
    from apiext.api.serving.builtin.served_kind import ServedKind
    from apiext.base.meta.builtin_resources import BuiltinGroupVersion, BuiltinResource
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

_DEFERRED: Final = frozenset(ADMISSIONREGISTRATION_V1.resources)
"""Resources that few servers use. Their kinds are imported and their scopes made at the first use."""


def served_kind(resource: BuiltinResource) -> ServedKind | None:
    """Return the row of a kind, None for definitions."""
    if resource in _DEFERRED:
        from apiext.api.serving.builtin.admissionregistration import KINDS

        return KINDS[resource.plural]
    return _KINDS.get(resource.resource)


def endpoints_of(
    groups: Iterable[BuiltinGroupVersion], stores: StoreFactory, admission: Admission, watches: Watches
) -> list[BuiltinEndpoint]:
    """Return the endpoints of group versions, without that of definitions. Some have scopes that are made at their first use."""
    return [
        _endpoint(resource, stores, admission, watches)
        for group in groups
        for resource in group.resources
        if resource in _DEFERRED or served_kind(resource) is not None
    ]


def _endpoint(resource: BuiltinResource, stores: StoreFactory, admission: Admission, watches: Watches) -> BuiltinEndpoint:
    def scopes() -> Mapping[str, Scope]:
        served = served_kind(resource)
        store = stores.store(resource.stored_resource, shown=resource.resource.group_resource)
        return {} if served is None else served.endpoint(store, admission, watches).scopes

    return BuiltinEndpoint(resource, DeferredScopes(scopes) if resource in _DEFERRED else scopes())
