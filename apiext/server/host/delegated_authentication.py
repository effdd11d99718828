"""Delegated authentication: TokenReviews, and the certificate authorities of the extension-apiserver-authentication ConfigMap.

Mirrors apiserver pkg/server/options (authentication.go, DelegatingAuthenticationOptions).
"""

from __future__ import annotations

import asyncio
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Final

from apiext.api.authentication.client_certificate import CertificateAuthorities
from apiext.api.authentication.cluster_config import NAME, NAMESPACE, ClusterConfig
from apiext.api.authentication.request_header import FrontProxyUsers, RawHeaders
from apiext.api.authentication.token_review import TokenReviews
from apiext.base.meta.log import get_logger
from apiext.base.scheduling.tasks import run_until_closed
from apiext.base.webhook.client import WebhookError
from apiext.base.webhook.reflector import Latest, Reflector, single_object
from apiext.server.start_error import StartError
from apiext.server.tls.context import TLSError
from apiext.storage.backend import BackendError

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from contextlib import AsyncExitStack

    from apiext.base.meta.request import UserInfo
    from apiext.base.webhook.client import WebhookClient
    from apiext.server.options.options import AuthenticationOptions
    from apiext.server.tls.dynamic_tls import DynamicTLS
    from apiext.storage.replicas.host_records import HostRecords

_LOG: Final = get_logger(__name__)
_COLLECTION: Final = f"/api/v1/namespaces/{NAMESPACE}/configmaps"
_CONFIG_MAP: Final = f"{NAMESPACE}/{NAME}"
_NOT_FOUND: Final = 404


@dataclass(frozen=True, slots=True)
class Delegation:
    """The parts of delegated authentication for the filters and the start."""

    tokens: TokenReviews
    lookup: ConfigMapLookup
    front_proxy: Callable[[Mapping[str, str], RawHeaders], UserInfo | None] | None
    """Reads the user from the front-proxy headers of the ConfigMap; None if options set the headers."""


async def open_delegation(
    client: WebhookClient, options: AuthenticationOptions, dynamic_tls: DynamicTLS, stack: AsyncExitStack, *, recalls: bool
) -> Delegation:
    """Read the ConfigMap and watch it until `stack` closes; each valid state becomes the client trust of `dynamic_tls`.

    With `recalls`, a server that does not answer is no error: the caller must call ConfigMapLookup.recall.

    Raises:
        StartError: the ConfigMap cannot be read.
    """
    lookup = ConfigMapLookup(options, dynamic_tls)
    if options.looks_up:
        await lookup.read(client, recalls=recalls)
        run_until_closed(stack, Reflector(client, single_object(_COLLECTION, NAME), Latest(lookup.update)).run())
    tokens = TokenReviews(client.post, ttl=options.token_ttl, audiences=options.audiences)
    from_cluster = options.looks_up and options.front_proxy_ca_file is None
    return Delegation(tokens, lookup, lookup.front_proxy_user if from_cluster else None)


class ConfigMapLookup:
    """Applies the ConfigMap to the client trust of TLS unless options set it, and records the last valid state in the store."""

    def __init__(self, options: AuthenticationOptions, dynamic_tls: DynamicTLS) -> None:
        self._options = options
        self._dynamic_tls = dynamic_tls
        self._config = ClusterConfig()
        self._users = FrontProxyUsers(self._config.headers)
        self._failure = ""
        """Why the first read failed."""
        self._records: HostRecords | None = None
        self._valid: dict[str, Any] = {}
        """The last valid ConfigMap, empty before the first."""
        self._recorded: dict[str, Any] = {}
        self._recording: asyncio.Task[None] | None = None

    async def read(self, client: WebhookClient, *, recalls: bool = False) -> None:
        """Read the ConfigMap for the first time; a missing one changes nothing.

        Raises:
            StartError: it cannot be read; not with `recalls`, with --authentication-tolerate-lookup-failure, or if an option sets
                the front proxy's authority.
        """
        try:
            self.update(await client.get(f"{_COLLECTION}/{NAME}"))
        except WebhookError as error:
            if error.code == _NOT_FOUND:
                return
            self._failure = f"configmap {_CONFIG_MAP} cannot be read: {error}"
            if not recalls:
                self._fail()

    def _fail(self) -> None:
        if self._options.front_proxy_ca_file is None and not self._options.tolerate_lookup_failure:
            raise StartError(f"{self._failure} (see --authentication-tolerate-lookup-failure and --authentication-skip-lookup)")
        _LOG.warning("extension-apiserver-authentication ConfigMap not read", error=self._failure)

    def front_proxy_user(self, headers: Mapping[str, str], raw: RawHeaders) -> UserInfo | None:
        """Return the authenticated user in the front-proxy headers that the ConfigMap names, None without a user name."""
        return self._users.user(headers, raw)

    async def recall(self, records: HostRecords) -> None:
        """Use the recorded ConfigMap if the first read failed, and record each valid state from now on.

        Raises:
            StartError: the first read failed and no state is recorded; with the exceptions of `read`.
            BackendError: the store failed.
        """
        if self._failure and self._config == ClusterConfig():
            recorded = await records.authentication()
            if recorded is None:
                self._fail()
            else:
                _LOG.warning("extension-apiserver-authentication ConfigMap not read, using the recorded one", error=self._failure)
                self.update(recorded)
        self._records = records
        self._record()

    def update(self, config_map: dict[str, Any]) -> None:
        """Apply a state of the ConfigMap. Log an invalid entry, and keep its last valid value."""
        config, problems = self._config.updated(config_map)
        for problem in problems:
            _LOG.error("invalid extension-apiserver-authentication ConfigMap", configmap=_CONFIG_MAP, error=problem)
        if self._apply(config, config_map) and not problems:
            self._valid = {"data": config_map["data"]}
            self._record()

    def _record(self) -> None:
        """Record the last valid state in the background; after a failure the next update tries again."""
        if self._records is not None and (self._recording is None or self._recording.done()):
            self._recording = asyncio.create_task(self._write(self._records))

    async def _write(self, records: HostRecords) -> None:
        while (valid := self._valid) != self._recorded:
            try:
                await records.remember_authentication(valid)
            except BackendError as error:
                _LOG.warning("extension-apiserver-authentication ConfigMap not recorded", error=str(error))
                return
            self._recorded = valid

    def _apply(self, config: ClusterConfig, config_map: dict[str, Any]) -> bool:
        if config == self._config:
            return True
        identification = self._dynamic_tls.identification
        if self._options.client_ca_file is None:
            identification = replace(identification, clients=CertificateAuthorities(config.client_ca.encode()))
        if self._options.front_proxy_ca_file is None:
            proxies = CertificateAuthorities(config.proxy_ca.encode())
            identification = replace(identification, proxies=proxies, proxy_names=config.proxy_names)
        try:
            self._dynamic_tls.set_client_trust(identification)
        except TLSError as error:
            _LOG.error("invalid extension-apiserver-authentication ConfigMap", configmap=_CONFIG_MAP, error=str(error))
            return False
        self._config = config
        self._users = FrontProxyUsers(config.headers)
        revision = (config_map.get("metadata") or {}).get("resourceVersion", "")
        _LOG.info("extension-apiserver-authentication ConfigMap applied", configmap=_CONFIG_MAP, revision=revision)
        return True
