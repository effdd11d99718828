"""Composition of the kinds from generated data, which --builtin-kinds adds, and of the Service that a server without it shows."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING, Final
from urllib.parse import urlsplit

from apiext.api.serving.builtin.endpoints import BuiltinEndpoint, DeferredScopes
from apiext.api.serving.builtin.kubernetes_service import constant_service, kubernetes_service
from apiext.base.meta.builtin_resources import BUILTINS, CORE_V1, INTERNAL_V1ALPHA1, SERVICES
from apiext.base.meta.encoding import json_codec
from apiext.server.composition.flow_control import bootstrap_endpoints

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from contextlib import AsyncExitStack

    from apiext.api.admission.attributes import Admission
    from apiext.api.endpoints.scopes.open_watches import Watches
    from apiext.api.endpoints.scopes.scope import Scope
    from apiext.api.serving.generated.control_plane import AuthenticationTrust
    from apiext.base.meta.builtin_resources import BuiltinGroupVersion
    from apiext.server.composition.access import AccessControl
    from apiext.server.options.options import ServerOptions
    from apiext.server.routes.process_role import ProcessRole
    from apiext.storage.factory import StoreFactory


@dataclass(frozen=True, slots=True)
class BuiltinKinds:
    """Further built-in resources and their endpoints."""

    groups: tuple[BuiltinGroupVersion, ...] = ()
    endpoints: tuple[BuiltinEndpoint, ...] = ()

    def beside(self, builtins: tuple[BuiltinGroupVersion, ...]) -> tuple[BuiltinGroupVersion, ...]:
        """Return the built-in group versions with the further resources."""
        if not self.groups:
            return builtins
        from apiext.base.meta.generated.resources import joined

        return joined(builtins, self.groups)


NO_KINDS: Final = BuiltinKinds()


def open_builtin_kinds(stores: StoreFactory, admission: Admission, watches: Watches) -> BuiltinKinds:
    """Return the kinds of the data that apiext does not always serve. Each is made on its first request."""
    from apiext.api.serving.generated.endpoints import further_endpoints
    from apiext.base.meta.generated.resources import further_resources

    groups = further_resources((*BUILTINS, INTERNAL_V1ALPHA1))
    return BuiltinKinds(groups, tuple(further_endpoints(groups, stores, admission, watches)))


def fixed_endpoints(
    groups: Sequence[BuiltinGroupVersion], options: ServerOptions, url: str, stores: StoreFactory, admission: Admission, watches: Watches
) -> list[BuiltinEndpoint]:
    """Return the endpoints of a standalone server whose objects are not stored."""
    found = bootstrap_endpoints(groups, stores, admission, watches)
    if options.host is None and not options.builtin_kinds:
        found.append(_constant_services(url, stores, admission, watches))
    return found


async def start_control_plane(
    endpoints: Sequence[BuiltinEndpoint],
    groups: Sequence[BuiltinGroupVersion],
    options: ServerOptions,
    role: ProcessRole,
    stores: StoreFactory,
    access: AccessControl,
    stack: AsyncExitStack,
) -> None:
    """Make the objects that kube-apiserver makes for itself, and keep them until `stack` closes.

    Raises:
        StatusError, BackendError: the store cannot be read or written.
    """
    from apiext.api.serving.generated.control_plane import ControlPlaneObjects, api_services
    from apiext.storage.replicas.identity_lease import IdentityLease, server_id

    lease = IdentityLease(stores.backend, options.storage.prefix, server_id(role.name)) if INTERNAL_V1ALPHA1 not in groups else None
    scopes = {endpoint.resource.plural: endpoint.scopes for endpoint in endpoints}
    service = kubernetes_service(_port(role.url))
    kept = ControlPlaneObjects(scopes, service, api_services(groups), partial(_trust, options, access), lease)
    stack.push_async_callback(kept.close)
    await kept.start()


def _trust(options: ServerOptions, access: AccessControl) -> AuthenticationTrust:
    from apiext.api.serving.generated.control_plane import AuthenticationTrust

    known, authentication = access.dynamic_tls.identification, options.authentication
    return AuthenticationTrust(
        client_ca=known.clients.pem.decode(),
        proxy_ca=known.proxies.pem.decode() if known.proxies is not None else "",
        proxy_names=authentication.front_proxy_names,
        headers=authentication.front_proxy_headers,
    )


_WITH_SERVICES: Final = replace(CORE_V1, resources=tuple(sorted((*CORE_V1.resources, SERVICES), key=lambda one: one.plural)))
_SERVICE_REVISION: Final = 1
"""The resourceVersion of the constant Service; it grows when a release changes it."""


def _port(url: str) -> int:
    return urlsplit(url).port or 0


def _constant_services(url: str, stores: StoreFactory, admission: Admission, watches: Watches) -> BuiltinEndpoint:
    """Return the read-only endpoint of Services, with that of the server: `kubectl cluster-info` asks for them."""
    encoded = {"default/kubernetes": json_codec.dumps(constant_service(_port(url)))}
    stores.hold(SERVICES.stored_resource, encoded, revision=_SERVICE_REVISION)

    def scopes() -> Mapping[str, Scope]:
        # imported when a client asks
        from apiext.api.serving.generated.endpoints import further_endpoints

        (endpoint,) = further_endpoints([replace(CORE_V1, resources=(SERVICES,))], stores, admission, watches)
        return endpoint.scopes

    return BuiltinEndpoint(SERVICES, DeferredScopes(scopes))


def with_constant_services(groups: Sequence[BuiltinGroupVersion]) -> tuple[BuiltinGroupVersion, ...]:
    """Return built-in group versions for discovery, with the read-only Services in those of a standalone server."""
    return tuple(_WITH_SERVICES if group is CORE_V1 else group for group in groups)
