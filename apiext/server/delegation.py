"""Who clients are, as another server knows it: whose tokens are, and whose certificates are believed.

Mirrors apiserver pkg/server/options (authentication.go, DelegatingAuthenticationOptions).
"""

from __future__ import annotations

import asyncio
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Final

from apiext.authentication.clusterconfig import NAME, NAMESPACE, ClusterConfig
from apiext.authentication.peer import Authorities
from apiext.authentication.request_header import LiveRequestHeaders
from apiext.authentication.token_review import TokenReviews
from apiext.meta.log import get_logger
from apiext.server.errors import StartError
from apiext.server.reviews import open_client
from apiext.server.tls.context import TLSError
from apiext.webhook.client import WebhookError
from apiext.webhook.reflector import Latest, Reflector, only

if TYPE_CHECKING:
    from contextlib import AsyncExitStack

    from apiext.server.entrance import Entrance
    from apiext.server.options import AuthenticationOptions
    from apiext.webhook.client import WebhookClient

_LOG: Final = get_logger(__name__)
_COLLECTION: Final = f"/api/v1/namespaces/{NAMESPACE}/configmaps"
_NOT_FOUND: Final = 404


@dataclass(frozen=True, slots=True)
class Delegation:
    """What filters need to know who clients are."""

    tokens: TokenReviews
    front_proxy: LiveRequestHeaders | None
    """Headers of front proxies as the cluster names them, None where the options do."""


async def open_delegation(options: AuthenticationOptions, entrance: Entrance, stack: AsyncExitStack) -> Delegation:
    """Ask the server that the options name; `stack` ends it.

    What the cluster says of authorities is believed by the entrance, now and after each change.

    Raises:
        StartError: the other server's address or credentials cannot be used, or the cluster does not say.
    """
    if options.delegate is None:
        raise StartError("there is no server to ask who clients are")
    client = open_client(options.delegate, stack)
    lookup = Lookup(options, entrance)
    if options.looks_up:
        await lookup.begin(client)
        task = asyncio.create_task(Reflector(client, only(_COLLECTION, NAME), Latest(lookup.changed)).run())
        stack.callback(task.cancel)
    tokens = TokenReviews(client.post, ttl=options.token_ttl, audiences=options.audiences)
    from_cluster = options.looks_up and options.front_proxy_ca_file is None
    return Delegation(tokens, lookup.headers if from_cluster else None)


class Lookup:
    """Has the entrance believe what the cluster says, in all that the options leave to it."""

    def __init__(self, options: AuthenticationOptions, entrance: Entrance) -> None:
        self._options = options
        self._entrance = entrance
        self._config = ClusterConfig()
        self.headers = LiveRequestHeaders(self._config.headers)

    async def begin(self, client: WebhookClient) -> None:
        """Read it for the first time; that there is nothing yet is no failure.

        Raises:
            StartError: it cannot be read, which is only tolerated where the options say so, or name the front proxies themselves.
        """
        try:
            self.changed(await client.get(f"{_COLLECTION}/{NAME}"))
        except WebhookError as error:
            if error.code == _NOT_FOUND:
                return
            what = f"configmap {NAMESPACE}/{NAME} cannot be read: {error}"
            if self._options.front_proxy_ca_file is None and not self._options.tolerate_lookup_failure:
                raise StartError(f"{what} (see --authentication-tolerate-lookup-failure and --authentication-skip-lookup)") from error
            _LOG.warning("the cluster does not say how clients are known", error=what)

    def changed(self, config_map: dict[str, Any]) -> None:
        """Take over a state of the ConfigMap."""
        config, problems = self._config.updated(config_map)
        for problem in problems:
            _LOG.error("the cluster's word on clients cannot be used", configmap=f"{NAMESPACE}/{NAME}", error=problem)
        if config == self._config:
            return
        identification = self._entrance.identification
        if self._options.client_ca_file is None:
            identification = replace(identification, clients=Authorities(config.client_ca.encode()))
        if self._options.front_proxy_ca_file is None:
            identification = replace(identification, proxies=Authorities(config.proxy_ca.encode()), proxy_names=config.proxy_names)
        try:
            self._entrance.believe(identification)
        except TLSError as error:
            _LOG.error("the cluster's word on clients cannot be used", configmap=f"{NAMESPACE}/{NAME}", error=str(error))
            return
        self._config, self.headers.current = config, config.headers
        _LOG.info("the cluster's word on clients holds", revision=(config_map.get("metadata") or {}).get("resourceVersion", ""))
