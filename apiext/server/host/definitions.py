"""The definitions of the cluster around the server, and what is told of them."""

from __future__ import annotations

import asyncio
from contextlib import suppress
from typing import TYPE_CHECKING, Any, Final

from apiext.definitions.sources.host_cluster import KubeSource, StrangerError
from apiext.meta.selectors import parse_label_selector
from apiext.server.host.definition_mirror import MirrorWriter
from apiext.server.host.review_clients import open_client
from apiext.server.routes.healthz import UnhealthyError
from apiext.server.start_error import StartError
from apiext.storage.backend import BackendError
from apiext.storage.host_records import HostRecords
from apiext.webhook.client import WebhookError

if TYPE_CHECKING:
    from contextlib import AsyncExitStack

    from apiext.definitions.catalog import Catalog
    from apiext.server.api import API
    from apiext.server.options import Options
    from apiext.storage.backend import Backend
    from apiext.webhook.client import WebhookClient

_NAMESPACE: Final = "/api/v1/namespaces/kube-system"


class Identity:
    """Which cluster the host is: that of the namespace kube-system, which no other has."""

    def __init__(self, client: WebhookClient, records: HostRecords) -> None:
        self._client = client
        self._records = records
        self._known = ""

    async def confirm(self) -> None:
        """Make sure that the host is the cluster that the store belongs to.

        Raises:
            StrangerError: it is another one.
            WebhookError: that cannot be told now.
        """
        namespace: dict[str, Any] = await self._client.get(_NAMESPACE)
        uid = str((namespace.get("metadata") or {}).get("uid") or "")
        if not uid:
            raise WebhookError(f"{_NAMESPACE} of the host has no uid")
        try:
            self._known = self._known or await self._records.claim(uid)
        except BackendError as error:
            raise WebhookError(f"the store does not tell which cluster it belongs to: {error}") from error
        if uid != self._known:
            raise StrangerError(
                f"the host is another cluster than the one that the store belongs to: its namespace kube-system has uid {uid},"
                f" and not {self._known}; its definitions are not followed"
            )


class HostDefinitions:
    """The host's definitions while the server runs."""

    def __init__(self, source: KubeSource, catalog: Catalog) -> None:
        self._source = source
        self._catalog = catalog

    @property
    def names(self) -> list[str]:
        """Names of the definitions that are selected."""
        return self._source.names

    @property
    def problems(self) -> list[str]:
        """What keeps definitions from being followed."""
        return self._source.problems

    async def begun(self, *, timeout: float) -> None:  # noqa: ASYNC109 -- a wait that just ends
        """Wait until the definitions have been looked at once, but no longer than the host can be reached, and than so many seconds."""
        with suppress(TimeoutError):
            async with asyncio.timeout(timeout):
                await self._source.begun()

    @property
    def is_dispensable(self) -> bool:
        """Whether the host is away, and the server goes on with what it knows of it."""
        return bool(self._source.unreached) and not self._source.is_stranger and bool(self._catalog.all())

    def check(self) -> None:
        """Return where the server may be asked: it knows definitions, of the host as it is or as it was.

        Raises:
            UnhealthyError: it knows none yet, or the host is another cluster.
        """
        source = self._source
        if source.is_stranger:
            raise UnhealthyError(source.trouble)
        if not source.is_complete and not self._catalog.all():
            raise UnhealthyError(source.trouble or "the host's definitions have not been read yet")

    def remarks(self) -> list[str]:
        """What is to be told of a healthy server: in one line for everybody, and in more for those who are known."""
        source, problems = self._source, self._source.problems
        short, long = [], []
        if source.unreached:
            short.append(f"not reached since {source.unreached}")
            long.append(source.trouble)
        if problems:
            short.append(f"{len(problems)} of its definitions not followed")
            long += problems
        return ["; ".join(short), *long] if short else []


async def open_host(options: Options, api: API, backend: Backend, stack: AsyncExitStack) -> HostDefinitions:
    """Follow the definitions that the options select; `stack` ends it.

    Raises:
        StartError: the host's address or credentials cannot be used.
    """
    if options.host is None:
        raise StartError("--crd-selector: there is no host")
    client = open_client(options.host, stack)
    source = KubeSource(
        client,
        parse_label_selector(options.crd_selector or ""),
        catalog=api.catalog,
        mirrors=MirrorWriter(api.definitions.scopes[""].rest),
        confirm=Identity(client, HostRecords(backend, options.storage.prefix)).confirm,
    )
    source.start()
    stack.push_async_callback(source.close)
    return HostDefinitions(source, api.catalog)
