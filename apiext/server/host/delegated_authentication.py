"""Who clients are, as another server knows it: whose tokens are, and whose certificates are believed.

Mirrors apiserver pkg/server/options (authentication.go, DelegatingAuthenticationOptions).
"""

from __future__ import annotations

import asyncio
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Final

from apiext.authentication.client_certificate import Authorities
from apiext.authentication.cluster_config import NAME, NAMESPACE, ClusterConfig
from apiext.authentication.request_header import LiveRequestHeaders
from apiext.authentication.token_review import TokenReviews
from apiext.meta.log import get_logger
from apiext.server.host.review_clients import open_client
from apiext.server.start_error import StartError
from apiext.server.tls.context import TLSError
from apiext.storage.backend import BackendError
from apiext.webhook.client import WebhookError
from apiext.webhook.reflector import Latest, Reflector, only

if TYPE_CHECKING:
    from contextlib import AsyncExitStack

    from apiext.server.options import AuthenticationOptions
    from apiext.server.tls.dynamic_tls import Entrance
    from apiext.storage.host_records import HostRecords
    from apiext.webhook.client import WebhookClient

_LOG: Final = get_logger(__name__)
_COLLECTION: Final = f"/api/v1/namespaces/{NAMESPACE}/configmaps"
_NOT_FOUND: Final = 404


@dataclass(frozen=True, slots=True)
class Delegation:
    """What filters need to know who clients are."""

    tokens: TokenReviews
    lookup: Lookup
    front_proxy: LiveRequestHeaders | None
    """Headers of front proxies as the cluster names them, None where the options do."""


async def open_delegation(options: AuthenticationOptions, entrance: Entrance, stack: AsyncExitStack, *, recalls: bool) -> Delegation:
    """Ask the server that the options name; `stack` ends it.

    What the cluster says of authorities is believed by the entrance, now and after each change. With `recalls` the caller
    has the lookup recall what a store remembers of it, so that the cluster need not be there.

    Raises:
        StartError: the other server's address or credentials cannot be used, or the cluster does not say.
    """
    if options.delegate is None:
        raise StartError("there is no server to ask who clients are")
    client = open_client(options.delegate, stack)
    lookup = Lookup(options, entrance)
    if options.looks_up:
        await lookup.begin(client, recalls=recalls)
        task = asyncio.create_task(Reflector(client, only(_COLLECTION, NAME), Latest(lookup.changed)).run())
        stack.callback(task.cancel)
    tokens = TokenReviews(client.post, ttl=options.token_ttl, audiences=options.audiences)
    from_cluster = options.looks_up and options.front_proxy_ca_file is None
    return Delegation(tokens, lookup, lookup.headers if from_cluster else None)


class Lookup:
    """Has the entrance believe what the cluster says, in all that the options leave to it."""

    def __init__(self, options: AuthenticationOptions, entrance: Entrance) -> None:
        self._options = options
        self._entrance = entrance
        self._config = ClusterConfig()
        self._failure = ""
        """Why the cluster has not said anything at the start."""
        self._records: HostRecords | None = None
        self._said: dict[str, Any] = {}
        """What it has said that could be used."""
        self._remembered: dict[str, Any] = {}
        self._remembering: asyncio.Task[None] | None = None
        self.headers = LiveRequestHeaders(self._config.headers)

    async def begin(self, client: WebhookClient, *, recalls: bool = False) -> None:
        """Read it for the first time; that there is nothing yet is no failure.

        Raises:
            StartError: it cannot be read, nor will it be recalled, which is only tolerated where the options say so, or name
                the front proxies themselves.
        """
        try:
            self.changed(await client.get(f"{_COLLECTION}/{NAME}"))
        except WebhookError as error:
            if error.code == _NOT_FOUND:
                return
            self._failure = f"configmap {NAMESPACE}/{NAME} cannot be read: {error}"
            if not recalls:
                self._fail()

    def _fail(self) -> None:
        if self._options.front_proxy_ca_file is None and not self._options.tolerate_lookup_failure:
            raise StartError(f"{self._failure} (see --authentication-tolerate-lookup-failure and --authentication-skip-lookup)")
        _LOG.warning("the cluster does not say how clients are known", error=self._failure)

    async def recall(self, records: HostRecords) -> None:
        """Take what a store remembers, if the cluster has not said anything, and have it remember what it says from now on.

        Raises:
            StartError: there is nothing, as in `begin`.
            BackendError: the store does not answer.
        """
        if self._failure and self._config == ClusterConfig():
            remembered = await records.authentication()
            if remembered is None:
                self._fail()
            else:
                _LOG.warning("the cluster does not say how clients are known; what it said last holds", error=self._failure)
                self.changed(remembered)
        self._records = records
        self._remember()

    def changed(self, config_map: dict[str, Any]) -> None:
        """Take over a state of the ConfigMap."""
        config, problems = self._config.updated(config_map)
        for problem in problems:
            _LOG.error("the cluster's word on clients cannot be used", configmap=f"{NAMESPACE}/{NAME}", error=problem)
        if self._believe(config, config_map) and not problems:
            self._said = {"data": config_map["data"]}
            self._remember()

    def _remember(self) -> None:
        """Have the store remember what is new; what fails is tried again with what the cluster says next."""
        if self._records is not None and (self._remembering is None or self._remembering.done()):
            self._remembering = asyncio.create_task(self._write(self._records))

    async def _write(self, records: HostRecords) -> None:
        while (said := self._said) != self._remembered:
            try:
                await records.remember_authentication(said)
            except BackendError as error:
                _LOG.warning("the cluster's word on clients cannot be remembered", error=str(error))
                return
            self._remembered = said

    def _believe(self, config: ClusterConfig, config_map: dict[str, Any]) -> bool:
        if config == self._config:
            return True
        identification = self._entrance.identification
        if self._options.client_ca_file is None:
            identification = replace(identification, clients=Authorities(config.client_ca.encode()))
        if self._options.front_proxy_ca_file is None:
            identification = replace(identification, proxies=Authorities(config.proxy_ca.encode()), proxy_names=config.proxy_names)
        try:
            self._entrance.believe(identification)
        except TLSError as error:
            _LOG.error("the cluster's word on clients cannot be used", configmap=f"{NAMESPACE}/{NAME}", error=str(error))
            return False
        self._config, self.headers.current = config, config.headers
        _LOG.info("the cluster's word on clients holds", revision=(config_map.get("metadata") or {}).get("resourceVersion", ""))
        return True
