"""The definitions of the host cluster, and their health."""

from __future__ import annotations

import asyncio
from contextlib import suppress
from typing import TYPE_CHECKING, Any, Final

from apiext.base.meta.selector_parser import parse_label_selector
from apiext.base.webhook.client import WebhookError
from apiext.server.host.definition_mirror import MirrorWriter
from apiext.server.host.definition_source import HostClusterSource, OtherClusterError
from apiext.server.routes.healthz import UnhealthyError
from apiext.storage.backend import BackendError
from apiext.storage.replicas.host_records import HostRecords

if TYPE_CHECKING:
    from contextlib import AsyncExitStack

    from apiext.base.webhook.client import WebhookClient
    from apiext.resources.definitions.catalog import Catalog
    from apiext.server.api import API

_NAMESPACE: Final = "/api/v1/namespaces/kube-system"


class Identity:
    """The identity of the host cluster: the UID of its namespace kube-system."""

    def __init__(self, client: WebhookClient, records: HostRecords) -> None:
        self._client = client
        self._records = records
        self._known = ""

    async def confirm(self) -> None:
        """Check that the host is the cluster to which the store belongs. The first host claims the store.

        Raises:
            OtherClusterError: it is another cluster.
            WebhookError: the host or the store does not answer.
        """
        namespace: dict[str, Any] = await self._client.get(_NAMESPACE)
        uid = str((namespace.get("metadata") or {}).get("uid") or "")
        if not uid:
            raise WebhookError(f"{_NAMESPACE} of the host has no uid")
        try:
            self._known = self._known or await self._records.claim(uid)
        except BackendError as error:
            raise WebhookError(f"the cluster of the store is unknown: {error}") from error
        if uid != self._known:
            raise OtherClusterError(
                f"the host is not the cluster that the store belongs to: its namespace kube-system has uid {uid},"
                f" and not {self._known}; its definitions are not mirrored"
            )


class HostDefinitions:
    """The mirrored definitions of the host."""

    def __init__(self, source: HostClusterSource, catalog: Catalog) -> None:
        self.source = source
        self._catalog = catalog

    async def wait_until_read(self, *, timeout: float) -> None:  # noqa: ASYNC109 -- the wait just ends
        """Wait until every definition was processed once or the host is unreachable, but at most `timeout` seconds."""
        with suppress(TimeoutError):
            async with asyncio.timeout(timeout):
                await self.source.wait_until_processed()

    @property
    def is_dispensable(self) -> bool:
        """Whether the server is ready without the host: the host is unreachable, and the catalog has definitions."""
        return bool(self.source.unreachable_since) and not self.source.is_other_cluster and bool(self._catalog.all())

    def check(self) -> None:
        """Check that the server has the host's definitions, current or stored ones.

        Raises:
            UnhealthyError: it has none yet, or the host is another cluster.
        """
        source = self.source
        if source.is_other_cluster:
            raise UnhealthyError(source.last_error)
        if not source.is_complete and not self._catalog.all():
            raise UnhealthyError(source.last_error or "the host's definitions have not been read yet")

    def remarks(self) -> list[str]:
        """Return the problems of a healthy server: the first line is for all users, further lines only for authenticated ones."""
        source, problems = self.source, self.source.problems
        short, long = [], []
        if source.unreachable_since:
            short.append(f"not reached since {source.unreachable_since}")
            long.append(source.last_error)
        if problems:
            short.append(f"{len(problems)} of its definitions not mirrored")
            long += problems
        return ["; ".join(short), *long] if short else []


def open_host(client: WebhookClient, selector: str, api: API, records: HostRecords, stack: AsyncExitStack) -> HostDefinitions:
    """Mirror the selected definitions until `stack` closes."""
    source = HostClusterSource(
        client,
        parse_label_selector(selector),
        catalog=api.catalog,
        mirrors=MirrorWriter(api.definitions.scopes[""], api.workers),
        confirm=Identity(client, records).confirm,
    )
    source.start()
    stack.push_async_callback(source.close)
    return HostDefinitions(source, api.catalog)
